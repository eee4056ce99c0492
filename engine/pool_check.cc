#include "engine/pool_check.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "engine/catalogue.h"
#include "engine/catalogue_rows.h"
#include "engine/database.h"
#include "engine/field_store.h"
#include "engine/tuple_pages.h"
#include "storage/nvm/media_guard.h"
#include "storage/nvm/root_words.h"
#include "storage/page/page_allocator.h"
#include "wal/log_scan.h"

namespace nvmdb::engine {
namespace {

constexpr std::size_t kDamageMax = 1000;

/// What the rows of the catalogue say.
struct Content {
  std::map<RunId, Run> runs;
  std::map<std::pair<RunId, std::int64_t>, std::uint64_t>
      steps;  ///< -> fields, as the step's row counts them
  std::set<std::uint64_t> parameters;
  std::set<std::uint64_t> level_types;
  std::set<std::uint64_t> grids;
  std::vector<Field> fields;
};

class PoolChecker {
 public:
  PoolChecker(storage::PoolMedia& media, const CheckOptions& options) : media_(media), options_(options) {}

  CheckReport check() {
    const auto pages = storage::PageAllocator::open(media_);
    if (!pages.is_ok()) {
      add(pages.status());
      return std::move(report_);
    }
    report_.pages = (*pages)->total_pages();
    check_checkpoint(**pages);
    check_log(**pages);
    const Status status = check_content();
    if (!status.is_ok()) add(status);
    return std::move(report_);
  }

 private:
  void add(const std::string& words) {
    if (report_.damage.size() < kDamageMax) {
      report_.damage.push_back(words);
    } else {
      ++report_.damage_left_out;
    }
  }
  void add(const Status& status) { add(status.message()); }
  void tell(const char* phase, std::uint64_t done, std::uint64_t total) const {
    if (options_.progress) options_.progress(phase, done, total);
  }

  /// Every tuple of every checkpoint page, also behind a damaged one.
  void check_checkpoint(storage::PageAllocator& pages) {
    TuplePages tuples(media_, pages);
    const std::uint64_t total = pages.pages_of(storage::PageKind::Checkpoint);
    pages.for_each([&](storage::PageId id, storage::PageEntry entry) {
      if (entry.kind != storage::PageKind::Checkpoint) return;
      tell("checkpoint", report_.checkpoint_pages++, total);
      const Result<TuplePage*> page = tuples.adopt_recovered(id);
      if (!page.is_ok()) return add(page.status());
      const Status walked =
          tuples.for_each_slot(**page, [&](const SlotView& slot, std::uint64_t at, std::uint32_t bytes) {
            ++report_.checkpoint_tuples;
            const Status whole = tuples.verify(**page, slot, at, bytes);
            if (!whole.is_ok()) add(whole);
            return Status::ok();
          });
      if (!walked.is_ok()) add(walked);
    });
  }

  /// Blocks by themselves. Whether one is missing is found by the recovery.
  void check_log(const storage::PageAllocator& pages) {
    const Result<std::uint64_t> covered =
        storage::load_root_number(media_.root_words(), storage::kCheckpointEpochWord);
    if (!covered.is_ok()) return add(covered.status());
    const Result<wal::LogScan> scan = wal::scan_log(media_, pages, wal::Epoch{*covered});
    if (!scan.is_ok()) return add(scan.status());
    report_.log_segments = scan->segments.size();
    report_.log_blocks = scan->blocks.size();
  }

  Status check_content() {
    DatabaseOptions options;
    options.dram_bytes = options_.dram_bytes;
    options.log.writer_threads = false;
    options.checkpoint.background = false;
    options.checkpoint.at_close = false;
    options.progress = options_.progress;
    NVMDB_ASSIGN(const auto database, Database::open(media_, Catalogue::tables(), options));
    report_.blocks_discarded = database->recovery().discarded_blocks;
    report_.rows = database->statistics().rows;
    Catalogue catalogue(*database);
    FieldStore store(*database, catalogue);
    Content content;
    NVMDB_TRY(read_content(*database, content));
    report_.catalogue_read = true;
    report_.runs = content.runs.size();
    report_.steps = content.steps.size();
    report_.grids = content.grids.size();
    check_counts(content);
    check_references(*database, content);
    NVMDB_TRY(check_bytes(store, content));
    // Overlaps, and pages that nobody owns.
    const std::uint64_t before = database->pages().pages_of(storage::PageKind::Field);
    const Status recovered = store.recover();
    report_.unowned_pages = before - database->pages().pages_of(storage::PageKind::Field);
    return recovered;
  }

