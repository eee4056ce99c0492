#include "tests/model/list_append_run.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <thread>

#include "storage/base/random.h"
#include "storage/nvm/pool.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/scratch_directory.h"

namespace nvmdb::test {

namespace {

using isolation::List;
using isolation::Operation;
using isolation::Outcome;

constexpr std::uint64_t kClients = 16;
constexpr std::uint64_t kKeysAtOnce = 12;
/// Attempts of all clients before they go on to other keys, so that lists stay short.
constexpr std::uint64_t kAttemptsPerWindow = 400;
/// Part of the transactions that go back to keys of earlier windows, whose rows have left DRAM meanwhile.
constexpr double kLookBack = 0.15;
constexpr std::uint64_t kLookBackWindows = 40;
/// Rows are filled up to this, so that there are more of them than DRAM can hold.
constexpr std::size_t kRowBytes = 4096;
/// A list is in one of two rows, and moves between them by an erasure and an insertion in one transaction.
constexpr std::uint64_t kOtherPlace = 1ULL << 40U;
constexpr std::uint64_t kNeverWritten = ~0ULL;
constexpr std::size_t kWordsPerClient = 8ULL << 20U;

enum State : std::uint64_t { kInfo, kAborted, kCommitted };

/// Shared by the parent and its children, lives over kills. A record: state, begin, end, words, operations.
struct Journal {
  std::atomic<std::uint64_t> clock;
  std::atomic<std::uint64_t> attempts;
  std::atomic<std::uint64_t> committed;
  std::atomic<std::uint64_t> values;
  EngineWork work;  ///< written by one thread of the child; read when there is no child
  struct Client {
    std::atomic<std::uint64_t> used;
    std::uint64_t words[kWordsPerClient];
  } clients[kClients];

  /// Never all touched: memory is taken as records come. Removed with the process.
  static Journal* create() {
    void* memory = mmap(nullptr, sizeof(Journal), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    NVMDB_CHECK(memory != MAP_FAILED, "no memory for the journal");
    return static_cast<Journal*>(memory);
  }
};

/// One client: attempts transactions until enough were committed.
class Client {
 public:
  Client(Journal& journal, std::uint64_t id, engine::Database& database, std::uint64_t seed,
         std::uint64_t target)
      : journal_(journal), mine_(journal.clients[id]), database_(database), random_(seed), target_(target) {}

  void run() {
    while (journal_.committed.load() < target_) attempt();
    for (const Pending& pending : pending_) {
      NVMDB_CHECK(database_.wait_durable(pending.receipt).is_ok(), "the log failed");
      state(pending.record) = kCommitted;
    }
  }

 private:
  struct Pending {
    std::uint64_t record;
    engine::CommitReceipt receipt;
  };
  std::uint64_t& state(std::uint64_t record) { return mine_.words[record]; }

  void attempt() {
    std::uint64_t window = journal_.attempts.fetch_add(1) / kAttemptsPerWindow;
    if (random_.chance(kLookBack)) window -= std::min(window, random_.below(kLookBackWindows));
    first_ = window * kKeysAtOnce;
    operations_.clear();
    const std::uint64_t begin = journal_.clock.fetch_add(1);
    engine::Session session = std::move(database_.session()).value();
    engine::Transaction transaction = session.begin();
    const Status body = work(transaction);
    // On record before the commit: a kill leaves it with an unknown end.
    const std::uint64_t record = write(begin);
    if (!body.is_ok()) {
      // NotFound, AlreadyExists: another erased the row after it was read, or made it; the commit would fail.
      NVMDB_CHECK(body.code() == Code::Conflict || body.code() == Code::NotFound ||
                      body.code() == Code::AlreadyExists,
                  body.to_string());
      transaction.abort();
      state(record) = kAborted;
      return;
    }
    const auto receipt = transaction.commit();
    if (!receipt.is_ok()) {
      const bool full = receipt.status().code() == Code::OutOfSpace;
      NVMDB_CHECK(full || receipt.status().code() == Code::Conflict, receipt.status().to_string());
      state(record) = kAborted;
      if (full) {
        const Status room = database_.make_room();
        NVMDB_CHECK(room.is_ok(), room.to_string());
      }
      sched_yield();
      return;
    }
    mine_.words[record + 2] = journal_.clock.fetch_add(1);
    journal_.committed.fetch_add(1);
    pending_.push_back({record, *receipt});
    // Told only when it is durable.
    for (; !pending_.empty() && pending_.front().receipt.epoch <= database_.durable_epoch();
         pending_.pop_front()) {
      state(pending_.front().record) = kCommitted;
    }
  }

