#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "storage/base/random.h"
#include "storage/base/result.h"
#include "tests/support/line_model.h"
#include "tests/support/recorded_media.h"

namespace nvmdb::test {

struct CrashOptions {
  std::uint64_t seed = 1;
  std::uint64_t states_max = 10'000;
  std::uint64_t random_points =
      64;  ///< cuts at random events, besides those before fences and at acks and phases
  FenceModel fences = FenceModel::PerThread;
  bool stop_at_failure = false;  ///< the first one ends the exploration, and is not minimised
  std::string replay = {};  ///< a token: explore() checks that state only
};
/// The defaults with the environment on top: NVMDB_CRASH_SEED, NVMDB_CRASH_STATES, NVMDB_CRASH_REPLAY.
[[nodiscard]] CrashOptions crash_options(std::uint64_t states_max = 10'000);

/// The media as one power cut may have left it.
struct CrashState {
  RecordedMedia& media;  ///< open the pool on it; all stores into it are undone after the check
  std::span<const std::uint64_t> acks;  ///< acknowledged before the cut, in order
  std::string_view phase;               ///< last phase entered
  std::string_view token;               ///< "seed:point:choice", for replay()
};

struct CrashFailure {
  std::string token;
  std::string message;            ///< of the check
  std::string minimal_token;      ///< a state with as few lost lines as possible that still fails
  std::vector<std::string> lost;  ///< its lost lines: place, and the source lines that stored them
};

struct CrashReport {
  std::uint64_t seed = 0;
  std::uint64_t points = 0;
  std::uint64_t states = 0;      ///< different ones, each checked
  std::uint64_t duplicates = 0;  ///< generated again and not checked again
  std::uint64_t failures = 0;
  std::vector<CrashFailure> first_failures;  ///< at most 3
  [[nodiscard]] std::string to_string() const;
};

/// Returns what is wrong with the state; empty: nothing.
using CrashCheck = std::function<std::string(CrashState&)>;

/// Cuts the power at many points of a recording, materialises states that the media may then be in, and has
/// each checked. Deterministic: same recording, same seed, same states.
///
/// Points: before each fence, after each acknowledgement and phase, at the end, and at random events.
/// States of a point: all, when there are at most 256; else nothing and everything durable, single words
/// first, each line alone or missing (64 of them), everything up to an event, the newest lines only, random
/// subsets. The check may record its own recovery (media.start_recording()) and explore that with another
/// CrashStates.
class CrashStates {
 public:
  /// `recording` must outlive this object.
  CrashStates(const Recording& recording, const CrashOptions& options);

  [[nodiscard]] CrashReport explore(const CrashCheck& check);
  /// Checks the one state that `token` names.
  /// Errors: InvalidArgument (not a token of this recording).
  [[nodiscard]] Result<std::string> replay(std::string_view token, const CrashCheck& check);

 private:
  /// A choice for each pending line, in their order.
  using Choices = std::vector<std::uint64_t>;

  void rewind();
  void advance_to(std::uint64_t point);
  [[nodiscard]] std::vector<std::uint64_t> choose_points(SeededRandom& random) const;
  [[nodiscard]] std::vector<std::string> choose_states(std::uint64_t budget, SeededRandom& random) const;
  [[nodiscard]] std::optional<Choices> parse_choices(std::string_view text) const;
  /// Empty when the state was checked before (only if `skip_known`).
  [[nodiscard]] std::optional<std::string> check_state(const Choices& choices, std::string_view token,
                                                       const CrashCheck& check, bool skip_known);
  void explore_point(std::uint64_t budget, SeededRandom& random, const CrashCheck& check,
                     CrashReport& report);
  [[nodiscard]] CrashFailure minimise(std::string token, std::string message, Choices choices,
                                      const CrashCheck& check);
  [[nodiscard]] std::string token_of(std::string_view choice_text) const;

  const Recording& recording_;
  CrashOptions options_;
  LineModel model_;
  std::optional<RecordedMedia> image_;  ///< holds what is durable for sure at the current point
  std::uint64_t point_ = 0;             ///< events before it have happened
  std::vector<std::uint64_t> acks_;
  std::uint64_t marks_ = 0;  ///< acks and phases so far: the same bytes owe more after each
  std::string phase_;
  std::uint64_t base_hash_ = 0;
  std::unordered_set<std::uint64_t> known_;
};

}  // namespace nvmdb::test
