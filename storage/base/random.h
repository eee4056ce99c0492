#pragma once

#include <cstdint>

namespace nvmdb {

/// Small seeded generator (SplitMix64): same seed, same numbers, on every machine. Not for secrets.
class SeededRandom {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  [[nodiscard]] std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  /// Uniform in [0, bound); bound > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64U);
  }
  /// Uniform in [0, 1).
  [[nodiscard]] double unit() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }
  [[nodiscard]] bool chance(double probability) { return unit() < probability; }

 private:
  __extension__ using Wide = unsigned __int128;
  std::uint64_t state_;
};

}  // namespace nvmdb
