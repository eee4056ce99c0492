#pragma once

#include <array>
#include <cstdint>

#include "engine/transaction.h"
#include "storage/base/status.h"
#include "tpcc/inputs.h"
#include "tpcc/schema.h"

/// The five transactions: what they do to the database, and what the terminal shows.
///
/// Each runs inside a transaction that the caller commits, or runs again after a Conflict. Outputs are complete only when
/// the commit succeeded.
namespace nvmdb::tpcc {

struct NewOrderOutput {
  struct Line {
    Text<24> i_name;
    std::int32_t stock_quantity;
    char brand_generic;
    Cents i_price;
    Cents amount;
  };
  std::uint32_t o_id = 0;
  Text<16> c_last{};
  Text<2> c_credit{};
  std::int32_t c_discount = 0;
  std::int32_t w_tax = 0;
  std::int32_t d_tax = 0;
  Cents total = 0;  ///< after discount and taxes
  std::array<Line, kLinesMax> lines{};
};
/// Errors: NotFound when the input asks for a rollback (the item does not exist); Conflict.
/// Source: clause 2.4.2.
[[nodiscard]] Status new_order(engine::Transaction& transaction, const NewOrderInput& input, NewOrderOutput& output);

struct PaymentOutput {
  std::uint32_t c_id = 0;
  WarehouseRow warehouse{};
  DistrictRow district{};
  CustomerRow customer{};
  Cents balance = 0;
  Text<200> data{};  ///< of customers with bad credit
};
/// `history` is the key of the row to insert.
/// Source: clause 2.5.2.
[[nodiscard]] Status payment(engine::Transaction& transaction, const PaymentInput& input, const index::Key& history,
                             PaymentOutput& output);

struct OrderStatusOutput {
  std::uint32_t c_id = 0;
  Text<16> first{};
  Text<2> middle{};
  Text<16> last{};
  Cents balance = 0;
  std::uint32_t o_id = 0;
  OrderRow order{};
  std::uint32_t line_count = 0;
  std::array<OrderLineRow, kLinesMax> lines{};
};
/// Source: clause 2.6.2.
[[nodiscard]] Status order_status(engine::Transaction& transaction, const OrderStatusInput& input,
                                  OrderStatusOutput& output);

struct DeliveryOutput {
  /// Order delivered by district; 0 when none was due (a skipped delivery, clause 2.7.4.2).
  std::array<std::uint32_t, kDistrictsPerWarehouse> o_id{};
};
/// By district: the newest order that is known to be delivered, 0 when none is. A search for the oldest order begins behind
/// it: order numbers ascend, so nothing comes in below an order that was the oldest once.
using DeliveredOrders = std::array<std::uint32_t, kDistrictsPerWarehouse>;
/// `delivered` comes of deliveries of the warehouse that were committed.
/// Source: clause 2.7.4.
[[nodiscard]] Status delivery(engine::Transaction& transaction, const DeliveryInput& input,
                              const DeliveredOrders& delivered, DeliveryOutput& output);

struct StockLevelOutput {
  std::uint32_t low_stock = 0;
};
/// Source: clause 2.8.2.
[[nodiscard]] Status stock_level(engine::Transaction& transaction, const StockLevelInput& input,
                                 StockLevelOutput& output);

}  // namespace nvmdb::tpcc
