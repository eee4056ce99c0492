#include "wal/log_chain.h"

#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "storage/base/check.h"
#include "storage/page/page.h"
#include "wal/log_format.h"

namespace nvmdb::wal {
namespace {

std::string place_of(std::uint32_t region, std::uint64_t offset) {
  return "region " + std::to_string(region) + " offset " + std::to_string(offset);
}

/// Blocks of one stream in one group, in order. Whole when the last one says so and all before it are there.
bool part_complete(std::span<const BlockFound> part) {
  const BlockFound& last = part.back();
  if (last.group_blocks != part.size()) return false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i].sequence != last.sequence + 1 - part.size() + i) return false;
    if (i + 1 < part.size() && part[i].group_blocks != 0) return false;
  }
  return true;
}

bool group_complete(std::span<const BlockFound> blocks) {
  std::uint64_t streams = 0;
  std::uint64_t named = 0;
  for (std::size_t at = 0; at < blocks.size();) {
    std::size_t end = at;
    while (end < blocks.size() && blocks[end].stream == blocks[at].stream) ++end;
    if (!part_complete(blocks.subspan(at, end - at))) return false;
    const std::uint64_t says = blocks[end - 1].streams;
    if (named != 0 && named != says) return false;
    named = says;
    streams |= 1ULL << blocks[at].stream;
    at = end;
  }
  return streams == named;
}

std::vector<GroupFound> find_groups(const std::vector<BlockFound>& blocks, Epoch covered) {
  std::vector<GroupFound> groups;
  for (std::size_t at = 0; at < blocks.size();) {
    std::size_t end = at;
    bool agree = true;
    for (; end < blocks.size() && blocks[end].session == blocks[at].session &&
           blocks[end].epoch == blocks[at].epoch;
         ++end) {
      agree = agree && blocks[end].previous == blocks[at].previous;
    }
    if (blocks[at].epoch > covered.value) {
      const bool complete = agree && group_complete(std::span(blocks).subspan(at, end - at));
      groups.push_back({at, end - at, blocks[at].session, blocks[at].epoch, blocks[at].previous, complete});
    }
    at = end;
  }
  return groups;
}

/// Where the damage is, as well as it can be told: behind the last block before the first gap in the numbers
/// of a stream, else behind the last block that `lost` has, else at the block that builds on it.
std::string find_damage(const std::vector<BlockFound>& blocks, std::uint64_t session, std::uint64_t lost,
                        const BlockFound& dependant) {
  const auto behind = [](const BlockFound& block) {
    const std::uint64_t end = block.offset + sizeof(BlockHeader) + block.payload_bytes;
    return "stream " + std::to_string(block.stream) + ", " + place_of(block.region, block.offset) +
           ": the block behind the one that ends at " + std::to_string(end);
  };
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    const BlockFound& before = blocks[i - 1];
    const BlockFound& after = blocks[i];
    const bool same_part = before.session == after.session && before.stream == after.stream;
    if (same_part && before.epoch == lost && after.epoch == lost && after.sequence != before.sequence + 1) {
      return behind(before);
    }
  }
  std::unordered_map<std::uint32_t, const BlockFound*> last;  // by stream, in sequence
  std::vector<const BlockFound*> order;
  for (const BlockFound& block : blocks) {
    if (block.session == session) order.push_back(&block);
  }
  std::sort(order.begin(), order.end(), [](const BlockFound* a, const BlockFound* b) {
    return std::tie(a->stream, a->sequence) < std::tie(b->stream, b->sequence);
  });
  for (const BlockFound* block : order) {
    const auto [found, first] = last.emplace(block->stream, block);
    if (!first && block->sequence != found->second->sequence + 1) return behind(*found->second);
    found->second = block;
  }
  for (auto block = order.rbegin(); block != order.rend(); ++block) {
    if ((*block)->epoch <= lost) return behind(**block);
  }
  return place_of(dependant.region, dependant.offset) + ": nothing of it is left before this block";
}

/// A group was begun only when the one it names was durable, so that one must be in the chain.
Status check_dependants(const std::vector<BlockFound>& blocks, const std::vector<GroupFound>& groups,
                        const LogChain& chain, Epoch covered) {
  std::unordered_set<std::uint64_t> known;
  for (const GroupFound& group : chain.groups) known.insert(group.epoch);
  for (const GroupFound& group : groups) {
    if (group.previous <= covered.value || known.contains(group.previous)) continue;
    std::uint64_t session = 0;  // of the lost group: the last that may have written it
    for (const GroupFound& other : groups) {
      if (other.epoch <= group.previous && other.session <= group.session)
        session = std::max(session, other.session);
    }
    return Status::corruption(
        "log: epoch " + std::to_string(group.previous) + " is damaged, but epoch " +
        std::to_string(group.epoch) + " was written after it: " +
        find_damage(blocks, session == 0 ? group.session : session, group.previous, blocks[group.first]));
  }
  return Status::ok();
}

Status check_duplicates(const std::vector<BlockFound>& blocks) {
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    const BlockFound& a = blocks[i - 1];
    const BlockFound& b = blocks[i];
    if (a.session == b.session && a.epoch == b.epoch && a.stream == b.stream && a.sequence == b.sequence) {
      return Status::corruption("log: the same block is at " + place_of(a.region, a.offset) + " and at " +
                                place_of(b.region, b.offset));
    }
  }
  return Status::ok();
}

}  // namespace

void sort_blocks(std::vector<BlockFound>& blocks) {
  std::sort(blocks.begin(), blocks.end(), [](const BlockFound& a, const BlockFound& b) {
    return std::tie(a.session, a.epoch, a.stream, a.sequence) <
           std::tie(b.session, b.epoch, b.stream, b.sequence);
  });
}

Result<LogChain> follow_chain(const std::vector<BlockFound>& sorted, Epoch covered) {
  NVMDB_TRY(check_duplicates(sorted));
  const std::vector<GroupFound> groups = find_groups(sorted, covered);
  // By the group they build on; all that build on covered ones are first in line. Later sessions overwrite
  // earlier ones, because `groups` is in the order of sessions.
  std::unordered_map<std::uint64_t, const GroupFound*> next;
  LogChain chain{.groups = {}, .durable = covered, .highest_seen = covered};
  std::uint64_t uncovered = 0;
  for (const GroupFound& group : groups) {
    const std::uint64_t builds_on = std::max(group.previous, covered.value);
    if (const auto found = next.find(builds_on);
        found == next.end() || found->second->session < group.session) {
      next[builds_on] = &group;
    }
    chain.highest_seen = std::max(chain.highest_seen, Epoch{group.epoch});
    uncovered += group.count;
  }
  std::uint64_t kept = 0;
  for (auto found = next.find(chain.durable.value); found != next.end() && found->second->complete;
       found = next.find(chain.durable.value)) {
    chain.groups.push_back(*found->second);
    chain.durable = Epoch{found->second->epoch};
    kept += found->second->count;
  }
  NVMDB_TRY(check_dependants(sorted, groups, chain, covered));
  chain.discarded_blocks = uncovered - kept;
  return chain;
}

}  // namespace nvmdb::wal
