#include "tpcc/worker.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "storage/base/clock.h"
#include "storage/base/spin.h"
#include "tpcc/access.h"
#include "tpcc/loader.h"

namespace nvmdb::tpcc {

namespace {

// Clause 5.2.5.7: seconds of keying, means of thinking.
struct TerminalTimes {
  double keying;
  double thinking;
};
constexpr std::array<TerminalTimes, kKinds> kTimes{{{18, 12}, {3, 12}, {2, 10}, {2, 5}, {2, 5}}};
// Clause 5.2.4.2.
constexpr std::array<std::uint32_t, kKinds> kDeck{10, 10, 1, 1, 1};

constexpr std::uint32_t kAttemptsMax = 1000;
/// Checkpoints that a transaction waits for when memory, NVM or log space is used up.
constexpr std::uint32_t kReliefsMax = 6;

std::uint64_t now_ns() { return system_clock().monotonic_ns(); }

/// Waits a random time, longer after each attempt, so that rivals do not meet again.
void back_off(SeededRandom& random, std::uint32_t attempt) {
  const std::uint64_t rounds = random.below(std::uint64_t{4} << std::min(attempt, 6U)) + 1;
  for (SpinWait spin; spin.rounds() < rounds;) spin.wait();
}

}  // namespace

double thread_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Worker::Worker(Shared& shared, std::uint32_t number)
    : shared_(shared),
      number_(number),
      source_(shared.options.seed * 7919 + number, shared.warehouses, shared.constants),
      date_offset_us_(system_clock().wall_seconds() * 1'000'000 - static_cast<DateTime>(now_ns() / 1000)),
      pending_(std::max(1U, shared.options.group)),
      delivered_(shared.warehouses) {
  // Each warehouse has a worker, each worker a warehouse.
  const std::uint32_t threads = shared.options.threads;
  for (std::uint32_t w = 1; w <= shared.warehouses; ++w) {
    if ((w - 1) % threads == number % std::min(threads, shared.warehouses)) warehouses_.push_back(w);
  }
  if (!shared.options.think) return;
  // Where several workers share a warehouse, they share its ten terminals.
  const std::uint32_t sharers = std::max(1U, threads / shared.warehouses);
  for (const std::uint32_t w : warehouses_) {
    for (std::uint32_t i = 0; i < (kDistrictsPerWarehouse + sharers - 1) / sharers; ++i) terminals_.push_back({w, 0});
  }
}

Status Worker::start(engine::Session& session) {
  // The numbers of HISTORY rows go on behind those of earlier runs.
  constexpr std::uint64_t kNumbers = (1ULL << 40U) - 1;
  for (std::uint32_t w = 1; w <= shared_.warehouses; ++w) {
    NVMDB_TRY(read_patiently([&] {
      engine::Transaction transaction = session.begin();
      const auto visit = [&](const index::Key& key, ByteSpan) {
        next_history_ = std::max<std::uint64_t>(next_history_, (key.words[0] & kNumbers) + 1);
        return false;
      };
      return transaction.scan(kHistory, history_key(w, number_, 0), history_key(w, number_, kNumbers), visit, true);
    }));
  }
  return Status::ok();
}

Kind Worker::choose_kind() {
  SeededRandom& random = source_.random();
  if (!shared_.options.deck) {
    auto number = static_cast<std::uint32_t>(random.below(100));
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      if (number < shared_.options.weights[kind]) return static_cast<Kind>(kind);
      number -= shared_.options.weights[kind];
    }
    return Kind::NewOrder;
  }
  if (deck_.empty()) {
    for (std::size_t kind = 0; kind < kKinds; ++kind) deck_.insert(deck_.end(), kDeck[kind], static_cast<Kind>(kind));
    for (std::size_t i = deck_.size(); i > 1; --i) std::swap(deck_[i - 1], deck_[random.below(i)]);
  }
  const Kind kind = deck_.back();
  deck_.pop_back();
  return kind;
}

