#include "tpcc/inputs.h"

namespace nvmdb::tpcc {

namespace {
constexpr std::uint32_t kRemoteLinePercent = 1;      // clause 2.4.1.5 (2)
constexpr std::uint32_t kRollbackPercent = 1;        // clause 2.4.1.4
constexpr std::uint32_t kRemotePaymentPercent = 15;  // clause 2.5.1.2
constexpr std::uint32_t kByLastNamePercent = 60;     // clauses 2.5.1.2, 2.6.1.2
}  // namespace

std::uint32_t InputSource::other_warehouse(std::uint32_t w_id) {
  const std::uint32_t other = uniform(random_, 1, warehouses_ - 1);
  return other < w_id ? other : other + 1;
}

void InputSource::choose_customer(CustomerChoice& choice) {
  if (uniform(random_, 1, 100) <= kByLastNamePercent) {
    choice.last_name = non_uniform(random_, 255, constants_.c_last, 0, 999);
  } else {
    choice.c_id = non_uniform(random_, 1023, constants_.c_id, 1, kCustomersPerDistrict);
  }
}

NewOrderInput InputSource::new_order(std::uint32_t w_id, DateTime now) {
  NewOrderInput input;
  input.w_id = w_id;
  input.d_id = random_district();
  input.c_id = non_uniform(random_, 1023, constants_.c_id, 1, kCustomersPerDistrict);
  input.entry_d = now;
  input.line_count = uniform(random_, kLinesMin, kLinesMax);
  input.rollback = uniform(random_, 1, 100) <= kRollbackPercent;
  for (std::uint32_t i = 0; i < input.line_count; ++i) {
    NewOrderInput::Line& line = input.lines[i];
    line.i_id = non_uniform(random_, 8191, constants_.ol_i_id, 1, kItems);
    const bool remote = uniform(random_, 1, 100) <= kRemoteLinePercent && warehouses_ > 1;
    line.supply_w_id = remote ? other_warehouse(w_id) : w_id;
    if (remote) input.all_local = false;
    line.quantity = static_cast<std::uint8_t>(uniform(random_, 1, 10));
  }
  if (input.rollback) input.lines[input.line_count - 1].i_id = kItems + 1;
  return input;
}

PaymentInput InputSource::payment(std::uint32_t w_id, DateTime now) {
  PaymentInput input;
  input.w_id = w_id;
  input.d_id = random_district();
  input.date = now;
  const bool remote = uniform(random_, 1, 100) <= kRemotePaymentPercent && warehouses_ > 1;
  input.customer.w_id = remote ? other_warehouse(w_id) : w_id;
  input.customer.d_id = remote ? random_district() : input.d_id;
  choose_customer(input.customer);
  input.amount = uniform(random_, 100, 500000);
  return input;
}

OrderStatusInput InputSource::order_status(std::uint32_t w_id) {
  OrderStatusInput input;
  input.customer.w_id = w_id;
  input.customer.d_id = random_district();
  choose_customer(input.customer);
  return input;
}

DeliveryInput InputSource::delivery(std::uint32_t w_id, DateTime now) {
  return {w_id, static_cast<std::uint8_t>(uniform(random_, 1, 10)), now};
}

StockLevelInput InputSource::stock_level(std::uint32_t w_id) {
  return {w_id, random_district(), static_cast<std::int32_t>(uniform(random_, 10, 20))};
}

}  // namespace nvmdb::tpcc
