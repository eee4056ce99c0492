#include "storage/device/tick_clock.h"

#include <sched.h>
#include <x86intrin.h>

#include "storage/base/clock.h"

namespace nvmdb::storage {
namespace {

constexpr std::uint64_t kSpinNs = 1000;
constexpr std::uint64_t kScaleNs = 20'000'000;

class TscClock final : public TickClock {
 public:
  TscClock() {
    const std::uint64_t from_ns = system_clock().monotonic_ns();
    base_ = __rdtsc();
    std::uint64_t to_ns = from_ns;
    while (to_ns - from_ns < kScaleNs) to_ns = system_clock().monotonic_ns();
    ns_per_tick_ = static_cast<double>(to_ns - from_ns) / static_cast<double>(__rdtsc() - base_);
  }
  [[nodiscard]] std::uint64_t now_ns() const override {
    return static_cast<std::uint64_t>(static_cast<double>(__rdtsc() - base_) * ns_per_tick_);
  }
  void wait_until(std::uint64_t deadline_ns) const override {
    for (std::uint64_t now = now_ns(); now < deadline_ns; now = now_ns()) {
      if (deadline_ns - now > kSpinNs) {
        sched_yield();
      } else {
        _mm_pause();
      }
    }
  }

 private:
  std::uint64_t base_ = 0;
  double ns_per_tick_ = 1;
};

}  // namespace

const TickClock& tsc_clock() {
  static const TscClock clock;
  return clock;
}

}  // namespace nvmdb::storage
