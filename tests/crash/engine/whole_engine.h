#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/base/random.h"
#include "tests/support/crash_states.h"
#include "tests/support/fields/field_fixture.h"
#include "tests/support/recorded_media.h"

namespace nvmdb::test {

/// One operation of the mixed workload on the whole engine. Its effect is there whole or not at all.
struct MixedOperation {
  enum class Kind : std::uint8_t { Rows, Step, Drop, Checkpoint, CleanRestart, Crash };
  Kind kind = Kind::Rows;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> rows;  ///< key, value; value 0 deletes
  std::string model;                                          ///< Step, Drop
  std::int64_t step = 0;
  float base = 0;
};

/// What a workload looks like.
struct MixedShape {
  const char* name;
  std::uint32_t tuple_percent;  ///< 0: all rows live in NVM
  std::size_t row_bytes;
  std::uint64_t operations;
};

/// What can be seen: rows of the test's table, and steps of fields by model.
struct MixedContent {
  std::map<std::uint64_t, std::uint64_t> rows;
  std::map<std::string, std::map<std::int64_t, float>> steps;
  bool operator==(const MixedContent&) const = default;
};

/// Small transactions, ingest, replaced steps, dropped runs, checkpoints with garbage collection, reuse of log segments,
/// clean restarts and crashes of the process, in one seeded order.
[[nodiscard]] std::vector<MixedOperation> mixed_operations(const MixedShape& shape, std::uint64_t seed);

/// Runs and acknowledges them one by one on fresh recorded media; the given flush and fence sites do nothing.
/// Empty `failure` when all operations succeeded.
struct MixedRecording {
  Recording recording;
  std::string failure;
  std::uint64_t pages_collected = 0;
  std::uint64_t segments_reused = 0;
};
[[nodiscard]] MixedRecording record_mixed(const MixedShape& shape, const std::vector<MixedOperation>& operations,
                                          const std::vector<std::string>& drop_sites);

/// How often a checked state's recovery is recorded with some work behind it, and cut in its turn.
struct MixedNesting {
  int depth = 1;            ///< 1: never
  std::uint64_t one_in = 64;
  std::uint64_t states = 12;
};

/// Opens the whole engine on a state and compares it with the operations acknowledged before the power failed.
[[nodiscard]] std::string check_mixed(CrashState& state, const MixedShape& shape,
                                      const std::vector<MixedOperation>& operations, const MixedNesting& nesting);

/// What a recording must show without any crash: before a segment of the log is continued, its end was erased and all of it
/// made durable. (A block of an earlier session that a lost erasure leaves could only be completed by chance: no sample of
/// states finds that.) Empty: nothing is wrong.
[[nodiscard]] std::string lint_log_restart(const Recording& recording);

extern const MixedShape kMixedInDram;
extern const MixedShape kMixedInNvm;

}  // namespace nvmdb::test
