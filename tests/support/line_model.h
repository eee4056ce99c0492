#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "storage/base/random.h"
#include "tests/support/recorded_media.h"

namespace nvmdb::test {

inline constexpr std::uint64_t kLineBytes = 64;

/// Which fences make a flush durable. Global is wrong for real processors; it exists to show what it would
/// miss.
enum class FenceModel : unsigned char { PerThread, Global };

struct LineId {
  std::uint32_t area = 0;
  std::uint64_t line = 0;  ///< index of the 64-byte line in the area
  auto operator<=>(const LineId&) const = default;
};

/// The part of one store that falls into one aligned 8-byte word.
struct StoreUnit {
  std::uint64_t event = 0;  ///< index of the store in Recording::events
  std::uint64_t value = 0;
  std::uint64_t mask = 0;  ///< bits of the word that the store set
  std::uint32_t thread = 0;
  std::uint32_t site = 0;
  std::uint8_t word = 0;  ///< in the line
  bool nontemporal = false;
};

/// What a line may hold after a power cut: the durable words plus a choice among the units not yet known
/// durable.
///
/// Cached stores reach the media in order: any prefix of them. One copy() is not ordered in itself, so of the
/// store at the end of the prefix any subset of units may be there. Of non-temporal units any subset may be
/// there. A choice is a number below choices(): 0 is nothing, choices() - 1 is everything.
struct PendingLine {
  std::vector<StoreUnit> units;  ///< in the order of the stores

  [[nodiscard]] std::uint64_t choices() const;
  /// Applies the units of `choice` to the eight words.
  void apply(std::uint64_t choice, std::array<std::uint64_t, 8>& words) const;
  /// The choice that holds exactly the units stored before `event`.
  [[nodiscard]] std::uint64_t choice_before(std::uint64_t event) const;
  /// True when all units come from aligned 8-byte cached stores.
  [[nodiscard]] bool only_single_words() const { return single_words; }

  bool single_words = true;
};

/// Follows a recording event by event and knows at each point what is durable and what is not yet.
/// Source: the persistency model of x86 with CLWB, non-temporal stores and SFENCE: a fence waits for the
/// flushes and the non-temporal stores of its own thread only.
class LineModel {
 public:
  using Durable = std::function<void(LineId, std::uint8_t word, std::uint64_t value, std::uint64_t mask)>;

  explicit LineModel(FenceModel fences) : fences_(fences) {}

  /// Takes the next event; calls `durable` for each unit that it makes durable.
  void step(const Recording& recording, std::uint64_t index, const Durable& durable);
  /// Lines with units that a power cut may lose.
  [[nodiscard]] const std::map<LineId, PendingLine>& pending() const { return pending_; }
  /// Flushes so far of lines that held nothing to flush, or nothing new since the last flush of the same
  /// thread.
  [[nodiscard]] std::uint64_t useless_flushes() const { return useless_flushes_; }
  /// Fences so far with nothing for them to wait for.
  [[nodiscard]] std::uint64_t useless_fences() const { return useless_fences_; }

 private:
  struct ThreadState {
    std::map<LineId, std::uint64_t> flushed;  ///< line -> cached units before this event will be durable
    std::map<LineId, bool> nontemporal;
  };

  void store(const Recording& recording, std::uint64_t index);
  void flush(const Event& event, std::uint64_t index);
  void fence(ThreadState& thread, std::uint32_t thread_index, const Durable& durable);
  void settle(LineId id, const std::function<bool(const StoreUnit&)>& is_durable, const Durable& durable);

  FenceModel fences_;
  std::map<LineId, PendingLine> pending_;
  std::map<std::uint32_t, ThreadState> threads_;
  std::uint64_t useless_flushes_ = 0;
  std::uint64_t useless_fences_ = 0;
};

}  // namespace nvmdb::test
