#pragma once

#include <new>
#include <utility>

#include "index/node.h"
#include "index/ordered_index.h"

namespace nvmdb::index {

/// The tree for keys of `Words` words. See OrderedIndex.
///
/// Writers lock top-down (parent, left, right) and only by try_lock of a version they read: nobody waits for a latch
/// while holding one, so there is no deadlock. Full inner nodes are split on the way down, so a split never goes up.
template <std::uint32_t Words>
class BTree final : public OrderedIndex {
  using LeafNode = Leaf<Words>;
  using InnerNode = Inner<Words>;
  static constexpr std::size_t kNodeBytes = NodeLayout<Words>::kNodeBytes;
  static_assert(sizeof(LeafNode) <= kNodeBytes && sizeof(InnerNode) <= kNodeBytes);
  static_assert(LeafNode::kCapacity <= kLeafEntriesMax && LeafNode::kCapacity * Words <= kLeafWordsMax);

 public:
  explicit BTree(void* root_memory) : root_(new (root_memory) LeafNode()) {}
  static constexpr std::size_t node_bytes() { return kNodeBytes; }

  [[nodiscard]] std::uint32_t key_words() const override { return Words; }
  [[nodiscard]] Lookup find(const Key& key) const override;
  void find_all(std::span<const Key> keys, std::span<Lookup> lookups) const override;
  [[nodiscard]] Insertion insert(const Key& key, std::uint64_t value, NodeMemory& memory) override;
  bool erase(const Key& key, NodeMemory& memory) override;
  void read_leaf(const Key& key, Seek seek, LeafCopy& copy) const override;
  [[nodiscard]] Result<std::uint64_t> verify() const override;

 private:
  /// Where a descent ended: a leaf with the version at which it belonged to the key.
  struct Place {
    LeafNode* leaf = nullptr;  ///< nullptr: start again
    std::uint64_t version = 0;
    InnerNode* parent = nullptr;
    std::uint64_t parent_version = 0;
    std::uint32_t child = 0;  ///< place in the parent
  };
  /// Nodes allocated before any latch is taken; what is left over goes back.
  struct Spares {
    explicit Spares(NodeMemory& node_memory) : memory(node_memory) {}
    Spares(const Spares&) = delete;
    Spares& operator=(const Spares&) = delete;
    ~Spares() {
      for (void* node : nodes) {
        if (node != nullptr) memory.free_node(node, kNodeBytes);
      }
    }
    [[nodiscard]] bool fill(std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        if (nodes[i] == nullptr) nodes[i] = memory.allocate_node(kNodeBytes);
        if (nodes[i] == nullptr) return false;
      }
      return true;
    }
    [[nodiscard]] void* take(std::size_t i) { return std::exchange(nodes[i], nullptr); }
    NodeMemory& memory;
    std::array<void*, 2> nodes{};
  };
  enum class Step : std::uint8_t { Done, Retry, NoMemory };

  /// Keys that find_all() has under way at once: more would miss in the first-level cache again.
  static constexpr std::size_t kAbreast = 16;
  /// One of several descents: the node to read next, and where its address came from.
  struct Descent {
    const Node* node = nullptr;  ///< nullptr: to be done alone
    const InnerNode* parent = nullptr;
    std::uint64_t parent_version = 0;
  };

  /// Fetches the lines of a node that a search reads.
  static void prefetch(const Node* node);
  /// Reads one inner node; false when somebody changed what was read.
  [[nodiscard]] static bool step_down(Descent& descent, const std::uint64_t* key);
  /// Reads the leaf at the end of a descent; false as step_down().
  [[nodiscard]] static bool end_descent(const Descent& descent, const std::uint64_t* key, Lookup& lookup);
  void find_abreast(std::span<const Key> keys, std::span<Lookup> lookups) const;

  /// Looks a key up in a leaf that had `version`; what it finds counts only if the leaf still has it.
  static void search_leaf(const LeafNode& leaf, std::uint64_t version, const std::uint64_t* key, Lookup& lookup);
  template <bool Below, bool WithRange>
  [[nodiscard]] Place try_descend(const std::uint64_t* key, LeafCopy* range) const;
  template <bool Below, bool WithRange>
  [[nodiscard]] Place descend(const std::uint64_t* key, LeafCopy* range) const {
    for (SpinWait spin;; spin.wait()) {
      if (const Place place = try_descend<Below, WithRange>(key, range); place.leaf != nullptr) return place;
    }
  }
  [[nodiscard]] Step try_insert(const std::uint64_t* key, std::uint64_t value, Spares& spares, Insertion& result);
  [[nodiscard]] Step insert_into_leaf(const Place& place, const std::uint64_t* key, std::uint64_t value, Spares& spares,
                                      Insertion& result);
  [[nodiscard]] Step split_leaf(const Place& place, std::uint32_t entry, const std::uint64_t* key, std::uint64_t value,
                                Spares& spares, Insertion& result);
  [[nodiscard]] Step split_inner(InnerNode* node, std::uint64_t version, InnerNode* parent, std::uint64_t parent_version,
                                 std::uint32_t child, Spares& spares);
  void link_split(InnerNode* parent, std::uint32_t child, Node* left, const std::uint64_t* separator, Node* right,
                  Spares& spares);
  void try_merge(const std::uint64_t* key, std::uint32_t level, NodeMemory& memory);
  [[nodiscard]] bool merge_children(InnerNode* parent, std::uint64_t version, std::uint32_t left_place,
                                    NodeMemory& memory);
  static void move_all(Node* left, Node* right, const std::uint64_t* separator);
  [[nodiscard]] Status verify_node(const Node* node, const std::uint64_t* low, const std::uint64_t* high,
                                   std::uint64_t& keys) const;

  std::atomic<Node*> root_;
};

extern template class BTree<1>;
extern template class BTree<2>;
extern template class BTree<4>;
extern template class BTree<6>;

}  // namespace nvmdb::index
