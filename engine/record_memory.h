#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/record.h"
#include "index/ordered_index.h"
#include "storage/page/hot_pages.h"
#include "wal/epoch_clock.h"

namespace nvmdb::engine {

/// First-in, first-out list that allocates nothing in steady state.
template <class T>
class Fifo {
 public:
  [[nodiscard]] bool empty() const { return first_ == items_.size(); }
  [[nodiscard]] std::size_t size() const { return items_.size() - first_; }
  [[nodiscard]] T& front() { return items_[first_]; }
  [[nodiscard]] T& at(std::size_t i) { return items_[first_ + i]; }
  void push(T item) { items_.push_back(std::move(item)); }
  void pop() {
    ++first_;
    if (first_ == items_.size() || (first_ > 1024 && first_ > items_.size() / 2)) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
  }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0;
};

/// One thread's access to hot pages for index nodes, record heads and tuples, and its list of blocks that are unlinked
/// but may still be read.
/// Threads: one at a time.
class RecordMemory final : public index::NodeMemory {
 public:
  /// `pages` for heads, nodes and lists; `tuples` for tuples: they have budgets of their own, because blocks of one do
  /// not become free for the other.
  RecordMemory(storage::HotPages& pages, storage::HotPages& tuples, wal::EpochClock& clock)
      : pages_(pages), cache_(pages), tuple_cache_(tuples), clock_(clock) {}
  ~RecordMemory() override;

  // Each returns nullptr when the DRAM budget is reached.
  [[nodiscard]] RecordHead* new_head();
  [[nodiscard]] Tuple* new_tuple(std::size_t row_bytes);
  [[nodiscard]] void* allocate_node(std::size_t bytes) override { return cache_.allocate(bytes); }

  // Nobody else ever saw it.
  void free_head(RecordHead* head) { cache_.free(head, sizeof(RecordHead)); }
  void free_tuple(Tuple* tuple) { tuple_cache_.free(tuple, tuple->block_bytes()); }
  void free_node(void* node, std::size_t bytes) override { cache_.free(node, bytes); }

  /// A head's place in the hot pages, for the hint of a slot; 0 when it is too far up. No other kind of block of `hot` is as
  /// small as a head, so a place that was a head is one for ever, perhaps of another record.
  [[nodiscard]] std::uint32_t hint_of(const RecordHead* head) const;
  /// nullptr for a hint that is 0.
  [[nodiscard]] RecordHead* head_at(std::uint32_t hint) const;

  // Unlinked: freed by collect() once no pin of that time is left.
  void retire_head(RecordHead* head) { retire(cache_, head, sizeof(RecordHead)); }
  void retire_tuple(Tuple* tuple) { retire(tuple_cache_, tuple, tuple->block_bytes()); }
  void retire_node(void* node, std::size_t bytes) override { retire(cache_, node, bytes); }

  [[nodiscard]] std::size_t retired() const { return retired_.size(); }
  /// Frees what has no reader left. Call with everything retired so far unlinked, outside latches and locks.
  void collect();
  /// Gives free blocks back to the other threads.
  void flush() {
    cache_.flush();
    tuple_cache_.flush();
  }
  /// "DRAM budget of 512 MiB reached".
  [[nodiscard]] Status out_of_space() const;

 private:
  struct Retired {
    storage::HotPages::Cache* cache;
    void* block;
    std::size_t bytes;
    std::uint64_t epoch;  ///< kUnstamped until collect() stamps it
  };
  static constexpr std::uint64_t kUnstamped = ~0ULL;
  void retire(storage::HotPages::Cache& cache, void* block, std::size_t bytes) {
    retired_.push({&cache, block, bytes, kUnstamped});
  }

  storage::HotPages& pages_;
  storage::HotPages::Cache cache_;
  storage::HotPages::Cache tuple_cache_;
  wal::EpochClock& clock_;
  Fifo<Retired> retired_;
};

}  // namespace nvmdb::engine
