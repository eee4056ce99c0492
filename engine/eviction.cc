#include "engine/checkpointer.h"
#include "engine/session_state.h"
#include "storage/base/fail_point.h"

namespace nvmdb::engine {

namespace {
/// Part of the budget of hot tuples that eviction leaves in use.
constexpr std::uint64_t kTargetPercent = 70;
}  // namespace

/// Drops DRAM copies of checkpointed tuples, those first that were not read since the last round: a clock whose hand goes
/// through the tables in key order.
void Checkpointer::evict() {
  const std::uint64_t allocated = database_.hot_tuples.bytes_allocated();
  if (!database_.options.placement.evict || !under_pressure()) return;
  const std::uint64_t target = tuple_budget() / 100 * kTargetPercent;
  const std::uint64_t wanted = allocated > target ? allocated - target : 0;
  std::uint64_t freed = 0;
  const TableId table_count = database_.tables.count();
  // Two rounds: the first one may find all of them read.
  std::uint32_t tables_passed = 0;
  while (freed < wanted && tables_passed <= 2U * table_count + 1U) {
    const Table* table = database_.tables.find(evict_table_);
    bool at_end = table == nullptr;
    if (table != nullptr) {
      if (evict_key_.count != table->spec.key_words) evict_key_ = {.words = {}, .count = table->spec.key_words};
      database_.clock->pin(*slot_);
      table->index->read_leaf(evict_key_, index::Seek::Forward, leaf_);
      freed += evict_leaf(leaf_);
      database_.clock->unpin(*slot_);
      at_end = !leaf_.has_high;
      evict_key_ = leaf_.high;
    }
    if (!at_end) continue;
    evict_key_ = {};
    evict_table_ = static_cast<TableId>((evict_table_ + 1U) % table_count);
    ++tables_passed;
  }
  memory_.collect();
}

std::uint64_t Checkpointer::evict_leaf(const index::LeafCopy& leaf) {
  std::uint64_t freed = 0;
  for (std::uint32_t i = 0; i < leaf.count; ++i) {
    auto* head = reinterpret_cast<RecordHead*>(leaf.values[i]);
    if (head->home() == nullptr || head->dirty() || head->location().tuple() == nullptr) continue;
    if (head->take_referenced()) continue;
    wal::Tid seen;
    if (!head->lock(seen)) continue;
    Tuple* tuple = head->location().tuple();
    // Not dirty and not absent: the copy at home is this version, and it is published.
    if (!seen.absent() && !head->dirty() && head->home() != nullptr && tuple != nullptr) {
      NVMDB_FAIL_POINT("evict.row");
      head->set_location(TupleAddress::in_nvm(head->home()));
      freed += tuple->block_bytes();
      memory_.retire_tuple(tuple);
      tuples_evicted_.fetch_add(1, std::memory_order_relaxed);
    }
    head->unlock(seen);
  }
  return freed;
}

}  // namespace nvmdb::engine
