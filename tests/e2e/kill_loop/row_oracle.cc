#include "tests/e2e/kill_loop/row_oracle.h"

#include <sys/mman.h>

#include <new>

#include "storage/base/check.h"

namespace nvmdb::test {

namespace {

void apply(const RowChange& change, RowState& row) {
  switch (change.action) {
    case RowChange::Action::Put:
      row = {change.stamp, change.stamp};
      break;
    case RowChange::Action::Patch:
      row.first = change.stamp;
      break;
    case RowChange::Action::Erase:
      row = {};
      break;
  }
}

std::string text(const RowState& row) {
  return "{" + std::to_string(row.first) + ", " + std::to_string(row.others) + "}";
}

}  // namespace

RowJournal* RowJournal::create() {
  void* memory = mmap(nullptr, sizeof(RowJournal), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  NVMDB_CHECK(memory != MAP_FAILED, "no memory for the journal");
  return new (memory) RowJournal();
}

std::vector<std::string> check_rows(RowJournal& journal, RowFindings& findings) {
  std::vector<std::string> wrong;
  std::uint32_t number = 0;
  for (RowJournal::Client& client : journal.clients) {
    const std::string who = "client " + std::to_string(number++);
    const std::uint64_t acknowledged = client.acknowledged.load();
    if (client.found_stamp < acknowledged) {
      ++findings.lost;
      wrong.push_back(who + ": transaction " + std::to_string(acknowledged) +
                      " was acknowledged, the last one there is " + std::to_string(client.found_stamp));
    }
    const std::uint64_t count = client.change_count.load();
    for (std::uint64_t i = 0; i < count && client.changes[i].stamp <= client.found_stamp; ++i) {
      if (i == 0 || client.changes[i].stamp != client.changes[i - 1].stamp) ++findings.transactions;
      apply(client.changes[i], client.known[client.changes[i].key]);
    }
    for (std::uint32_t key = 0; key < kRowKeys; ++key) {
      if (client.known[key] == client.found[key]) continue;
      ++findings.wrong;
      wrong.push_back(who + ", key " + std::to_string(key) + ": " + text(client.found[key]) + " is there, " +
                      text(client.known[key]) + " is right after transaction " +
                      std::to_string(client.found_stamp));
      client.known[key] = client.found[key];
    }
    // What was not there after recovery is gone for good: nothing that comes later may bring it back.
    client.change_count = 0;
    client.acknowledged = client.found_stamp;
  }
  return wrong;
}

}  // namespace nvmdb::test
