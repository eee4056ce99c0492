#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/nvm/media.h"

namespace nvmdb::engine {

struct CheckOptions {
  std::uint64_t dram_bytes = 512ULL << 20U;
  /// Told how far it is: phase, done, total.
  std::function<void(const char* phase, std::uint64_t done, std::uint64_t total)> progress;
};

/// What a look at everything in a pool found.
struct CheckReport {
  std::uint64_t pages = 0;
  std::uint64_t log_segments = 0;
  std::uint64_t log_blocks = 0;
  std::uint64_t blocks_discarded = 0;  ///< what a crash cut off: no damage
  std::uint64_t checkpoint_pages = 0;
  std::uint64_t checkpoint_tuples = 0;
  std::uint64_t rows = 0;
  std::uint64_t runs = 0;
  std::uint64_t steps = 0;
  std::uint64_t grids = 0;
  std::uint64_t fields = 0;
  std::uint64_t field_bytes = 0;
  std::uint64_t unowned_pages = 0;  ///< of ingests that died: the next start frees them
  /// False: the catalogue could not be read, so nothing is known of what it leads to.
  bool catalogue_read = false;
  std::vector<std::string> damage;    ///< a line each: what, where, expected, found
  std::uint64_t damage_left_out = 0;  ///< more than are kept
  [[nodiscard]] bool is_whole() const { return damage.empty() && catalogue_read; }
};

/// Reads a pool whole: page directory, checkpoint tuples, log, then, as a start would recover it, the
/// catalogue, and all that it names: references, counts, places of fields and grids (inside the pool, no
/// overlap, in pages of the right run), every checksum. `media` is changed as by a start: give it a
/// PoolSnapshot.
[[nodiscard]] CheckReport check_pool(storage::PoolMedia& media, const CheckOptions& options);

}  // namespace nvmdb::engine
