#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/database.h"
#include "storage/base/result.h"
#include "tpcc/histogram.h"
#include "tpcc/journal.h"
#include "tpcc/schema.h"

namespace nvmdb::tpcc {

enum class Kind : std::uint8_t { NewOrder, Payment, OrderStatus, Delivery, StockLevel };
inline constexpr std::size_t kKinds = 5;
[[nodiscard]] const char* kind_name(Kind kind);

struct RunOptions {
  std::uint32_t threads = 1;
  double warmup_seconds = 1;
  double seconds = 10;
  std::uint64_t seed = 1;
  /// Percent of each kind, Kind's order. Source: clause 5.2.3 has 43, 4, 4, 4 as least shares, New-Order the rest.
  std::array<std::uint32_t, kKinds> weights{45, 43, 4, 4, 4};
  bool deck = false;   ///< deal from shuffled decks of 10, 10, 1, 1, 1 cards instead (clause 5.2.4.2)
  bool think = false;  ///< ten terminals per warehouse with keying and think times (clause 5.2.5)
  /// Transactions that a worker may have committed and not yet acknowledged; then it makes them durable.
  std::uint32_t group = 16;
  std::uint64_t group_us = 100;  ///< at the latest after this time
  bool lead = true;              ///< false: workers leave group commits to the log, and wait only when `group` are open
  Journal* journal = nullptr;    ///< as many lanes as threads
};

struct KindResult {
  std::uint64_t committed = 0;
  std::uint64_t rolled_back = 0;  ///< New-Orders with an item that does not exist
  std::uint64_t conflicts = 0;    ///< attempts that were run again
  std::uint64_t skipped = 0;      ///< Deliveries with a district without an order that is due
  Histogram latency;              ///< from the input to the durable commit
};

struct RunResult {
  double seconds = 0;
  std::array<KindResult, kKinds> kinds;
  Histogram latency;                       ///< of all that wrote
  std::vector<double> worker_cpu_seconds;  ///< per worker
  double process_cpu_seconds = 0;
  std::uint64_t log_bytes = 0;  ///< on the media, with headers and padding
  std::uint64_t log_payload_bytes = 0;
  std::uint64_t fences = 0;
  double stalled_seconds = 0;     ///< the machine stood still so long: latencies and rates suffer from it
  std::uint64_t grown_bytes = 0;  ///< of rows that were added, with the warm-up; counted as raw_bytes() counts
  engine::DatabaseStatistics database;  ///< at the end

  [[nodiscard]] std::uint64_t committed() const;
  [[nodiscard]] double worker_cpu() const;
  [[nodiscard]] double tps() const { return static_cast<double>(committed()) / seconds; }
  /// New-Orders committed a minute; those rolled back are not counted.
  [[nodiscard]] double tpmc() const {
    return static_cast<double>(kinds[static_cast<std::size_t>(Kind::NewOrder)].committed) * 60 / seconds;
  }
  [[nodiscard]] double per_worker_cpu_second() const { return static_cast<double>(committed()) / worker_cpu(); }
  [[nodiscard]] double per_cpu_second() const { return static_cast<double>(committed()) / process_cpu_seconds; }
};

/// Runs the mix on a loaded database. Errors: NotFound (not loaded), InvalidArgument, those of the engine.
[[nodiscard]] Result<RunResult> run(engine::Database& database, const RunOptions& options);

}  // namespace nvmdb::tpcc
