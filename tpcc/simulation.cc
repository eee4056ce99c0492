#include "tpcc/simulation.h"

#include <algorithm>
#include <array>
#include <queue>
#include <vector>

#include "storage/base/random.h"
#include "tpcc/histogram.h"

namespace nvmdb::tpcc {

namespace {

constexpr double kSimulatedNs = 150e6;
constexpr double kWarmupNs = 30e6;
/// Of wal/: a stream's part of a group is its writer's from this size on; below, the leader writes it.
constexpr double kHandOverBytes = 64 << 10;
/// Closing an epoch: a fixed part, and one for each worker whose commit section and ring is looked at.
constexpr double kCloseNs = 250;
constexpr double kClosePerThreadNs = 15;
/// Of the classic log writer's sleep: its interval and what the system's timer adds.
constexpr double kClassicSleepNs = 75'000;
constexpr std::uint32_t kGroup = 16;
constexpr std::uint32_t kClassicGroup = 1024;
constexpr double kGroupNs = 100'000;

/// The events of one run.
class Simulator {
 public:
  Simulator(Configuration configuration, std::uint32_t threads, const SimulatedMachine& machine,
            const SimulatedService& service, std::uint64_t seed)
      : classic_(is_classic(configuration)),
        on_ssd_(configuration == Configuration::MmdbSsd),
        machine_(machine),
        service_(service),
        random_(seed),
        workers_(threads) {
    const double extra = configuration == Configuration::VolatileNvm ? machine.volatile_extra_ns : 0;
    const double alone = (service.worker_ns + extra) * (1 + machine.inflation_per_thread * (threads - 1));
    // Where workers and background together want more than there is, all of them get less.
    const double wanted = threads * (1 + service.background_ns / alone);
    slowdown_ = std::max(1.0, wanted / machine.processors);
    service_ns_ = alone * slowdown_;
  }

  SimulatedPoint run() {
    for (std::uint32_t worker = 0; worker < workers_.size(); ++worker) begin_transaction(worker, 0);
    if (classic_) events_.push({kClassicSleepNs, Event::WriterWakes, 0});
    double now = 0;
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now = event.at;
      if (now > kSimulatedNs) break;
      switch (event.kind) {
        case Event::Committed: on_commit(event.worker, now); break;
        case Event::GroupDurable: on_durable(now); break;
        case Event::WriterWakes: on_wake(now); break;
      }
    }
    SimulatedPoint point;
    point.tps = last_durable_ > first_durable_ ? static_cast<double>(durable_) / (last_durable_ - first_durable_) * 1e9 : 0;
    point.latency_us_p50 = static_cast<double>(latency_.quantile_ns(0.5)) / 1000;
    point.latency_us_p99 = static_cast<double>(latency_.quantile_ns(0.99)) / 1000;
    return point;
  }

 private:
  struct Event {
    enum Kind : std::uint8_t { Committed, GroupDurable, WriterWakes };
    double at;
    Kind kind;
    std::uint32_t worker;
    bool operator<(const Event& other) const { return at > other.at; }
  };
  struct Record {
    std::uint32_t worker;
    double began;
  };
  struct Worker {
    std::uint32_t pending = 0;
    double oldest = 0;  ///< when the oldest pending transaction began
    double began = 0;
    bool blocked = false;
  };

  void begin_transaction(std::uint32_t worker, double now) {
    workers_[worker].began = now;
    // Kinds differ: from half the mean to one and a half.
    events_.push({now + service_ns_ * (0.5 + random_.unit()), Event::Committed, worker});
  }

  void on_commit(std::uint32_t number, double now) {
    Worker& worker = workers_[number];
    if (worker.pending++ == 0) worker.oldest = worker.began;
    open_.push_back({number, worker.began});
    const bool full = worker.pending >= (classic_ ? kClassicGroup : kGroup);
    const bool late = !classic_ && now - worker.oldest >= kGroupNs;
    if (!full && !late) return begin_transaction(number, now);
    worker.blocked = true;
    if (!classic_ && running_.empty()) start_group(now);
  }

  void on_wake(double now) {
    if (open_.empty()) return events_.push({now + kClassicSleepNs, Event::WriterWakes, 0});
    start_group(now);
  }

