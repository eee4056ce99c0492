#include <array>
#include <cstddef>

#include "tpcc/access.h"
#include "tpcc/transactions.h"

namespace nvmdb::tpcc {

namespace {

/// Sets the delivery date of all lines and returns the sum of their amounts.
Result<Cents> deliver_lines(engine::Transaction& transaction, const DeliveryInput& input, std::uint32_t d_id,
                            std::uint32_t o_id, std::uint32_t count) {
  std::array<index::Key, kLinesMax> keys;
  std::array<engine::RecordRef, kLinesMax> records;
  for (std::uint32_t i = 0; i < count; ++i) keys[i] = order_line_key(input.w_id, d_id, o_id, i + 1);
  NVMDB_TRY(transaction.find(kOrderLine, {keys.data(), count}, {records.data(), count}));
  Cents sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    NVMDB_ASSIGN(const ByteSpan bytes, transaction.read(records[i]));
    sum += row_of<OrderLineRow>(bytes).amount;
    NVMDB_TRY(transaction.patch(records[i], offsetof(OrderLineRow, delivery_d), bytes_of(input.date)));
  }
  return sum;
}

/// Delivers the oldest order of a district that is due; 0 when there is none. `delivered`: no older one is.
Result<std::uint32_t> deliver_order(engine::Transaction& transaction, const DeliveryInput& input, std::uint32_t d_id,
                                    std::uint32_t delivered) {
  std::uint32_t o_id = 0;
  NVMDB_TRY(transaction.scan(kNewOrder, order_key(input.w_id, d_id, delivered + 1), order_key(input.w_id, d_id, ~0U),
                             [&](const index::Key& key, ByteSpan) {
                               o_id = order_of_key(key);
                               return false;
                             }));
  if (o_id == 0) return o_id;
  const index::Key key = order_key(input.w_id, d_id, o_id);
  NVMDB_TRY(transaction.erase(kNewOrder, key));
  engine::RecordRef order_record;
  OrderRow order;
  NVMDB_TRY(find_row(transaction, kOrder, key, order_record, order));
  NVMDB_TRY(transaction.patch(order_record, offsetof(OrderRow, carrier_id), bytes_of(input.carrier_id)));
  NVMDB_CHECK(order.ol_cnt <= kLinesMax, "an order has too many lines");
  NVMDB_ASSIGN(const Cents sum, deliver_lines(transaction, input, d_id, o_id, order.ol_cnt));
  engine::RecordRef record;
  CustomerBalanceRow customer;
  NVMDB_TRY(find_row(transaction, kCustomerBalance, customer_key(input.w_id, d_id, order.c_id), record, customer));
  customer.balance += sum;
  ++customer.delivery_cnt;
  NVMDB_TRY(transaction.patch(record, 0, bytes_of(customer).first(offsetof(CustomerBalanceRow, payment_cnt))));
  return o_id;
}

}  // namespace

Status delivery(engine::Transaction& transaction, const DeliveryInput& input, const DeliveredOrders& delivered,
                DeliveryOutput& output) {
  for (std::uint32_t d = 1; d <= kDistrictsPerWarehouse; ++d) {
    NVMDB_ASSIGN(output.o_id[d - 1], deliver_order(transaction, input, d, delivered[d - 1]));
  }
  return Status::ok();
}

}  // namespace nvmdb::tpcc
