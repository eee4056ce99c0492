#include "index/btree.h"

#include <algorithm>

#include "storage/base/check.h"

namespace nvmdb::index {

namespace {

template <std::uint32_t Words>
void set_key(Key& key, const std::uint64_t* words) {
  key.count = Words;
  for (std::uint32_t i = 0; i < Words; ++i) key.words[i] = words[i];
}

}  // namespace

template <std::uint32_t Words>
template <bool Below, bool WithRange>
typename BTree<Words>::Place BTree<Words>::try_descend(const std::uint64_t* key, LeafCopy* range) const {
  if constexpr (WithRange) range->has_low = range->has_high = false;
  Place place;
  Node* node = root_.load(std::memory_order_acquire);
  std::uint64_t version = node->latch.read_version();
  if (VersionLatch::obsolete(version) || root_.load(std::memory_order_acquire) != node) return {};
  while (node->level > 0) {
    auto* inner = static_cast<InnerNode*>(node);
    const std::uint32_t count = inner->count();
    const std::uint32_t at =
        Below ? inner->separators.lower_bound(key, count) : inner->separators.upper_bound(key, count);
    Node* child = inner->child(at);
    if constexpr (WithRange) {
      std::array<std::uint64_t, Words> bound;
      if (at > 0) {
        inner->separators.get(at - 1, bound.data());
        set_key<Words>(range->low, bound.data());
        range->has_low = true;
      }
      if (at < count) {
        inner->separators.get(at, bound.data());
        set_key<Words>(range->high, bound.data());
        range->has_high = true;
      }
    }
    if (!inner->latch.unchanged(version)) return {};
    prefetch(child);
    const std::uint64_t child_version = child->latch.read_version();
    if (!inner->latch.unchanged(version)) return {};
    place.parent = inner;
    place.parent_version = version;
    place.child = at;
    node = child;
    version = child_version;
  }
  place.leaf = static_cast<LeafNode*>(node);
  place.version = version;
  return place;
}

template <std::uint32_t Words>
void BTree<Words>::search_leaf(const LeafNode& leaf, std::uint64_t version, const std::uint64_t* key, Lookup& lookup) {
  lookup = {};
  const std::uint32_t count = leaf.count();
  const std::uint32_t entry = leaf.keys.lower_bound(key, count);
  if (entry < count && leaf.keys.equals(entry, key)) {
    lookup.found = true;
    lookup.value = leaf.values[entry].get();
  }
  lookup.leaf = {&leaf, version};
}

template <std::uint32_t Words>
Lookup BTree<Words>::find(const Key& key) const {
  for (SpinWait spin;; spin.wait()) {
    const Place place = descend<false, false>(key.words.data(), nullptr);
    Lookup result;
    search_leaf(*place.leaf, place.version, key.words.data(), result);
    if (place.leaf->latch.unchanged(place.version)) return result;
  }
}

template <std::uint32_t Words>
void BTree<Words>::find_all(std::span<const Key> keys, std::span<Lookup> lookups) const {
  for (std::size_t first = 0; first < keys.size(); first += kAbreast) {
    const std::size_t count = std::min(kAbreast, keys.size() - first);
    find_abreast(keys.subspan(first, count), lookups.subspan(first, count));
  }
}

template <std::uint32_t Words>
void BTree<Words>::prefetch(const Node* node) {
  const auto* bytes = reinterpret_cast<const std::byte*>(node);
  constexpr std::size_t kKeyBytes = NodeLayout<Words>::kHeaderBytes + std::size_t{LeafNode::kCapacity} * Words * 8;
  for (std::size_t at = 0; at < kKeyBytes; at += 64) __builtin_prefetch(bytes + at);
}

/// The version of the node is read before its parent is asked whether it still leads here, as in try_descend().
template <std::uint32_t Words>
bool BTree<Words>::step_down(Descent& descent, const std::uint64_t* key) {
  const auto* inner = static_cast<const InnerNode*>(descent.node);
  const std::uint64_t version = inner->latch.read_version();
  if (VersionLatch::obsolete(version)) return false;
  if (descent.parent != nullptr && !descent.parent->latch.unchanged(descent.parent_version)) return false;
  const Node* child = inner->child(inner->separators.upper_bound(key, inner->count()));
  if (!inner->latch.unchanged(version)) return false;
  prefetch(child);
  descent = {child, inner, version};
  return true;
}

template <std::uint32_t Words>
bool BTree<Words>::end_descent(const Descent& descent, const std::uint64_t* key, Lookup& lookup) {
  const auto& leaf = *static_cast<const LeafNode*>(descent.node);
  const std::uint64_t version = leaf.latch.read_version();
  if (VersionLatch::obsolete(version)) return false;
  if (descent.parent != nullptr && !descent.parent->latch.unchanged(descent.parent_version)) return false;
  search_leaf(leaf, version, key, lookup);
  return leaf.latch.unchanged(version);
}

/// All leaves are on one level below a root, so the descents keep step; a descent that was disturbed is done alone.
template <std::uint32_t Words>
void BTree<Words>::find_abreast(std::span<const Key> keys, std::span<Lookup> lookups) const {
  std::array<Descent, kAbreast> descents;
  const Node* root = root_.load(std::memory_order_acquire);
  // A root that was split meanwhile is no obsolete node, but does not lead to all keys any more.
  const std::uint64_t root_version = root->latch.read_version();
  const bool is_root = root_.load(std::memory_order_acquire) == root;
  for (std::size_t i = 0; i < keys.size(); ++i) descents[i].node = is_root ? root : nullptr;
  for (std::uint32_t level = root->level; level > 0; --level) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      Descent& descent = descents[i];
      if (descent.node != nullptr && !step_down(descent, keys[i].words.data())) descent.node = nullptr;
      if (level == root->level && !root->latch.unchanged(root_version)) descent.node = nullptr;
    }
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool whole = descents[i].node != nullptr && end_descent(descents[i], keys[i].words.data(), lookups[i]) &&
                       (root->level > 0 || root->latch.unchanged(root_version));
    if (!whole) lookups[i] = find(keys[i]);
  }
}