  Status work(engine::Transaction& t) {
    for (std::uint64_t step = 1 + random_.below(4); step-- > 0;) {
      // Lets others run at places where interleavings matter, also on one processor.
      if (random_.chance(0.3)) sched_yield();
      const std::uint64_t kind = random_.below(20);
      if (kind < 3) {
        NVMDB_TRY(scan(t));
        continue;
      }
      const std::uint64_t key = first_ + random_.below(kKeysAtOnce);
      std::uint64_t place = 0;
      NVMDB_ASSIGN(List list, read(t, key, place));
      if (kind < 9) continue;
      if (kind < 12 && !list.empty()) {
        NVMDB_TRY(t.erase(1, key1(place)));
        NVMDB_TRY(t.insert(1, key1(place ^ kOtherPlace), encode(list)));
        continue;
      }
      if (random_.chance(0.3)) sched_yield();
      list.push_back(journal_.values.fetch_add(1) + 1);
      operations_.push_back({Operation::Kind::Append, key, list.back(), {}});
      NVMDB_TRY(list.size() == 1 ? t.insert(1, key1(place), encode(list))
                                 : t.put(1, key1(place), encode(list)));
    }
    if (random_.chance(0.3)) sched_yield();
    return Status::ok();
  }
  Result<List> read(engine::Transaction& t, std::uint64_t key, std::uint64_t& place) {
    place = key;
    auto row = t.read(1, key1(key));
    if (!row.is_ok() && row.status().code() == Code::NotFound) {
      row = t.read(1, key1(key ^ kOtherPlace));
      if (row.is_ok()) place = key ^ kOtherPlace;
    }
    if (!row.is_ok() && row.status().code() != Code::NotFound) return row.status();
    List list = row.is_ok() ? decode(*row) : List{};
    operations_.push_back({Operation::Kind::Read, key, 0, list});
    return list;
  }
  Status scan(engine::Transaction& t) {
    std::map<std::uint64_t, List> found;
    for (const std::uint64_t place : {std::uint64_t{0}, kOtherPlace}) {
      NVMDB_TRY(t.scan(1, key1(place + first_), key1(place + first_ + kKeysAtOnce - 1),
                       [&](const index::Key& key, ByteSpan row) {
                         List& list = found[key.words[0] & ~kOtherPlace];
                         // In both places: no serial order shows that.
                         if (!list.empty()) list.push_back(kNeverWritten);
                         const List more = decode(row);
                         list.insert(list.end(), more.begin(), more.end());
                         return true;
                       }));
    }
    for (std::uint64_t key = first_; key < first_ + kKeysAtOnce; ++key) {
      operations_.push_back({Operation::Kind::RangeRead, key, 0, found[key]});
    }
    return Status::ok();
  }
  /// Count, values, then zeros.
  static Bytes encode(const List& list) {
    Bytes row(std::max(kRowBytes, (list.size() + 1) * 8));
    const std::uint64_t count = list.size();
    std::memcpy(row.data(), &count, 8);
    std::memcpy(row.data() + 8, list.data(), count * 8);
    return row;
  }
  static List decode(ByteSpan row) {
    std::uint64_t count = 0;
    std::memcpy(&count, row.data(), 8);
    NVMDB_CHECK(count < row.size() / 8, "a row that no client wrote");
    List list(count);
    std::memcpy(list.data(), row.data() + 8, count * 8);
    return list;
  }

  std::uint64_t write(std::uint64_t begin) {
    const std::uint64_t record = mine_.used.load();
    std::uint64_t at = record;
    const auto put_word = [&](std::uint64_t word) {
      NVMDB_CHECK(at < kWordsPerClient, "the journal is full: ask for fewer transactions");
      mine_.words[at++] = word;
    };
    for (const std::uint64_t word :
         {std::uint64_t{kInfo}, begin, isolation::kNoEnd, std::uint64_t{operations_.size()}})
      put_word(word);
    for (const Operation& operation : operations_) {
      put_word(static_cast<std::uint64_t>(operation.kind));
      put_word(operation.key);
      put_word(operation.value);
      put_word(operation.list.size());
      for (const std::uint64_t value : operation.list) put_word(value);
    }
    mine_.used.store(at);
    return record;
  }

  Journal& journal_;
  Journal::Client& mine_;
  engine::Database& database_;
  SeededRandom random_;
  std::uint64_t target_;
  std::uint64_t first_ = 0;
  std::vector<Operation> operations_;
  std::deque<Pending> pending_;
};

/// Small budgets, so that checkpoints, eviction and collection work meanwhile: tuples have two pages of DRAM.
engine::DatabaseOptions database_options() {
  engine::DatabaseOptions options;
  options.dram_bytes = 8ULL << 20U;
  options.checkpoint.spare_pages = 1;
  options.log.ring_bytes = 64ULL << 10U;
  options.log.log_bytes_max = 12ULL << 20U;
  options.checkpoint.interval_ms = 5;
  return options;
}

/// Notes what a database does, every millisecond, where a kill of its process cannot take it back.
class WorkNotes {
 public:
  WorkNotes(Journal& journal, const engine::Database& database)
      : journal_(journal), database_(database), before_(journal.work) {
    if (database.recovery().records_applied > 0) ++before_.recoveries;
    note();
    thread_ = std::thread([this] {
      for (; !stop_.load(); usleep(1000)) note();
    });
  }
  ~WorkNotes() {
    stop_ = true;
    thread_.join();
    note();
  }
  WorkNotes(const WorkNotes&) = delete;
  WorkNotes& operator=(const WorkNotes&) = delete;

