#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "index/version_latch.h"

namespace nvmdb::index {

/// A word that is read while it may be written: acquire loads, release stores (see VersionLatch).
class SharedWord {
 public:
  [[nodiscard]] std::uint64_t get() const { return word_.load(std::memory_order_acquire); }
  void set(std::uint64_t value) { word_.store(value, std::memory_order_release); }

 private:
  std::atomic<std::uint64_t> word_{0};
};

/// What leaves and inner nodes begin with. The latch is the first word: LeafVersion relies on it.
struct alignas(64) Node {
  explicit Node(std::uint32_t node_level) : level(node_level) {}
  VersionLatch latch;
  std::atomic<std::uint32_t> count_word{0};
  const std::uint32_t level;  ///< 0: leaf

  [[nodiscard]] std::uint32_t count() const { return count_word.load(std::memory_order_acquire); }
  void set_count(std::uint32_t count) { count_word.store(count, std::memory_order_release); }
};

/// Keys of `Words` words; node sizes are chosen so that a node holds 17 to 42 keys.
template <std::uint32_t Words>
struct NodeLayout {
  static constexpr std::size_t kNodeBytes = Words == 1 ? 512 : 1024;
  static constexpr std::size_t kHeaderBytes = 16;
  static constexpr std::size_t kEntryBytes = Words * 8 + 8;
  static constexpr auto kLeafCapacity = static_cast<std::uint32_t>((kNodeBytes - kHeaderBytes) / kEntryBytes);
  static constexpr auto kInnerCapacity = static_cast<std::uint32_t>((kNodeBytes - kHeaderBytes - 8) / kEntryBytes);
};

/// Sorted keys with the searches both kinds of node use.
template <std::uint32_t Words, std::uint32_t Capacity>
class KeyArray {
 public:
  /// Number of keys < `key` among the first `count`.
  [[nodiscard]] std::uint32_t lower_bound(const std::uint64_t* key, std::uint32_t count) const {
    return search(count, [&](std::uint32_t entry) { return less(entry, key); });
  }
  /// Number of keys <= `key` among the first `count`.
  [[nodiscard]] std::uint32_t upper_bound(const std::uint64_t* key, std::uint32_t count) const {
    return search(count, [&](std::uint32_t entry) { return !greater(entry, key); });
  }
  [[nodiscard]] bool equals(std::uint32_t entry, const std::uint64_t* key) const {
    std::uint64_t difference = 0;
    for (std::uint32_t i = 0; i < Words; ++i) difference |= words_[entry * Words + i].get() ^ key[i];
    return difference == 0;
  }
  void get(std::uint32_t entry, std::uint64_t* key) const {
    for (std::uint32_t i = 0; i < Words; ++i) key[i] = words_[entry * Words + i].get();
  }
  void set(std::uint32_t entry, const std::uint64_t* key) {
    for (std::uint32_t i = 0; i < Words; ++i) words_[entry * Words + i].set(key[i]);
  }
  void move_from(std::uint32_t to, const KeyArray& source, std::uint32_t from) {
    for (std::uint32_t i = 0; i < Words; ++i) words_[to * Words + i].set(source.words_[from * Words + i].get());
  }

 private:
  template <class Before>
  [[nodiscard]] static std::uint32_t search(std::uint32_t count, Before before) {
    std::uint32_t base = 0;
    while (count > 1) {
      const std::uint32_t half = count / 2;
      base += before(base + half - 1) ? half : 0;
      count -= half;
    }
    return base + (count == 1 && before(base) ? 1 : 0);
  }
  [[nodiscard]] bool less(std::uint32_t entry, const std::uint64_t* key) const {
    bool result = false;
    for (std::uint32_t i = Words; i-- > 0;) {
      const std::uint64_t word = words_[entry * Words + i].get();
      result = (word < key[i]) | ((word == key[i]) & result);
    }
    return result;
  }
  [[nodiscard]] bool greater(std::uint32_t entry, const std::uint64_t* key) const {
    bool result = false;
    for (std::uint32_t i = Words; i-- > 0;) {
      const std::uint64_t word = words_[entry * Words + i].get();
      result = (word > key[i]) | ((word == key[i]) & result);
    }
    return result;
  }

  std::array<SharedWord, std::size_t{Words} * Capacity> words_;
};

template <std::uint32_t Words>
struct Leaf : Node {
  static constexpr std::uint32_t kCapacity = NodeLayout<Words>::kLeafCapacity;
  Leaf() : Node(0) {}
  KeyArray<Words, kCapacity> keys;
  std::array<SharedWord, kCapacity> values;

  void move_entry(std::uint32_t to, const Leaf& source, std::uint32_t from) {
    keys.move_from(to, source.keys, from);
    values[to].set(source.values[from].get());
  }
  void insert_at(std::uint32_t entry, const std::uint64_t* key, std::uint64_t value) {
    const std::uint32_t n = count();
    for (std::uint32_t i = n; i > entry; --i) move_entry(i, *this, i - 1);
    keys.set(entry, key);
    values[entry].set(value);
    set_count(n + 1);
  }
  void erase_at(std::uint32_t entry) {
    const std::uint32_t n = count();
    for (std::uint32_t i = entry + 1; i < n; ++i) move_entry(i - 1, *this, i);
    set_count(n - 1);
  }
};

/// children[i] holds the keys with separator[i - 1] <= key < separator[i]; count() separators, one child more.
template <std::uint32_t Words>
struct Inner : Node {
  static constexpr std::uint32_t kCapacity = NodeLayout<Words>::kInnerCapacity;
  explicit Inner(std::uint32_t node_level) : Node(node_level) {}
  KeyArray<Words, kCapacity> separators;
  std::array<std::atomic<Node*>, kCapacity + 1> children{};

  [[nodiscard]] Node* child(std::uint32_t place) const { return children[place].load(std::memory_order_acquire); }
  void set_child(std::uint32_t place, Node* node) { children[place].store(node, std::memory_order_release); }
  /// The child at `place` was split: `right` holds its keys >= `separator`.
  void insert_split(std::uint32_t place, const std::uint64_t* separator, Node* right) {
    const std::uint32_t n = count();
    for (std::uint32_t i = n; i > place; --i) {
      separators.move_from(i, separators, i - 1);
      set_child(i + 1, child(i));
    }
    separators.set(place, separator);
    set_child(place + 1, right);
    set_count(n + 1);
  }
  /// The child right of separator `place` was merged into its left neighbour.
  void erase_split(std::uint32_t place) {
    const std::uint32_t n = count();
    for (std::uint32_t i = place + 1; i < n; ++i) {
      separators.move_from(i - 1, separators, i);
      set_child(i, child(i + 1));
    }
    set_count(n - 1);
  }
};

}  // namespace nvmdb::index