template <std::uint32_t Words>
void BTree<Words>::read_leaf(const Key& key, Seek seek, LeafCopy& copy) const {
  for (SpinWait spin;; spin.wait()) {
    const Place place = seek == Seek::Below ? descend<true, true>(key.words.data(), &copy)
                                            : descend<false, true>(key.words.data(), &copy);
    const LeafNode& leaf = *place.leaf;
    std::uint32_t last = leaf.count();
    std::uint32_t first = 0;
    if (seek == Seek::Forward) first = leaf.keys.lower_bound(key.words.data(), last);
    if (seek == Seek::Backward) last = leaf.keys.upper_bound(key.words.data(), last);
    copy.count = last - first;
    copy.key_words = Words;
    for (std::uint32_t entry = first; entry < last; ++entry) {
      leaf.keys.get(entry, copy.words.data() + std::size_t{entry - first} * Words);
      copy.values[entry - first] = leaf.values[entry].get();
    }
    if (!leaf.latch.unchanged(place.version)) continue;
    copy.leaf = {&leaf, place.version};
    return;
  }
}

template <std::uint32_t Words>
Insertion BTree<Words>::insert(const Key& key, std::uint64_t value, NodeMemory& memory) {
  Spares spares(memory);
  Insertion result;
  for (SpinWait spin;; spin.wait()) {
    if (try_insert(key.words.data(), value, spares, result) != Step::Retry) return result;
  }
}

/// One descent that splits a full inner node when it meets one.
template <std::uint32_t Words>
typename BTree<Words>::Step BTree<Words>::try_insert(const std::uint64_t* key, std::uint64_t value, Spares& spares,
                                                     Insertion& result) {
  Place place;
  Node* node = root_.load(std::memory_order_acquire);
  std::uint64_t version = node->latch.read_version();
  if (VersionLatch::obsolete(version) || root_.load(std::memory_order_acquire) != node) return Step::Retry;
  while (node->level > 0) {
    auto* inner = static_cast<InnerNode*>(node);
    const std::uint32_t count = inner->count();
    if (count == InnerNode::kCapacity) {
      const Step step = split_inner(inner, version, place.parent, place.parent_version, place.child, spares);
      return step == Step::Done ? Step::Retry : step;
    }
    const std::uint32_t at = inner->separators.upper_bound(key, count);
    Node* child = inner->child(at);
    if (!inner->latch.unchanged(version)) return Step::Retry;
    prefetch(child);
    const std::uint64_t child_version = child->latch.read_version();
    if (!inner->latch.unchanged(version)) return Step::Retry;
    place.parent = inner;
    place.parent_version = version;
    place.child = at;
    node = child;
    version = child_version;
  }
  place.leaf = static_cast<LeafNode*>(node);
  place.version = version;
  return insert_into_leaf(place, key, value, spares, result);
}