  Status read_content(Database& database, Content& content) {
    const auto table = [&](Transaction& transaction, TableId id, std::uint32_t words,
                           const auto& visit) -> Status {
      index::Key low = index::make_key(0);
      index::Key high = index::make_key(~0ULL);
      low.count = high.count = words;
      for (std::uint32_t i = 1; i < words; ++i) {
        low.words[i] = 0;
        high.words[i] = ~0ULL;
      }
      return transaction.scan(id, low, high, [&](const index::Key& key, ByteSpan row) {
        if (const Status status = visit(key, row); !status.is_ok()) add(status);
        return true;
      });
    };
    return database.run_durable([&](Transaction& transaction) -> Status {
      content = {};
      NVMDB_TRY(table(transaction, rows::kRunTable, 1, [&](const index::Key& key, ByteSpan row) -> Status {
        NVMDB_ASSIGN(Run run, rows::decode_run(static_cast<RunId>(key.words[0]), row));
        content.runs.emplace(run.id, std::move(run));
        return Status::ok();
      }));
      NVMDB_TRY(table(transaction, rows::kStepTable, 2, [&](const index::Key& key, ByteSpan row) -> Status {
        NVMDB_ASSIGN(const StepRow step, rows::decode_step(key, row));
        content.steps[{step.run, step.end_seconds}] = step.field_count;
        return Status::ok();
      }));
      NVMDB_TRY(
          table(transaction, rows::kParameterTable, 1, [&](const index::Key& key, ByteSpan row) -> Status {
            content.parameters.insert(key.words[0]);
            return rows::decode_parameter(row).status();
          }));
      NVMDB_TRY(table(transaction, rows::kLevelTypeTable, 1, [&](const index::Key& key, ByteSpan) -> Status {
        content.level_types.insert(key.words[0]);
        return Status::ok();
      }));
      NVMDB_TRY(table(transaction, rows::kGridTable, 1, [&](const index::Key& key, ByteSpan row) -> Status {
        content.grids.insert(key.words[0]);
        return rows::decode_grid(row).status();
      }));
      return transaction.scan(rows::kFieldTable, rows::field_low(0), rows::field_high(~0U),
                              [&](const index::Key& key, ByteSpan row) {
                                Result<Field> field = rows::decode_field(key, row);
                                if (field.is_ok()) {
                                  content.fields.push_back(std::move(field).value());
                                } else {
                                  add(field.status());
                                }
                                return true;
                              });
    });
  }

  /// Rows of runs and steps count what the field table holds.
  void check_counts(const Content& content) {
    std::map<RunId, std::pair<std::uint64_t, std::uint64_t>> of_runs;
    std::map<std::pair<RunId, std::int64_t>, std::uint64_t> of_steps;
    for (const Field& field : content.fields) {
      auto& [count, bytes] = of_runs[field.key.run];
      ++count;
      bytes += field.extent.bytes;
      ++of_steps[{field.key.run, field.key.step.end_seconds}];
    }
    for (const auto& [id, run] : content.runs) {
      if (run.state == RunState::Dropping) continue;
      const auto& [count, bytes] = of_runs[id];
      if (run.field_count != count || run.field_bytes != bytes) {
        add("run " + format_run(run.key) + ": its row counts " + std::to_string(run.field_count) +
            " fields of " + std::to_string(run.field_bytes) + " bytes, found " + std::to_string(count) +
            " of " + std::to_string(bytes));
      }
    }
    for (const auto& [step, count] : content.steps) {
      const auto run = content.runs.find(step.first);
      if (run != content.runs.end() && run->second.state == RunState::Dropping) continue;
      const std::uint64_t found = of_steps[step];
      if (found == count) continue;
      add("run " + std::to_string(step.first) + ", step ending at " + std::to_string(step.second) +
          " s: its row counts " + std::to_string(count) + " fields, found " + std::to_string(found));
    }
  }

  /// What a field's row names is there, and its bytes lie in pages of its run.
  void check_references(Database& database, const Content& content) {
    std::map<storage::PageId, storage::PageEntry> pages;
    database.pages().for_each([&](storage::PageId page, storage::PageEntry entry) { pages[page] = entry; });
    for (const Field& field : content.fields) {
      const FieldKey& key = field.key;
      const auto missing = [&](const char* what, std::uint64_t number) {
        add("field of run " + std::to_string(key.run) + ", parameter " + std::to_string(key.parameter) +
            ", step " + met::format_step(key.step) + ": " + what + " " + std::to_string(number) +
            " is not there");
      };
      if (!content.runs.contains(key.run)) missing("run", key.run);
      if (!content.parameters.contains(key.parameter)) missing("parameter", key.parameter);
      if (!content.level_types.contains(key.level_type)) missing("level type", key.level_type);
      if (!content.grids.contains(field.grid)) missing("grid", field.grid);
      if (!content.steps.contains({key.run, key.step.end_seconds})) {
        missing("the row of its step, ending at second", static_cast<std::uint64_t>(key.step.end_seconds));
      }
      if (field.extent.bytes == 0) continue;
      const std::uint64_t last = (field.extent.offset + field.extent.bytes - 1) / storage::kPageBytes;
      for (std::uint64_t page = field.extent.offset / storage::kPageBytes; page <= last; ++page) {
        const auto entry = pages.find({field.extent.region, static_cast<std::uint32_t>(page)});
        if (entry != pages.end() && entry->second == storage::PageEntry{storage::PageKind::Field, key.run})
          continue;
        missing("a page of its run at page", page);
        break;
      }
    }
  }

  Status check_bytes(FieldStore& store, const Content& content) {
    NVMDB_ASSIGN(const ReadView view, store.view());
    std::uint64_t done = 0;
    for (const Field& field : content.fields) {
      tell("fields", done++, content.fields.size());
      ++report_.fields;
      report_.field_bytes += field.extent.bytes;
      if (field.extent.bytes == 0) continue;
      const storage::Extent& at = field.extent;
      if (at.region >= media_.region_count() || at.offset > media_.region(at.region).size() ||
          at.bytes > media_.region(at.region).size() - at.offset) {
        add("region " + std::to_string(at.region) + " offset " + std::to_string(at.offset) +
            ": a field lies outside the pool");
        continue;
      }
      const Status whole = store.verify(view, {field, media_.region(at.region).bytes(at.offset, at.bytes)});
      if (!whole.is_ok()) add(whole);
    }
    for (const std::uint64_t grid : content.grids) {
      const auto read = store.catalogue().grid(static_cast<GridId>(grid));
      if (!read.is_ok()) add(read.status());
    }
    return Status::ok();
  }

  storage::PoolMedia& media_;
  const CheckOptions& options_;
  CheckReport report_;
};

}  // namespace

CheckReport check_pool(storage::PoolMedia& media, const CheckOptions& options) {
  return PoolChecker(media, options).check();
}

}  // namespace nvmdb::engine
