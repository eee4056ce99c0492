#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "index/ordered_index.h"
#include "storage/page/hot_pages.h"

namespace nvmdb::index {

/// Node memory that keeps retired nodes until the end: readers may look at them at any time.
class TestNodeMemory final : public NodeMemory {
 public:
  explicit TestNodeMemory(std::uint64_t bytes) : pages_(bytes), cache_(pages_) {}
  void* allocate_node(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    return cache_.allocate(bytes);
  }
  void free_node(void* node, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    cache_.free(node, bytes);
  }
  void retire_node(void*, std::size_t) override {
    const std::lock_guard lock(mutex_);
    ++retired_;
  }
  [[nodiscard]] std::uint64_t retired() const { return retired_; }

 private:
  storage::HotPages pages_;
  storage::HotPages::Cache cache_;
  std::mutex mutex_;
  std::uint64_t retired_ = 0;
};

/// Visits low <= key <= high in order, or from high to low, until `visit` returns false. Returns the leaves seen.
inline std::vector<LeafVersion> scan(const OrderedIndex& index, const Key& low, const Key& high, bool reverse,
                                     const std::function<bool(const Key&, std::uint64_t)>& visit) {
  std::vector<LeafVersion> leaves;
  LeafCopy copy;
  index.read_leaf(reverse ? high : low, reverse ? Seek::Backward : Seek::Forward, copy);
  while (true) {
    leaves.push_back(copy.leaf);
    for (std::uint32_t i = 0; i < copy.count; ++i) {
      const std::uint32_t entry = reverse ? copy.count - 1 - i : i;
      const Key key = copy.key(entry);
      if (reverse ? key < low : high < key) return leaves;
      if (!visit(key, copy.values[entry])) return leaves;
    }
    if (reverse ? !copy.has_low || copy.low <= low : !copy.has_high || high < copy.high) return leaves;
    const Key next = reverse ? copy.low : copy.high;
    index.read_leaf(next, reverse ? Seek::Below : Seek::Forward, copy);
  }
}

inline std::unique_ptr<OrderedIndex> make_index(std::uint32_t words, NodeMemory& memory) {
  return std::move(OrderedIndex::create(words, memory)).value();
}

/// A key of `words` words whose order is that of `number`, with the difference in a high or a low word.
inline Key spread_key(std::uint32_t words, std::uint64_t number) {
  Key key;
  key.count = words;
  for (std::uint32_t i = 0; i < words; ++i) {
    key.words[i] = i + 1 == words ? number : number >> (8U * (words - 1 - i));
  }
  return key;
}

}  // namespace nvmdb::index
