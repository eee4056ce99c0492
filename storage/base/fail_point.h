#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace nvmdb {

/// A named place in the code at which a test can make the process die, fail, wait, or run out of memory.
/// Costs one load and one branch; nothing at all in builds without NVMDB_FAIL_POINTS. All places of one name
/// are one fail point. Known by name from the start of the process, also before it is reached. Threads: any.
class FailPoint {
 public:
  enum class Action : std::uint8_t { None, Kill, Error, Delay, BadAlloc };

  explicit FailPoint(const char* name);
  FailPoint(const FailPoint&) = delete;
  FailPoint& operator=(const FailPoint&) = delete;

  /// For places that cannot fail: Error does nothing here.
  void reach() {
    if (action_.load(std::memory_order_relaxed) != Action::None) [[unlikely]]
      static_cast<void>(act());
  }
  /// Errors: IoError (armed with Error).
  [[nodiscard]] Status reach_and_fail() {
    if (action_.load(std::memory_order_relaxed) == Action::None) [[likely]]
      return Status::ok();
    return act();
  }

  [[nodiscard]] std::string_view name() const { return name_; }

  /// Names of all fail points of this program, sorted.
  [[nodiscard]] static std::vector<std::string> names();
  /// Arms fail points: "name:nth:action", several with commas between. The nth time the point is reached
  /// after that, and only then, its action happens: kill (SIGKILL to this process), error, delay (for 100
  /// ms), bad_alloc (throws). Disarms all others. Errors: InvalidArgument (no such point or action; then
  /// nothing changes).
  [[nodiscard]] static Status arm(std::string_view text);

 private:
  [[nodiscard]] Status act();

  const char* const name_;
  FailPoint* const next_;  ///< of all fail points
  std::atomic<Action> action_{Action::None};
  std::atomic<std::uint64_t> countdown_{0};  ///< how often it must still be reached; written before `action_`
};

/// A string as an argument of a template.
template <std::size_t kBytes>
struct FailPointName {
  constexpr FailPointName(const char (&from)[kBytes]) {  // NOLINT: implicit by design
    for (std::size_t i = 0; i < kBytes; ++i) text[i] = from[i];
  }
  char text[kBytes];
};

/// The fail point of a name. A member of a template, so that it is made at the start of the program and not
/// when it is first reached.
template <FailPointName kName>
struct FailPointOf {
  static constexpr FailPointName kText = kName;
  static inline FailPoint point{kText.text};
};

}  // namespace nvmdb

#ifdef NVMDB_FAIL_POINTS
/// `NVMDB_FAIL_POINT("wal.copy");`
#define NVMDB_FAIL_POINT(name) ::nvmdb::FailPointOf<name>::point.reach()
/// The same where the enclosing function returns a Status or a Result: armed with `error`, it does so.
#define NVMDB_FAIL_POINT_TRY(name) NVMDB_TRY(::nvmdb::FailPointOf<name>::point.reach_and_fail())
#else
#define NVMDB_FAIL_POINT(name) static_cast<void>(0)
#define NVMDB_FAIL_POINT_TRY(name) static_cast<void>(0)
#endif