template <std::uint32_t Words>
typename BTree<Words>::Step BTree<Words>::insert_into_leaf(const Place& place, const std::uint64_t* key,
                                                           std::uint64_t value, Spares& spares, Insertion& result) {
  LeafNode& leaf = *place.leaf;
  const std::uint32_t count = leaf.count();
  const std::uint32_t entry = leaf.keys.lower_bound(key, count);
  if (entry < count && leaf.keys.equals(entry, key)) {
    result.value = leaf.values[entry].get();
    if (!leaf.latch.unchanged(place.version)) return Step::Retry;
    result.outcome = Insertion::Outcome::Exists;
    return Step::Done;
  }
  if (count == LeafNode::kCapacity) return split_leaf(place, entry, key, value, spares, result);
  if (!leaf.latch.try_lock(place.version)) return Step::Retry;
  leaf.insert_at(entry, key, value);
  result.outcome = Insertion::Outcome::Inserted;
  result.before = {&leaf, place.version};
  result.after = {&leaf, leaf.latch.unlock()};
  return Step::Done;
}

/// Splits a full leaf and inserts in one step, so that the change of versions is one. A key behind all others goes
/// alone into the new leaf: ascending insertions leave full leaves behind.
template <std::uint32_t Words>
typename BTree<Words>::Step BTree<Words>::split_leaf(const Place& place, std::uint32_t entry, const std::uint64_t* key,
                                                     std::uint64_t value, Spares& spares, Insertion& result) {
  if (!spares.fill(place.parent == nullptr ? 2 : 1)) return Step::NoMemory;
  if (place.parent != nullptr && !place.parent->latch.try_lock(place.parent_version)) return Step::Retry;
  LeafNode& left = *place.leaf;
  if (!left.latch.try_lock(place.version)) {
    if (place.parent != nullptr) place.parent->latch.unlock_unchanged();
    return Step::Retry;
  }
  const std::uint32_t count = LeafNode::kCapacity;
  const std::uint32_t middle = entry == count ? count : count / 2;
  auto* right = new (spares.take(0)) LeafNode();
  for (std::uint32_t i = middle; i < count; ++i) right->move_entry(i - middle, left, i);
  right->set_count(count - middle);
  left.set_count(middle);
  if (entry < middle || (entry == middle && middle < count)) {
    left.insert_at(entry, key, value);
  } else {
    right->insert_at(entry - middle, key, value);
  }
  std::array<std::uint64_t, Words> separator;
  right->keys.get(0, separator.data());
  result.split = {right, right->latch.read_version()};
  link_split(place.parent, place.child, &left, separator.data(), right, spares);
  result.outcome = Insertion::Outcome::Inserted;
  result.before = {&left, place.version};
  result.after = {&left, left.latch.unlock()};
  if (place.parent != nullptr) place.parent->latch.unlock();
  return Step::Done;
}

template <std::uint32_t Words>
typename BTree<Words>::Step BTree<Words>::split_inner(InnerNode* node, std::uint64_t version, InnerNode* parent,
                                                      std::uint64_t parent_version, std::uint32_t child,
                                                      Spares& spares) {
  if (!spares.fill(parent == nullptr ? 2 : 1)) return Step::NoMemory;
  if (parent != nullptr && !parent->latch.try_lock(parent_version)) return Step::Retry;
  if (!node->latch.try_lock(version)) {
    if (parent != nullptr) parent->latch.unlock_unchanged();
    return Step::Retry;
  }
  const std::uint32_t count = InnerNode::kCapacity;
  const std::uint32_t middle = count / 2;
  auto* right = new (spares.take(0)) InnerNode(node->level);
  for (std::uint32_t i = middle + 1; i < count; ++i) right->separators.move_from(i - middle - 1, node->separators, i);
  for (std::uint32_t i = middle + 1; i <= count; ++i) right->set_child(i - middle - 1, node->child(i));
  right->set_count(count - middle - 1);
  std::array<std::uint64_t, Words> separator;
  node->separators.get(middle, separator.data());
  node->set_count(middle);
  link_split(parent, child, node, separator.data(), right, spares);
  node->latch.unlock();
  if (parent != nullptr) parent->latch.unlock();
  return Step::Done;
}