 private:
  void note() {
    const engine::CheckpointStatistics now = database_.statistics().checkpoint;
    journal_.work = {.checkpoints = before_.checkpoints + now.cycles,
                     .tuples_adopted = before_.tuples_adopted + now.tuples_adopted,
                     .tuples_evicted = before_.tuples_evicted + now.tuples_evicted,
                     .tuples_moved = before_.tuples_moved + now.tuples_moved,
                     .pages_collected = before_.pages_collected + now.pages_collected,
                     .recoveries = before_.recoveries};
  }

  Journal& journal_;
  const engine::Database& database_;
  EngineWork before_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// The database's process: does not return.
[[noreturn]] void serve(const std::filesystem::path& directory, Journal& journal, const RunOptions& options,
                        std::uint64_t life) {
  {
    const auto pool = storage::Pool::open(directory, {.create = true, .nvm_bytes = 96ULL << 20U});
    NVMDB_CHECK(pool.is_ok(), pool.status().to_string());
    const auto database = open_database(**pool, database_options());
    engine::EngineTestAccess::faults(*database) = options.faults;
    const WorkNotes notes(journal, *database);
    std::vector<std::thread> threads;
    for (std::uint64_t id = 0; id < kClients; ++id) {
      threads.emplace_back([&, id] {
        Client(journal, id, *database, (options.seed * 1000 + life) * kClients + id, options.transactions)
            .run();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  _exit(0);
}

std::vector<isolation::Transaction> read_journal(const Journal& journal) {
  std::vector<isolation::Transaction> history;
  for (const Journal::Client& client : journal.clients) {
    const std::uint64_t* word = client.words;
    const std::uint64_t* const end = word + client.used.load();
    while (word < end) {
      const std::uint64_t state = *word++;
      isolation::Transaction transaction;
      transaction.outcome = state == kCommitted ? Outcome::Committed
                            : state == kAborted ? Outcome::Aborted
                                                : Outcome::Info;
      transaction.begin = *word++;
      const std::uint64_t known = *word++;
      // Of one that was not durable nobody was told.
      transaction.end = state == kCommitted ? known : isolation::kNoEnd;
      for (std::uint64_t count = *word++; count-- > 0;) {
        Operation operation{static_cast<Operation::Kind>(word[0]), word[1], word[2],
                            List(word + 4, word + 4 + word[3])};
        word += 4 + word[3];
        transaction.operations.push_back(std::move(operation));
      }
      history.push_back(std::move(transaction));
    }
  }
  return history;
}

/// Ends at the child's end; kills it when `kill_at` transactions were committed. True when it was killed.
bool supervise(pid_t child, const Journal& journal, std::uint64_t kill_at) {
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      NVMDB_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the database's process died by itself");
      return false;
    }
    if (journal.committed.load() >= kill_at) {
      kill(child, SIGKILL);
      NVMDB_CHECK(waitpid(child, &status, 0) == child, "waitpid");
      return WIFSIGNALED(status);
    }
    usleep(200);
  }
}

}  // namespace

RunResult run_list_append(const RunOptions& options) {
  const ScratchDirectory scratch;
  Journal* const journal = Journal::create();
  SeededRandom random(options.seed);
  RunResult result;
  for (bool killed = true; killed;) {
    const std::uint64_t kill_at = options.kill_every == 0
                                      ? ~0ULL
                                      : journal->committed.load() + 1 + random.below(2 * options.kill_every);
    const pid_t child = fork();
    NVMDB_CHECK(child >= 0, "fork");
    if (child == 0) serve(scratch.path() / "pool", *journal, options, result.kills);
    killed = supervise(child, *journal, kill_at);
    result.kills += killed ? 1 : 0;
  }
  const auto history = read_journal(*journal);
  for (const isolation::Transaction& transaction : history) {
    ++(transaction.outcome == Outcome::Committed ? result.committed
       : transaction.outcome == Outcome::Aborted ? result.aborted
                                                 : result.unknown);
  }
  result.work = journal->work;
  result.report = isolation::check(history);
  munmap(journal, sizeof(Journal));
  return result;
}

}  // namespace nvmdb::test
