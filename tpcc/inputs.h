#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "storage/base/random.h"
#include "tpcc/random.h"
#include "tpcc/schema.h"

/// What a user types in at a terminal, made at random as clauses 2.4.1 to 2.8.1 say.
namespace nvmdb::tpcc {

struct NewOrderInput {
  struct Line {
    std::uint32_t i_id = 0;
    std::uint32_t supply_w_id = 0;
    std::uint8_t quantity = 0;
  };
  std::uint32_t w_id = 0;
  std::uint32_t d_id = 0;
  std::uint32_t c_id = 0;
  DateTime entry_d = 0;
  std::uint32_t line_count = 0;
  bool all_local = true;
  bool rollback = false;  ///< the last item does not exist (clause 2.4.1.4)
  std::array<Line, kLinesMax> lines{};
};

/// A customer by number, or by the number of a last name (clause 4.3.2.3).
struct CustomerChoice {
  std::uint32_t w_id = 0;
  std::uint32_t d_id = 0;
  std::uint32_t c_id = 0;  ///< 0: by name
  std::uint32_t last_name = 0;
};

struct PaymentInput {
  std::uint32_t w_id = 0;
  std::uint32_t d_id = 0;
  CustomerChoice customer;
  Cents amount = 0;
  DateTime date = 0;
};

struct OrderStatusInput {
  CustomerChoice customer;
};

struct DeliveryInput {
  std::uint32_t w_id = 0;
  std::uint8_t carrier_id = 0;
  DateTime date = 0;
};

struct StockLevelInput {
  std::uint32_t w_id = 0;
  std::uint32_t d_id = 0;
  std::int32_t threshold = 0;
};

/// Makes inputs. Threads: one.
class InputSource {
 public:
  InputSource(std::uint64_t seed, std::uint32_t warehouses, const NonUniformConstants& constants)
      : random_(seed), warehouses_(warehouses), constants_(constants) {}

  [[nodiscard]] SeededRandom& random() { return random_; }

  // `w_id` is the home warehouse of the terminal.
  [[nodiscard]] NewOrderInput new_order(std::uint32_t w_id, DateTime now);
  [[nodiscard]] PaymentInput payment(std::uint32_t w_id, DateTime now);
  [[nodiscard]] OrderStatusInput order_status(std::uint32_t w_id);
  [[nodiscard]] DeliveryInput delivery(std::uint32_t w_id, DateTime now);
  [[nodiscard]] StockLevelInput stock_level(std::uint32_t w_id);

 private:
  [[nodiscard]] std::uint32_t random_district() { return uniform(random_, 1, kDistrictsPerWarehouse); }
  [[nodiscard]] std::uint32_t other_warehouse(std::uint32_t w_id);
  /// 60 % by last name; clauses 2.5.1.2 and 2.6.1.2.
  void choose_customer(CustomerChoice& choice);

  SeededRandom random_;
  const std::uint32_t warehouses_;
  const NonUniformConstants constants_;
};

}  // namespace nvmdb::tpcc
