#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/database.h"
#include "tpcc/driver.h"
#include "tpcc/inputs.h"
#include "tpcc/transactions.h"

namespace nvmdb::tpcc {

enum class Phase : std::uint8_t { WarmUp, Measure, Stop };

/// What a worker measured.
struct WorkerResult {
  std::array<KindResult, kKinds> kinds;
  Histogram latency;
  double cpu_seconds = 0;
};

/// A thread that executes transactions for the terminals of some warehouses. It goes on while commits are not durable
/// yet, and acknowledges them when they are: several share one group commit.
/// Threads: run() in one; the rest before and after it.
class Worker {
 public:
  struct Shared {
    engine::Database& database;
    const RunOptions& options;
    std::uint32_t warehouses;
    NonUniformConstants constants;
    std::atomic<Phase> phase{Phase::WarmUp};
  };

  Worker(Shared& shared, std::uint32_t number);

  [[nodiscard]] Status run();
  [[nodiscard]] const WorkerResult& result() const { return result_; }
  [[nodiscard]] std::uint64_t grown_bytes() const { return grown_bytes_; }

 private:
  /// Committed, not acknowledged.
  struct Pending {
    Kind kind = Kind::NewOrder;
    wal::Epoch epoch;
    std::uint64_t started_ns = 0;
    std::array<std::uint64_t, kDistrictsPerWarehouse> keys{};  ///< for the journal
    std::uint32_t key_count = 0;
  };
  struct Terminal {
    std::uint32_t w_id = 0;
    std::uint64_t due_ns = 0;
  };

  [[nodiscard]] Status start(engine::Session& session);
  [[nodiscard]] Kind choose_kind();
  [[nodiscard]] std::uint32_t choose_warehouse();
  /// With think times: waits for the next terminal and says which warehouse it is at.
  [[nodiscard]] Result<std::uint32_t> wait_for_terminal(Kind kind);
  [[nodiscard]] Status execute(engine::Session& session, Kind kind, std::uint32_t w_id);
  template <class Body>
  [[nodiscard]] Status execute_until_done(engine::Session& session, Pending& pending, Body body);
  void acknowledge_durable(std::uint64_t now_ns);
  [[nodiscard]] Status acknowledge_all();
  void acknowledge(const Pending& pending, std::uint64_t now_ns);
  void change_phase(Phase phase);

  Shared& shared_;
  const std::uint32_t number_;
  InputSource source_;
  const DateTime date_offset_us_;  ///< from the monotonic clock to the time of day
  std::vector<std::uint32_t> warehouses_;
  std::vector<Terminal> terminals_;
  std::vector<Kind> deck_;
  std::vector<Pending> pending_;  ///< a ring
  std::size_t pending_first_ = 0;
  std::size_t pending_count_ = 0;
  std::vector<DeliveredOrders> delivered_;  ///< by warehouse
  engine::CommitReceipt last_{};
  std::uint64_t next_history_ = 0;
  Phase phase_ = Phase::WarmUp;
  double cpu_at_start_ = 0;
  std::uint64_t grown_bytes_ = 0;
  WorkerResult result_;
};

[[nodiscard]] double thread_cpu_seconds();

}  // namespace nvmdb::tpcc
