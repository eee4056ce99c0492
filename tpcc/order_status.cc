#include <cstring>

#include "tpcc/access.h"
#include "tpcc/transactions.h"

namespace nvmdb::tpcc {

Result<std::uint32_t> find_customer(engine::Transaction& transaction, const CustomerChoice& choice) {
  if (choice.c_id != 0) return choice.c_id;
  const index::Key key = customer_name_key(choice.w_id, choice.d_id, last_name(choice.last_name));
  const Result<ByteSpan> row = transaction.read(kCustomerByName, key);
  if (row.status().code() == Code::NotFound) return Status::corruption("no customer has the last name asked for");
  if (!row.is_ok()) return row.status();
  const std::size_t count = row->size() / sizeof(CustomerNumber);
  NVMDB_CHECK(count > 0, "a last name without customers");
  CustomerNumber number;
  std::memcpy(&number, row->data() + ((count + 1) / 2 - 1) * sizeof(number), sizeof(number));
  return std::uint32_t{number};
}

Status order_status(engine::Transaction& transaction, const OrderStatusInput& input, OrderStatusOutput& output) {
  const CustomerChoice& choice = input.customer;
  NVMDB_ASSIGN(output.c_id, find_customer(transaction, choice));
  const index::Key key = customer_key(choice.w_id, choice.d_id, output.c_id);
  NVMDB_ASSIGN(const auto customer, read_row<CustomerRow>(transaction, kCustomer, key));
  NVMDB_ASSIGN(const auto balance, read_row<CustomerBalanceRow>(transaction, kCustomerBalance, key));
  output.first = customer.first;
  output.middle = customer.middle;
  output.last = customer.last;
  output.balance = balance.balance;
  // The largest order number of the customer.
  output.o_id = 0;
  NVMDB_TRY(transaction.scan(
      kOrderByCustomer, order_by_customer_key(choice.w_id, choice.d_id, output.c_id, 0),
      order_by_customer_key(choice.w_id, choice.d_id, output.c_id, ~0U),
      [&](const index::Key& found, ByteSpan) {
        output.o_id = order_of_key(found);
        return false;
      },
      true));
  NVMDB_ASSIGN(output.order, read_row<OrderRow>(transaction, kOrder, order_key(choice.w_id, choice.d_id, output.o_id)));
  output.line_count = 0;
  return transaction.scan(kOrderLine, order_line_key(choice.w_id, choice.d_id, output.o_id, 0),
                          order_line_key(choice.w_id, choice.d_id, output.o_id, 255),
                          [&](const index::Key&, ByteSpan row) {
                            output.lines[output.line_count++] = row_of<OrderLineRow>(row);
                            return output.line_count < kLinesMax;
                          });
}

}  // namespace nvmdb::tpcc
