#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "index/key.h"
#include "storage/base/result.h"

namespace nvmdb::index {

/// Where index nodes come from and where they go. A retired node may still be read by others: the implementation
/// frees it once no thread that was in an epoch pin is left.
class NodeMemory {
 public:
  NodeMemory() = default;
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  virtual ~NodeMemory() = default;
  /// 64-byte aligned; nullptr when there is no more.
  [[nodiscard]] virtual void* allocate_node(std::size_t bytes) = 0;
  /// A node that nobody else ever saw.
  virtual void free_node(void* node, std::size_t bytes) = 0;
  virtual void retire_node(void* node, std::size_t bytes) = 0;
};

/// A leaf at a version. While it is unchanged, no key was inserted into or erased from the leaf's key range.
struct LeafVersion {
  const void* leaf = nullptr;
  std::uint64_t version = 0;
};

struct Lookup {
  bool found = false;
  std::uint64_t value = 0;
  LeafVersion leaf;  ///< the leaf that holds the key, or would
};

struct Insertion {
  enum class Outcome : std::uint8_t { Inserted, Exists, NoMemory };
  Outcome outcome = Outcome::NoMemory;
  std::uint64_t value = 0;  ///< Exists: the value there is
  // Inserted: the change of version that the insertion made. Who had seen `before` may go on with `after`; when the
  // leaf was split, its upper part went to `split`.
  LeafVersion before;
  LeafVersion after;
  LeafVersion split;  ///< leaf is nullptr when there was no split
};

inline constexpr std::size_t kLeafEntriesMax = 42;
inline constexpr std::size_t kLeafWordsMax = 108;

/// A consistent copy of (a part of) one leaf.
struct LeafCopy {
  LeafVersion leaf;
  std::uint32_t count = 0;
  std::uint32_t key_words = 0;
  bool has_low = false;   ///< false: the leaf is the first
  bool has_high = false;  ///< false: the leaf is the last
  Key low;                ///< the leaf's range is [low, high)
  Key high;
  std::array<std::uint64_t, kLeafWordsMax> words;
  std::array<std::uint64_t, kLeafEntriesMax> values;

  [[nodiscard]] Key key(std::uint32_t entry) const {
    Key key;
    key.count = key_words;
    for (std::uint32_t i = 0; i < key_words; ++i) key.words[i] = words[entry * key_words + i];
    return key;
  }
};

/// Which leaf to read and which of its entries.
enum class Seek : std::uint8_t {
  Forward,   ///< leaf of the key; its entries >= key
  Backward,  ///< leaf of the key; its entries <= key
  Below,     ///< leaf of the keys just below the key; all its entries
};

/// Ordered map from fixed-width keys to 64-bit values: a B+-tree in DRAM with optimistic latches. Readers write no
/// shared memory.
/// Threads: any number; each call must be made inside an epoch pin.
/// Source: Leis et al., "Optimistic Lock Coupling", IEEE Data Eng. Bull. 42(1), 2019; node sets for phantoms: Tu et
///         al., "Speedy Transactions in Multicore In-Memory Databases", SOSP 2013, section 4.6.
class OrderedIndex {
 public:
  /// `key_words` is 1, 2, 4 or 6. Errors: InvalidArgument (other widths), OutOfSpace.
  [[nodiscard]] static Result<std::unique_ptr<OrderedIndex>> create(std::uint32_t key_words, NodeMemory& memory);

  OrderedIndex() = default;
  OrderedIndex(const OrderedIndex&) = delete;
  OrderedIndex& operator=(const OrderedIndex&) = delete;
  /// Nodes are not given back one by one: they go with the memory they came from.
  virtual ~OrderedIndex() = default;

  [[nodiscard]] virtual std::uint32_t key_words() const = 0;
  [[nodiscard]] virtual Lookup find(const Key& key) const = 0;
  /// As find() of each: the descents go side by side, so that their misses of the caches overlap.
  /// Shape:  lookups[i] belongs to keys[i]; as many as keys.
  virtual void find_all(std::span<const Key> keys, std::span<Lookup> lookups) const = 0;
  /// Inserts when the key is absent.
  [[nodiscard]] virtual Insertion insert(const Key& key, std::uint64_t value, NodeMemory& memory) = 0;
  /// False when the key is absent. Neighbours are merged when a leaf has become small and nobody holds them.
  virtual bool erase(const Key& key, NodeMemory& memory) = 0;
  /// Copies a leaf: the step of a scan. Forward: go on with `high` of the copy; backward: Below `low`.
  virtual void read_leaf(const Key& key, Seek seek, LeafCopy& copy) const = 0;

  /// Checks order, separators and fill of the whole tree and returns the number of keys. Nobody may change the tree.
  /// Errors: Corruption.
  [[nodiscard]] virtual Result<std::uint64_t> verify() const = 0;

  /// True when the leaf is still at that version and nobody is changing it.
  [[nodiscard]] static bool unchanged(const LeafVersion& seen);
};

}  // namespace nvmdb::index