/// Hangs `right` into the locked parent, or makes a new root when `left` was the root.
template <std::uint32_t Words>
void BTree<Words>::link_split(InnerNode* parent, std::uint32_t child, Node* left, const std::uint64_t* separator,
                              Node* right, Spares& spares) {
  if (parent != nullptr) {
    parent->insert_split(child, separator, right);
    return;
  }
  auto* root = new (spares.take(1)) InnerNode(left->level + 1);
  root->set_child(0, left);
  root->insert_split(0, separator, right);
  root_.store(root, std::memory_order_release);
}

template <std::uint32_t Words>
bool BTree<Words>::erase(const Key& key, NodeMemory& memory) {
  for (SpinWait spin;; spin.wait()) {
    const Place place = descend<false, false>(key.words.data(), nullptr);
    LeafNode& leaf = *place.leaf;
    const std::uint32_t count = leaf.count();
    const std::uint32_t entry = leaf.keys.lower_bound(key.words.data(), count);
    if (entry == count || !leaf.keys.equals(entry, key.words.data())) {
      if (leaf.latch.unchanged(place.version)) return false;
      continue;
    }
    if (!leaf.latch.try_lock(place.version)) continue;
    leaf.erase_at(entry);
    leaf.latch.unlock();
    // Tried when a mark is passed, not at each erase of a small leaf; the empty leaf is the last mark.
    const std::uint32_t left = count - 1;
    if (place.parent != nullptr && (left == 0 || left == LeafNode::kCapacity / 8 || left == LeafNode::kCapacity / 4)) {
      try_merge(key.words.data(), 0, memory);
    }
    return true;
  }
}

/// Merges the node of `level` that holds `key` with a neighbour under the same parent, then the levels above it.
/// Gives up when anyone else is at work there: a small node is no error.
template <std::uint32_t Words>
void BTree<Words>::try_merge(const std::uint64_t* key, std::uint32_t level, NodeMemory& memory) {
  Node* node = root_.load(std::memory_order_acquire);
  std::uint64_t version = node->latch.read_version();
  if (VersionLatch::obsolete(version) || root_.load(std::memory_order_acquire) != node) return;
  if (node->level <= level) return;
  while (true) {
    auto* inner = static_cast<InnerNode*>(node);
    const std::uint32_t count = inner->count();
    const std::uint32_t at = inner->separators.upper_bound(key, count);
    if (node->level == level + 1) {
      if (count == 0 || !merge_children(inner, version, at > 0 ? at - 1 : 0, memory)) return;
      if (count - 1 <= InnerNode::kCapacity / 4) try_merge(key, level + 1, memory);
      return;
    }
    Node* child = inner->child(at);
    if (!inner->latch.unchanged(version)) return;
    const std::uint64_t child_version = child->latch.read_version();
    if (!inner->latch.unchanged(version)) return;
    node = child;
    version = child_version;
  }
}

