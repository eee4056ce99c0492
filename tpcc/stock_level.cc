#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "tpcc/access.h"
#include "tpcc/transactions.h"

namespace nvmdb::tpcc {

namespace {
constexpr std::uint32_t kOrdersLookedAt = 20;  // clause 2.8.2.2
constexpr std::size_t kLinesSeenMax = std::size_t{kOrdersLookedAt} * kLinesMax;
}  // namespace

Status stock_level(engine::Transaction& transaction, const StockLevelInput& input, StockLevelOutput& output) {
  NVMDB_ASSIGN(const auto next,
               read_row<DistrictNextRow>(transaction, kDistrictNext, district_key(input.w_id, input.d_id)));
  std::array<std::uint32_t, kLinesSeenMax> items;
  std::size_t count = 0;
  NVMDB_TRY(transaction.scan(kOrderLine, order_line_key(input.w_id, input.d_id, next.next_o_id - kOrdersLookedAt, 0),
                             order_line_key(input.w_id, input.d_id, next.next_o_id - 1, 255),
                             [&](const index::Key&, ByteSpan row) {
                               items[count++] = row_of<OrderLineRow>(row).i_id;
                               return count < kLinesSeenMax;
                             }));
  // Each item counts once.
  std::sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count));
  count = static_cast<std::size_t>(
      std::unique(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count)) - items.begin());
  std::array<index::Key, kLinesSeenMax> keys;
  std::array<engine::RecordRef, kLinesSeenMax> records;
  for (std::size_t i = 0; i < count; ++i) keys[i] = stock_key(input.w_id, items[i]);
  NVMDB_TRY(transaction.find(kStock, {keys.data(), count}, {records.data(), count}));
  output.low_stock = 0;
  for (std::size_t i = 0; i < count; ++i) {
    NVMDB_ASSIGN(const ByteSpan bytes,
                 transaction.read(records[i], offsetof(StockRow, quantity), sizeof(StockRow::quantity)));
    std::int32_t quantity;
    std::memcpy(&quantity, bytes.data(), sizeof(quantity));
    if (quantity < input.threshold) ++output.low_stock;
  }
  return Status::ok();
}

}  // namespace nvmdb::tpcc
