#include "tests/support/line_model.h"

#include <algorithm>
#include <cstring>

#include "storage/base/check.h"
#include "storage/base/narrow.h"

namespace nvmdb::test {
namespace {

/// More non-temporal units than this in one line share choice bits.
constexpr std::uint32_t kNontemporalBitsMax = 40;

/// One cached store's units in a line: [first, end) of the cached units.
struct CachedStore {
  std::uint64_t event = 0;
  std::uint32_t units = 0;
};

struct LineShape {
  std::vector<CachedStore> cached;
  std::uint32_t nontemporal = 0;

  /// Choices of the cached part: nothing, and for each store each non-empty subset of it on top of all before
  /// it.
  [[nodiscard]] std::uint64_t cached_choices() const {
    std::uint64_t count = 1;
    for (const CachedStore& store : cached) count += (std::uint64_t{1} << store.units) - 1;
    return count;
  }
  [[nodiscard]] std::uint32_t nontemporal_bits() const { return std::min(nontemporal, kNontemporalBitsMax); }
};

LineShape shape_of(const std::vector<StoreUnit>& units) {
  LineShape shape;
  for (const StoreUnit& unit : units) {
    if (unit.nontemporal) {
      ++shape.nontemporal;
    } else if (!shape.cached.empty() && shape.cached.back().event == unit.event) {
      ++shape.cached.back().units;
    } else {
      shape.cached.push_back({unit.event, 1});
    }
  }
  return shape;
}

/// A choice of the cached part as: whole stores, then a subset of the next one.
struct CachedPrefix {
  std::uint32_t stores = 0;
  std::uint64_t subset = 0;
};

CachedPrefix decode_prefix(const LineShape& shape, std::uint64_t choice) {
  CachedPrefix prefix;
  if (choice == 0) return prefix;
  --choice;
  for (const CachedStore& store : shape.cached) {
    const std::uint64_t subsets = (std::uint64_t{1} << store.units) - 1;
    if (choice < subsets) {
      prefix.subset = choice + 1;
      return prefix;
    }
    choice -= subsets;
    ++prefix.stores;
  }
  NVMDB_CHECK(false, "choice outside the line's choices");
}

}  // namespace

std::uint64_t PendingLine::choices() const {
  const LineShape shape = shape_of(units);
  return shape.cached_choices() << shape.nontemporal_bits();
}

void PendingLine::apply(std::uint64_t choice, std::array<std::uint64_t, 8>& words) const {
  const LineShape shape = shape_of(units);
  const CachedPrefix prefix = decode_prefix(shape, choice >> shape.nontemporal_bits());
  std::uint32_t nontemporal_seen = 0;
  std::uint32_t store = 0;
  std::uint32_t unit_of_store = 0;
  for (const StoreUnit& unit : units) {
    bool kept = false;
    if (unit.nontemporal) {
      kept = (choice >> (nontemporal_seen++ % kNontemporalBitsMax) & 1U) != 0;
    } else {
      kept = store < prefix.stores || (store == prefix.stores && (prefix.subset >> unit_of_store & 1U) != 0);
      if (++unit_of_store == shape.cached[store].units) {
        ++store;
        unit_of_store = 0;
      }
    }
    if (kept) words[unit.word] = (words[unit.word] & ~unit.mask) | (unit.value & unit.mask);
  }
}

std::uint64_t PendingLine::choice_before(std::uint64_t event) const {
  const LineShape shape = shape_of(units);
  std::uint64_t cached = 0;
  for (const CachedStore& store : shape.cached) {
    if (store.event < event) cached += (std::uint64_t{1} << store.units) - 1;
  }
  std::uint64_t nontemporal = 0;
  std::uint32_t seen = 0;
  for (const StoreUnit& unit : units) {
    if (!unit.nontemporal) continue;
    if (unit.event < event) nontemporal |= std::uint64_t{1} << (seen % kNontemporalBitsMax);
    ++seen;
  }
  return cached << shape.nontemporal_bits() | nontemporal;
}

void LineModel::step(const Recording& recording, std::uint64_t index, const Durable& durable) {
  const Event& event = recording.events[index];
  switch (event.kind) {
    case EventKind::Store:
    case EventKind::StoreNontemporal:
      store(recording, index);
      break;
    case EventKind::Flush:
      flush(event, index);
      break;
    case EventKind::Fence: {
      ThreadState& own = threads_[event.thread];
      if (own.flushed.empty() && own.nontemporal.empty()) ++useless_fences_;
      for (auto& [number, thread] : threads_) {
        if (fences_ == FenceModel::Global || number == event.thread) fence(thread, number, durable);
      }
      break;
    }
    case EventKind::Acknowledge:
    case EventKind::Phase:
      break;
  }
}

void LineModel::store(const Recording& recording, std::uint64_t index) {
  const Event& event = recording.events[index];
  const ByteSpan data = recording.bytes_of(event);
  const bool nontemporal = event.kind == EventKind::StoreNontemporal;
  const bool single_word = !nontemporal && event.bytes == 8 && event.offset % 8 == 0;
  for (std::uint64_t at = 0; at < event.bytes;) {
    const std::uint64_t place = event.offset + at;
    const std::uint64_t count = std::min(8 - place % 8, event.bytes - at);
    StoreUnit unit{.event = index, .thread = event.thread, .site = event.site};
    unit.word = static_cast<std::uint8_t>(place % kLineBytes / 8);
    unit.nontemporal = nontemporal;
    std::array<std::byte, 8> value{};
    std::array<std::byte, 8> mask{};
    std::memcpy(value.data() + place % 8, data.data() + at, count);
    std::fill_n(mask.begin() + place % 8, count, std::byte{0xff});
    std::memcpy(&unit.value, value.data(), 8);
    std::memcpy(&unit.mask, mask.data(), 8);
    const LineId id{event.area, place / kLineBytes};
    PendingLine& line = pending_[id];
    line.units.push_back(unit);
    line.single_words = line.single_words && single_word;
    if (nontemporal) threads_[event.thread].nontemporal[id] = true;
    at += count;
  }
}

void LineModel::flush(const Event& event, std::uint64_t index) {
  if (event.bytes == 0) return;
  ThreadState& thread = threads_[event.thread];
  const LineId first{event.area, event.offset / kLineBytes};
  const LineId last{event.area, (event.offset + event.bytes - 1) / kLineBytes};
  bool useful = false;
  for (auto line = pending_.lower_bound(first); line != pending_.end() && line->first <= last; ++line) {
    std::uint64_t& flushed_before = thread.flushed[line->first];
    useful = useful ||
             std::any_of(line->second.units.begin(), line->second.units.end(), [&](const StoreUnit& unit) {
               return !unit.nontemporal && unit.event >= flushed_before;
             });
    flushed_before = index;
  }
  if (!useful) ++useless_flushes_;
}

void LineModel::fence(ThreadState& thread, std::uint32_t thread_index, const Durable& durable) {
  for (const auto& [id, flushed_before] : thread.flushed) {
    const std::uint64_t limit = flushed_before;
    settle(
        id, [limit](const StoreUnit& unit) { return !unit.nontemporal && unit.event < limit; }, durable);
  }
  for (const auto& [id, present] : thread.nontemporal) {
    settle(
        id, [&](const StoreUnit& unit) { return unit.nontemporal && unit.thread == thread_index; }, durable);
  }
  thread.flushed.clear();
  thread.nontemporal.clear();
}

void LineModel::settle(LineId id, const std::function<bool(const StoreUnit&)>& is_durable,
                       const Durable& durable) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  std::vector<StoreUnit>& units = found->second.units;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (!is_durable(units[i])) continue;
    durable(id, units[i].word, units[i].value, units[i].mask);
    // What an older store wrote under a durable newer one can no longer show.
    for (std::size_t older = 0; older < i; ++older) {
      if (units[older].word == units[i].word) units[older].mask &= ~units[i].mask;
    }
  }
  std::erase_if(units, [&](const StoreUnit& unit) { return unit.mask == 0 || is_durable(unit); });
  if (units.empty()) pending_.erase(found);
}

}  // namespace nvmdb::test
