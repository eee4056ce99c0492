#include <array>
#include <span>
#include <string_view>

#include "tpcc/access.h"
#include "tpcc/transactions.h"

namespace nvmdb::tpcc {

namespace {

using Line = NewOrderInput::Line;

/// Clause 2.4.2.2: taxes, discount and the number of the order.
Status start_order(engine::Transaction& transaction, const NewOrderInput& input, NewOrderOutput& output) {
  NVMDB_ASSIGN(const auto warehouse, read_row<WarehouseRow>(transaction, kWarehouse, warehouse_key(input.w_id)));
  const index::Key district = district_key(input.w_id, input.d_id);
  NVMDB_ASSIGN(const auto district_row, read_row<DistrictRow>(transaction, kDistrict, district));
  engine::RecordRef next;
  DistrictNextRow next_row;
  NVMDB_TRY(find_row(transaction, kDistrictNext, district, next, next_row));
  output.o_id = next_row.next_o_id++;
  NVMDB_TRY(transaction.patch(next, 0, bytes_of(next_row)));
  NVMDB_ASSIGN(const auto customer,
               read_row<CustomerRow>(transaction, kCustomer, customer_key(input.w_id, input.d_id, input.c_id)));
  output.w_tax = warehouse.tax;
  output.d_tax = district_row.tax;
  output.c_discount = customer.discount;
  output.c_last = customer.last;
  output.c_credit = customer.credit;
  return Status::ok();
}

Status insert_order(engine::Transaction& transaction, const NewOrderInput& input, std::uint32_t o_id) {
  const OrderRow order{input.entry_d, input.c_id, static_cast<std::uint8_t>(input.line_count),
                       static_cast<std::uint8_t>(input.all_local ? 1 : 0), 0};
  const index::Key key = order_key(input.w_id, input.d_id, o_id);
  NVMDB_TRY(transaction.insert(kOrder, key, bytes_of(order)));
  NVMDB_TRY(transaction.insert(kOrderByCustomer, order_by_customer_key(input.w_id, input.d_id, input.c_id, o_id), {}));
  return transaction.insert(kNewOrder, key, {});
}

/// Takes the quantity from the stock. Source: clause 2.4.2.2.
void take_from_stock(StockRow& stock, const NewOrderInput& input, const Line& line) {
  const std::int32_t quantity = line.quantity;
  stock.quantity -= quantity;
  if (stock.quantity < 10) stock.quantity += 91;
  stock.ytd += line.quantity;
  ++stock.order_cnt;
  if (line.supply_w_id != input.w_id) ++stock.remote_cnt;
}

bool is_original(const Text<50>& data) { return text_of(data).find("ORIGINAL") != std::string_view::npos; }

Status order_line(engine::Transaction& transaction, const NewOrderInput& input, std::uint32_t number,
                  const ItemRow& item, const engine::RecordRef& stock_record, NewOrderOutput& output) {
  const Line& line = input.lines[number];
  NVMDB_ASSIGN(const ByteSpan stock_bytes, transaction.read(stock_record));
  auto stock = row_of<StockRow>(stock_bytes);
  take_from_stock(stock, input, line);
  NVMDB_TRY(transaction.patch(stock_record, 0, bytes_of(stock).first(kStockChangingBytes)));
  const Cents amount = item.price * line.quantity;
  const OrderLineRow row{0,      line.i_id, static_cast<std::uint16_t>(line.supply_w_id), line.quantity,
                         amount, stock.dist[input.d_id - 1]};
  NVMDB_TRY(transaction.insert(kOrderLine, order_line_key(input.w_id, input.d_id, output.o_id, number + 1),
                               bytes_of(row)));
  const bool brand = is_original(item.data) && is_original(stock.data);
  output.lines[number] = {item.name, stock.quantity, brand ? 'B' : 'G', item.price, amount};
  output.total += amount;
  return Status::ok();
}

}  // namespace

Status new_order(engine::Transaction& transaction, const NewOrderInput& input, NewOrderOutput& output) {
  output.total = 0;
  std::array<index::Key, kLinesMax> keys;
  std::array<engine::RecordRef, kLinesMax> items;
  std::array<engine::RecordRef, kLinesMax> stocks;
  const std::uint32_t count = input.line_count;
  for (std::uint32_t i = 0; i < count; ++i) keys[i] = item_key(input.lines[i].i_id);
  NVMDB_TRY(transaction.find(kItem, {keys.data(), count}, {items.data(), count}));
  for (std::uint32_t i = 0; i < count; ++i) keys[i] = stock_key(input.lines[i].supply_w_id, input.lines[i].i_id);
  NVMDB_TRY(transaction.find(kStock, {keys.data(), count}, {stocks.data(), count}));
  NVMDB_TRY(start_order(transaction, input, output));
  NVMDB_TRY(insert_order(transaction, input, output.o_id));
  for (std::uint32_t i = 0; i < count; ++i) {
    // Not found: the item does not exist, and all is rolled back (clause 2.4.2.3).
    NVMDB_ASSIGN(const ByteSpan item, transaction.read(items[i]));
    NVMDB_TRY(order_line(transaction, input, i, row_of<ItemRow>(item), stocks[i], output));
  }
  const Cents discounted = output.total * (10000 - output.c_discount) / 10000;
  output.total = discounted * (10000 + output.w_tax + output.d_tax) / 10000;
  return Status::ok();
}

}  // namespace nvmdb::tpcc