std::uint32_t Worker::choose_warehouse() {
  return warehouses_.size() == 1 ? warehouses_[0] : warehouses_[source_.random().below(warehouses_.size())];
}

Result<std::uint32_t> Worker::wait_for_terminal(Kind kind) {
  const auto next = std::min_element(terminals_.begin(), terminals_.end(),
                                     [](const Terminal& a, const Terminal& b) { return a.due_ns < b.due_ns; });
  if (next->due_ns > now_ns()) NVMDB_TRY(acknowledge_all());
  while (next->due_ns > now_ns() && shared_.phase.load(std::memory_order_relaxed) != Phase::Stop) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min<std::uint64_t>(next->due_ns - now_ns(), 50'000'000)));
  }
  const TerminalTimes& times = kTimes[static_cast<std::size_t>(kind)];
  // Negative exponential, at most ten times the mean; clause 5.2.5.4.
  const double thinking = std::min(-std::log(1.0 - source_.random().unit()), 10.0) * times.thinking;
  next->due_ns = now_ns() + static_cast<std::uint64_t>((times.keying + thinking) * 1e9);
  return next->w_id;
}

template <class Body>
Status Worker::execute_until_done(engine::Session& session, Pending& pending, Body body) {
  KindResult& result = result_.kinds[static_cast<std::size_t>(pending.kind)];
  std::uint32_t reliefs = 0;
  for (std::uint32_t attempt = 0;; ++attempt) {
    engine::Transaction transaction = session.begin();
    Status status = body(transaction);
    if (status.is_ok()) {
      const Result<engine::CommitReceipt> receipt = transaction.commit();
      if (receipt.is_ok()) {
        pending.epoch = receipt->epoch;
        last_ = receipt->epoch > last_.epoch ? *receipt : last_;
        return Status::ok();
      }
      status = receipt.status();
    } else if (const Result<engine::CommitReceipt> seen = transaction.abort_checked(); !seen.is_ok()) {
      // Rows that are missing or exist already may come of reads that do not fit together: order numbers and new orders
      // that a rival took meanwhile.
      status = seen.status();
    }
    if (attempt == kAttemptsMax) return status;
    if (status.code() == Code::OutOfSpace && ++reliefs <= kReliefsMax && shared_.database.make_room().is_ok()) continue;
    if (status.code() != Code::Conflict) return status;
    ++result.conflicts;
    back_off(source_.random(), attempt);
  }
}

Status Worker::execute(engine::Session& session, Kind kind, std::uint32_t w_id) {
  Pending& pending = pending_[(pending_first_ + pending_count_) % pending_.size()];
  pending.kind = kind;
  pending.key_count = 0;
  pending.started_ns = now_ns();
  const DateTime date = date_offset_us_ + static_cast<DateTime>(pending.started_ns / 1000);
  KindResult& result = result_.kinds[static_cast<std::size_t>(kind)];
  switch (kind) {
    case Kind::NewOrder: {
      const NewOrderInput input = source_.new_order(w_id, date);
      NewOrderOutput output;
      Status status = execute_until_done(session, pending, [&](auto& t) { return new_order(t, input, output); });
      if (status.code() == Code::NotFound && input.rollback) {
        ++result.rolled_back;
        return Status::ok();
      }
      NVMDB_TRY(status);
      pending.keys[pending.key_count++] = order_key(w_id, input.d_id, output.o_id).words[0];
      grown_bytes_ += raw_order_bytes(input.line_count);
      break;
    }
    case Kind::Payment: {
      const PaymentInput input = source_.payment(w_id, date);
      PaymentOutput output;
      const index::Key history = history_key(w_id, number_, next_history_++);
      NVMDB_TRY(execute_until_done(session, pending, [&](auto& t) { return payment(t, input, history, output); }));
      pending.keys[pending.key_count++] = history.words[0];
      grown_bytes_ += sizeof(HistoryRow);
      break;
    }
    case Kind::OrderStatus: {
      const OrderStatusInput input = source_.order_status(w_id);
      OrderStatusOutput output;
      NVMDB_TRY(execute_until_done(session, pending, [&](auto& t) { return order_status(t, input, output); }));
      break;
    }
    case Kind::Delivery: {
      const DeliveryInput input = source_.delivery(w_id, date);
      DeliveryOutput output;
      DeliveredOrders& delivered = delivered_[w_id - 1];
      NVMDB_TRY(execute_until_done(session, pending, [&](auto& t) { return delivery(t, input, delivered, output); }));
      for (std::uint32_t d = 1; d <= kDistrictsPerWarehouse; ++d) {
        if (output.o_id[d - 1] == 0) continue;
        delivered[d - 1] = output.o_id[d - 1];
        pending.keys[pending.key_count++] = order_key(w_id, d, output.o_id[d - 1]).words[0];
      }
      if (pending.key_count < kDistrictsPerWarehouse) ++result.skipped;
      break;
    }
    case Kind::StockLevel: {
      const StockLevelInput input = source_.stock_level(w_id);
      StockLevelOutput output;
      NVMDB_TRY(execute_until_done(session, pending, [&](auto& t) { return stock_level(t, input, output); }));
      break;
    }
  }
  ++pending_count_;
  return Status::ok();
}