  void start_group(double now) {
    running_.swap(open_);
    open_.clear();
    events_.push({now + (classic_ ? classic_group_ns() : group_ns()), Event::GroupDurable, 0});
  }

  [[nodiscard]] double classic_group_ns() const {
    const double bytes = static_cast<double>(running_.size()) * service_.log_bytes;
    const double staging = bytes * machine_.staging_ns_per_byte * slowdown_;
    if (!on_ssd_) return staging + machine_.file_call_ns + bytes * machine_.file_ns_per_byte;
    // Checkpoints go to the same device.
    const double share = service_.log_bytes / (service_.log_bytes + service_.checkpoint_bytes);
    return staging + machine_.ssd_sync_ns + bytes / (machine_.ssd_bytes_per_second * share) * 1e9;
  }

  /// The leader writes small parts one after another; large ones are written by their writers at the same time.
  [[nodiscard]] double group_ns() const {
    std::vector<double> parts(std::max(1U, machine_.log_writers), 0.0);
    for (const Record& record : running_) parts[record.worker % parts.size()] += service_.log_bytes;
    // What checkpoints take of the device is not there for the log.
    const double share = service_.log_bytes / (service_.log_bytes + service_.checkpoint_bytes);
    const double alone = machine_.nvm_thread_bytes_per_second;
    const double together = machine_.nvm_bytes_per_second * share / static_cast<double>(parts.size());
    double leader = 0;
    double writers = 0;
    for (const double bytes : parts) {
      if (bytes == 0) continue;
      const bool handed = bytes >= kHandOverBytes && parts.size() > 1;
      const double rate = handed ? std::min(alone, together) : std::min(alone, machine_.nvm_bytes_per_second * share);
      const double ns = bytes * machine_.staging_ns_per_byte * slowdown_ + bytes / rate * 1e9 + machine_.nvm_write_ns;
      if (handed) {
        writers = std::max(writers, ns);
      } else {
        leader += ns;
      }
    }
    return kCloseNs + kClosePerThreadNs * static_cast<double>(workers_.size()) + std::max(leader, writers);
  }

  void on_durable(double now) {
    for (const Record& record : running_) {
      Worker& worker = workers_[record.worker];
      --worker.pending;
      if (now < kWarmupNs) continue;
      // Whole groups, from the end of one to the end of another.
      if (first_durable_ > 0) ++durable_;
      latency_.add(static_cast<std::uint64_t>(now - record.began));
    }
    running_.clear();
    if (now >= kWarmupNs) {
      if (first_durable_ == 0) first_durable_ = now;
      last_durable_ = now;
    }
    bool somebody_waits = false;
    for (std::uint32_t number = 0; number < workers_.size(); ++number) {
      Worker& worker = workers_[number];
      worker.oldest = now;
      if (!worker.blocked) continue;
      // A worker that leads waits for all it committed, a classic one for room.
      if (worker.pending == 0 || (classic_ && worker.pending < kClassicGroup)) {
        worker.blocked = false;
        begin_transaction(number, now);
      } else {
        somebody_waits = true;
      }
    }
    if (classic_) return events_.push({now + kClassicSleepNs, Event::WriterWakes, 0});
    if (somebody_waits && !open_.empty()) start_group(now);
  }

  const bool classic_;
  const bool on_ssd_;
  const SimulatedMachine& machine_;
  const SimulatedService& service_;
  SeededRandom random_;
  std::vector<Worker> workers_;
  std::priority_queue<Event> events_;
  std::vector<Record> open_;
  std::vector<Record> running_;
  double service_ns_ = 0;
  double slowdown_ = 1;
  std::uint64_t durable_ = 0;
  double first_durable_ = 0;  ///< the end of the first group after the warm-up
  double last_durable_ = 0;
  Histogram latency_;
};

}  // namespace

SimulatedPoint simulate(Configuration configuration, std::uint32_t threads, const SimulatedMachine& machine,
                        const SimulatedService& service, std::uint64_t seed) {
  return Simulator(configuration, threads, machine, service, seed).run();
}

}  // namespace nvmdb::tpcc