template <std::uint32_t Words>
bool BTree<Words>::merge_children(InnerNode* parent, std::uint64_t version, std::uint32_t left_place,
                                  NodeMemory& memory) {
  Node* left = parent->child(left_place);
  Node* right = parent->child(left_place + 1);
  if (!parent->latch.unchanged(version)) return false;
  const std::uint64_t left_version = left->latch.read_version();
  const std::uint64_t right_version = right->latch.read_version();
  const bool leaves = left->level == 0;
  const std::uint32_t together = left->count() + right->count() + (leaves ? 0 : 1);
  const std::uint32_t capacity = leaves ? LeafNode::kCapacity : InnerNode::kCapacity;
  if (together > capacity * 3 / 4) return false;
  if (!parent->latch.try_lock(version)) return false;
  if (!left->latch.try_lock(left_version)) {
    parent->latch.unlock_unchanged();
    return false;
  }
  if (!right->latch.try_lock(right_version)) {
    left->latch.unlock_unchanged();
    parent->latch.unlock_unchanged();
    return false;
  }
  std::array<std::uint64_t, Words> separator;
  parent->separators.get(left_place, separator.data());
  move_all(left, right, separator.data());
  parent->erase_split(left_place);
  right->latch.unlock_obsolete();
  left->latch.unlock();
  if (parent->count() == 0 && root_.load(std::memory_order_relaxed) == parent) {
    root_.store(left, std::memory_order_release);
    parent->latch.unlock_obsolete();
    memory.retire_node(parent, kNodeBytes);
  } else {
    parent->latch.unlock();
  }
  memory.retire_node(right, kNodeBytes);
  return true;
}

template <std::uint32_t Words>
void BTree<Words>::move_all(Node* left, Node* right, const std::uint64_t* separator) {
  const std::uint32_t left_count = left->count();
  const std::uint32_t right_count = right->count();
  if (left->level == 0) {
    auto* to = static_cast<LeafNode*>(left);
    const auto* from = static_cast<const LeafNode*>(right);
    for (std::uint32_t i = 0; i < right_count; ++i) to->move_entry(left_count + i, *from, i);
    to->set_count(left_count + right_count);
    return;
  }
  auto* to = static_cast<InnerNode*>(left);
  const auto* from = static_cast<const InnerNode*>(right);
  to->separators.set(left_count, separator);
  for (std::uint32_t i = 0; i < right_count; ++i) to->separators.move_from(left_count + 1 + i, from->separators, i);
  for (std::uint32_t i = 0; i <= right_count; ++i) to->set_child(left_count + 1 + i, from->child(i));
  to->set_count(left_count + right_count + 1);
}

template <std::uint32_t Words>
Result<std::uint64_t> BTree<Words>::verify() const {
  std::uint64_t keys = 0;
  NVMDB_TRY(verify_node(root_.load(std::memory_order_acquire), nullptr, nullptr, keys));
  return keys;
}

template <std::uint32_t Words>
Status BTree<Words>::verify_node(const Node* node, const std::uint64_t* low, const std::uint64_t* high,
                                 std::uint64_t& keys) const {
  const auto less = [](const std::uint64_t* a, const std::uint64_t* b) {
    return std::lexicographical_compare(a, a + Words, b, b + Words);
  };
  const std::uint32_t count = node->count();
  const std::uint64_t version = node->latch.read_version();
  if (VersionLatch::obsolete(version)) return Status::corruption("index: an obsolete node can be reached");
  if (count > (node->level == 0 ? LeafNode::kCapacity : InnerNode::kCapacity)) {
    return Status::corruption("index: a node holds more entries than it has room for");
  }
  std::array<std::uint64_t, Words> previous{};
  std::array<std::uint64_t, Words> current{};
  for (std::uint32_t i = 0; i <= count; ++i) {
    const bool last = i == count;
    if (!last) {
      if (node->level == 0) {
        static_cast<const LeafNode*>(node)->keys.get(i, current.data());
      } else {
        static_cast<const InnerNode*>(node)->separators.get(i, current.data());
      }
      if (i > 0 && !less(previous.data(), current.data())) return Status::corruption("index: keys are not ascending");
      if (low != nullptr && less(current.data(), low)) return Status::corruption("index: a key is below its node's range");
      if (high != nullptr && !less(current.data(), high)) {
        return Status::corruption("index: a key is above its node's range");
      }
    }
    if (node->level > 0) {
      const Node* child = static_cast<const InnerNode*>(node)->child(i);
      if (child->level + 1 != node->level) return Status::corruption("index: a child is on the wrong level");
      NVMDB_TRY(verify_node(child, i == 0 ? low : previous.data(), last ? high : current.data(), keys));
    }
    previous = current;
  }
  if (node->level == 0) keys += count;
  return Status::ok();
}

template class BTree<1>;
template class BTree<2>;
template class BTree<4>;
template class BTree<6>;

}  // namespace nvmdb::index
