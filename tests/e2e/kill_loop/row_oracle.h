#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace nvmdb::test {

constexpr std::uint32_t kRowClients = 4;
constexpr std::uint32_t kRowKeys = 150;  ///< of each client; no two clients share one

/// A row that is written whole holds its stamp in every word; a patch changes the first word only. 0: no row.
struct RowState {
  std::uint64_t first = 0;
  std::uint64_t others = 0;
  bool operator==(const RowState&) const = default;
};

/// A change that a client asked for, noted before the engine was told. All changes of one stamp are one
/// transaction.
struct RowChange {
  enum class Action : std::uint8_t { Put, Patch, Erase };
  std::uint64_t stamp = 0;
  std::uint32_t key = 0;
  Action action = Action::Put;
};

/// What the clients asked for and were told, and what a process found when it had recovered. In memory shared
/// by the engine's processes and their parent, so it outlives every kill.
struct RowJournal {
  static constexpr std::size_t kChangesMax = 1ULL << 16U;
  struct Client {
    std::uint64_t next_stamp = 1;
    std::atomic<std::uint64_t> acknowledged{0};  ///< stamp of the newest transaction that is durable
    std::atomic<std::uint64_t> change_count{0};  ///< since the last check
    RowChange changes[kChangesMax];
    RowState known[kRowKeys];  ///< at the last check
    RowState found[kRowKeys];  ///< by the process that runs now
    std::uint64_t found_stamp = 0;
  };
  Client clients[kRowClients];
  std::atomic<bool> found_all{false};  ///< `found` is there; set by the process
  std::atomic<bool> go_on{false};      ///< it was looked at; set by the parent
  std::atomic<std::uint64_t> commits{0};

  /// Removed with the process.
  [[nodiscard]] static RowJournal* create();
};

struct RowFindings {
  std::uint64_t transactions = 0;  ///< that were found
  std::uint64_t lost = 0;          ///< clients whose acknowledged transactions are not all there
  std::uint64_t wrong = 0;         ///< rows that no prefix of the client's transactions gives
};

/// Compares what was found with what the clients know: it must be the outcome of a prefix of each client's
/// transactions, which has all that were acknowledged. Then goes on from there. Says what is wrong.
[[nodiscard]] std::vector<std::string> check_rows(RowJournal& journal, RowFindings& findings);

}  // namespace nvmdb::test