void Worker::acknowledge(const Pending& pending, std::uint64_t at_ns) {
  KindResult& result = result_.kinds[static_cast<std::size_t>(pending.kind)];
  ++result.committed;
  const std::uint64_t latency = at_ns - std::min(at_ns, pending.started_ns);
  result.latency.add(latency);
  if (pending.key_count == 0) return;
  result_.latency.add(latency);
  if (shared_.options.journal == nullptr) return;
  const auto kind = pending.kind == Kind::NewOrder  ? Journal::Kind::NewOrder
                    : pending.kind == Kind::Payment ? Journal::Kind::Payment
                                                    : Journal::Kind::Delivery;
  for (std::uint32_t i = 0; i < pending.key_count; ++i) {
    shared_.options.journal->acknowledge(number_, {kind, pending.keys[i]});
  }
}

void Worker::acknowledge_durable(std::uint64_t at_ns) {
  const wal::Epoch durable = shared_.database.durable_epoch();
  while (pending_count_ > 0 && pending_[pending_first_].epoch <= durable) {
    acknowledge(pending_[pending_first_], at_ns);
    pending_first_ = (pending_first_ + 1) % pending_.size();
    --pending_count_;
  }
}

Status Worker::acknowledge_all() {
  if (pending_count_ == 0) return Status::ok();
  NVMDB_TRY(shared_.database.wait_durable(last_));
  acknowledge_durable(now_ns());
  return Status::ok();
}

void Worker::change_phase(Phase phase) {
  if (phase == Phase::Measure) {
    result_ = {};
    cpu_at_start_ = thread_cpu_seconds();
  }
  phase_ = phase;
}

Status Worker::run() {
  NVMDB_ASSIGN(engine::Session session, shared_.database.session());
  NVMDB_TRY(start(session));
  for (;;) {
    const Phase phase = shared_.phase.load(std::memory_order_relaxed);
    if (phase != phase_) change_phase(phase);
    if (phase == Phase::Stop) break;
    const Kind kind = choose_kind();
    std::uint32_t w_id = 0;
    if (terminals_.empty()) {
      w_id = choose_warehouse();
    } else {
      NVMDB_ASSIGN(w_id, wait_for_terminal(kind));
    }
    NVMDB_TRY(execute(session, kind, w_id));
    const std::uint64_t now = now_ns();
    acknowledge_durable(now);
    if (pending_count_ == 0) continue;
    const bool late =
        shared_.options.lead && now - pending_[pending_first_].started_ns >= shared_.options.group_us * 1000;
    if (pending_count_ == pending_.size() || late) NVMDB_TRY(acknowledge_all());
  }
  NVMDB_TRY(acknowledge_all());
  result_.cpu_seconds = thread_cpu_seconds() - cpu_at_start_;
  return Status::ok();
}

}  // namespace nvmdb::tpcc
