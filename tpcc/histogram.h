#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace nvmdb::tpcc {

/// Counts durations in classes that are at most 1/32 apart. Threads: one.
class Histogram {
 public:
  void add(std::uint64_t ns) {
    ++counts_[class_of(ns)];
    ++total_;
    sum_ += ns;
    max_ = std::max(max_, ns);
  }
  void merge(const Histogram& other) {
    for (std::size_t i = 0; i < kClasses; ++i) counts_[i] += other.counts_[i];
    total_ += other.total_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
  }
  [[nodiscard]] std::uint64_t count() const { return total_; }
  [[nodiscard]] std::uint64_t max_ns() const { return max_; }
  [[nodiscard]] double mean_ns() const {
    return total_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(total_);
  }
  /// Upper end of the class that holds the `part` (0 to 1) quantile; 0 when empty.
  [[nodiscard]] std::uint64_t quantile_ns(double part) const {
    const auto rank = static_cast<std::uint64_t>(part * static_cast<double>(total_));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kClasses; ++i) {
      seen += counts_[i];
      if (seen > rank) return std::min(upper_end(i), max_);
    }
    return max_;
  }

 private:
  static constexpr unsigned kFractionBits = 5;
  static constexpr std::size_t kFractions = std::size_t{1} << kFractionBits;
  static constexpr std::size_t kClasses = (64 - kFractionBits) * kFractions;

  [[nodiscard]] static std::size_t class_of(std::uint64_t value) {
    if (value < kFractions) return static_cast<std::size_t>(value);
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - kFractionBits - 1;
    return (std::size_t{shift} << kFractionBits) + static_cast<std::size_t>(value >> shift);
  }
  [[nodiscard]] static std::uint64_t upper_end(std::size_t index) {
    if (index < 2 * kFractions) return index;
    const auto shift = static_cast<unsigned>(index >> kFractionBits) - 1;
    const std::uint64_t high = kFractions + (index & (kFractions - 1));
    return ((high + 1) << shift) - 1;
  }

  std::array<std::uint64_t, kClasses> counts_{};
  std::uint64_t total_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace nvmdb::tpcc
