#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "tpcc/access.h"
#include "tpcc/transactions.h"

namespace nvmdb::tpcc {

namespace {

/// Adds to the only column of a row.
template <class Row>
Status add_ytd(engine::Transaction& transaction, Table table, const index::Key& key, Cents amount) {
  engine::RecordRef record;
  Row row;
  NVMDB_TRY(find_row(transaction, table, key, record, row));
  row.ytd += amount;
  return transaction.patch(record, 0, bytes_of(row));
}

char* put_number(char* to, char* end, std::int64_t value) {
  to = std::to_chars(to, end, value).ptr;
  *to++ = ' ';
  return to;
}

/// Puts who paid what in front of the customer's data; what is pushed out at the end is lost.
/// Source: clause 2.5.2.2.
Status add_to_data(engine::Transaction& transaction, const PaymentInput& input, std::uint32_t c_id,
                   PaymentOutput& output) {
  const CustomerChoice& customer = input.customer;
  engine::RecordRef record;
  CustomerDataRow old;
  NVMDB_TRY(find_row(transaction, kCustomerData, customer_key(customer.w_id, customer.d_id, c_id), record, old));
  CustomerDataRow row;
  char* const begin = row.data.data();
  char* const end = begin + row.data.size();
  char* at = begin;
  for (const std::int64_t value : {std::int64_t{c_id}, std::int64_t{customer.d_id}, std::int64_t{customer.w_id},
                                   std::int64_t{input.d_id}, std::int64_t{input.w_id}, input.amount}) {
    at = put_number(at, end, value);
  }
  std::memcpy(at, old.data.data(), static_cast<std::size_t>(end - at));
  NVMDB_TRY(transaction.patch(record, 0, bytes_of(row)));
  std::memcpy(output.data.data(), begin, output.data.size());
  return Status::ok();
}

Status insert_history(engine::Transaction& transaction, const PaymentInput& input, const index::Key& key,
                      const PaymentOutput& output) {
  HistoryRow row{output.c_id,
                 static_cast<std::uint8_t>(input.customer.d_id),
                 static_cast<std::uint16_t>(input.customer.w_id),
                 static_cast<std::uint8_t>(input.d_id),
                 static_cast<std::uint16_t>(input.w_id),
                 input.date,
                 input.amount,
                 {}};
  // W_NAME and D_NAME with four spaces between; clause 2.5.2.2.
  const std::string_view w_name = text_of(output.warehouse.name);
  const std::string_view d_name = text_of(output.district.name);
  char* at = std::copy(w_name.begin(), w_name.end(), row.data.data());
  at = std::fill_n(at, 4, ' ');
  std::copy(d_name.begin(), d_name.end(), at);
  return transaction.insert(kHistory, key, bytes_of(row));
}

}  // namespace

Status payment(engine::Transaction& transaction, const PaymentInput& input, const index::Key& history,
               PaymentOutput& output) {
  const index::Key district = district_key(input.w_id, input.d_id);
  NVMDB_ASSIGN(output.warehouse, read_row<WarehouseRow>(transaction, kWarehouse, warehouse_key(input.w_id)));
  NVMDB_ASSIGN(output.district, read_row<DistrictRow>(transaction, kDistrict, district));
  NVMDB_ASSIGN(output.c_id, find_customer(transaction, input.customer));
  const index::Key customer = customer_key(input.customer.w_id, input.customer.d_id, output.c_id);
  NVMDB_ASSIGN(output.customer, read_row<CustomerRow>(transaction, kCustomer, customer));
  engine::RecordRef record;
  CustomerBalanceRow balance;
  NVMDB_TRY(find_row(transaction, kCustomerBalance, customer, record, balance));
  balance.balance -= input.amount;
  balance.ytd_payment += input.amount;
  ++balance.payment_cnt;
  NVMDB_TRY(transaction.patch(record, 0, bytes_of(balance)));
  output.balance = balance.balance;
  if (text_of(output.customer.credit) == "BC") NVMDB_TRY(add_to_data(transaction, input, output.c_id, output));
  NVMDB_TRY(insert_history(transaction, input, history, output));
  // The rows that all payments of a warehouse meet in come last: they are held for the shortest time.
  NVMDB_TRY(add_ytd<DistrictYtdRow>(transaction, kDistrictYtd, district, input.amount));
  return add_ytd<WarehouseYtdRow>(transaction, kWarehouseYtd, warehouse_key(input.w_id), input.amount);
}

}  // namespace nvmdb::tpcc
