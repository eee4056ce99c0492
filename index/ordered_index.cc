#include "index/ordered_index.h"

#include "index/btree.h"

namespace nvmdb::index {

namespace {

template <std::uint32_t Words>
Result<std::unique_ptr<OrderedIndex>> create_tree(NodeMemory& memory) {
  void* root = memory.allocate_node(BTree<Words>::node_bytes());
  if (root == nullptr) return Status::out_of_space("no DRAM for an index: raise the DRAM budget");
  return std::unique_ptr<OrderedIndex>(std::make_unique<BTree<Words>>(root));
}

}  // namespace

Result<std::unique_ptr<OrderedIndex>> OrderedIndex::create(std::uint32_t key_words, NodeMemory& memory) {
  switch (key_words) {
    case 1: return create_tree<1>(memory);
    case 2: return create_tree<2>(memory);
    case 4: return create_tree<4>(memory);
    case 6: return create_tree<6>(memory);
    default:
      return Status::invalid_argument("index keys have 1, 2, 4 or 6 words, not " + std::to_string(key_words));
  }
}

bool OrderedIndex::unchanged(const LeafVersion& seen) {
  return static_cast<const Node*>(seen.leaf)->latch.unchanged(seen.version);
}

}  // namespace nvmdb::index
