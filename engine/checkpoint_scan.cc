#include "engine/checkpoint_scan.h"

#include <atomic>
#include <vector>

#include "storage/base/fail_point.h"
#include "storage/device/read_hook.h"

namespace nvmdb::engine {

Status scan_checkpoint(RecoveryWork& work, wal::Epoch durable) {
  Database::State& database = work.database();
  std::vector<storage::PageId> checkpoint;
  std::vector<storage::PageId> overflow;
  database.pages->for_each([&](storage::PageId page, storage::PageEntry entry) {
    if (entry.kind == storage::PageKind::Checkpoint) checkpoint.push_back(page);
    if (entry.kind == storage::PageKind::Overflow) overflow.push_back(page);
  });
  std::vector<TuplePage*> pages;
  for (const storage::PageId id : checkpoint) {
    NVMDB_ASSIGN(TuplePage* page, database.tuple_pages->adopt_recovered(id));
    pages.push_back(page);
  }
  std::atomic<std::uint64_t> done{0};
  std::atomic<std::uint64_t> bytes{0};
  NVMDB_TRY(work.for_each(pages.size(), [&](RecoveryWorker& worker, std::size_t i) -> Status {
    NVMDB_FAIL_POINT_TRY("recovery.page");
    TuplePage& page = *pages[i];
    storage::charge_nvm_read(page.base, page.published);
    RecoveryWorker::PageTotals totals;
    NVMDB_TRY(database.tuple_pages->for_each_slot(
        page, [&](const SlotView& slot, std::uint64_t at, std::uint32_t slot_bytes) -> Status {
          NVMDB_TRY(database.tuple_pages->verify(page, slot, at, slot_bytes));
          return worker.apply(slot, page, durable, totals);
        }));
    page.live_rows.fetch_add(totals.live_rows, std::memory_order_relaxed);
    page.tables.fetch_or(totals.tables, std::memory_order_relaxed);
    bytes.fetch_add(page.published, std::memory_order_relaxed);
    work.report("checkpoint", done.fetch_add(1, std::memory_order_relaxed) + 1, pages.size());
    return Status::ok();
  }));
  database.recovery.checkpoint_tuples = work.versions();
  database.recovery.checkpoint_bytes = bytes.load(std::memory_order_relaxed);
  for (const storage::PageId page : overflow) {
    NVMDB_FAIL_POINT_TRY("recovery.overflow");
    NVMDB_TRY(database.pages->release({page, 1}));
  }
  return Status::ok();
}

}  // namespace nvmdb::engine
