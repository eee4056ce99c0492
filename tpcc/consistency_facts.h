#pragma once

#include <cstdint>
#include <vector>

#include "engine/database.h"
#include "storage/base/result.h"
#include "tpcc/schema.h"

/// What the consistency conditions compare, gathered in one pass over all rows.
namespace nvmdb::tpcc {

struct DistrictFacts {
  Cents ytd = 0;
  Cents history_sum = 0;
  std::uint64_t next_o_id = 0;
  std::uint64_t order_count = 0;
  std::uint64_t order_max = 0;
  std::uint64_t ol_cnt_sum = 0;
  std::uint64_t line_count = 0;
  std::uint64_t new_order_count = 0;
  std::uint64_t new_order_min = 0;
  std::uint64_t new_order_max = 0;
  std::uint64_t delivery_cnt_sum = 0;
};

/// Orders of a district that violate a condition.
struct OrderTotals {
  std::uint64_t district = 0;
  std::uint64_t carrier_wrong = 0;
  std::uint64_t count_wrong = 0;
  std::uint64_t delivery_wrong = 0;
  std::uint64_t orphans = 0;
  std::uint64_t all_local_wrong = 0;
};

struct CustomerFacts {
  Cents balance = 0;
  Cents ytd_payment = 0;
  Cents delivered_sum = 0;  ///< of OL_AMOUNT of delivered lines
  Cents history_sum = 0;
  std::uint32_t payment_cnt = 0;
  std::uint32_t delivery_cnt = 0;
  std::uint32_t history_count = 0;
  std::uint32_t delivered_count = 0;  ///< orders that were not delivered at load
};

struct StockFacts {
  std::int32_t quantity = 0;
  std::uint32_t ytd = 0;
  std::uint32_t order_cnt = 0;
  std::uint32_t remote_cnt = 0;
  // Of lines of orders that are not of the load:
  std::uint32_t line_quantity = 0;
  std::uint32_t line_count = 0;
  std::uint32_t line_remote = 0;
};

struct Facts {
  std::uint32_t warehouses = 0;
  std::vector<Cents> warehouse_ytd;
  std::vector<DistrictFacts> districts;
  std::vector<OrderTotals> orders;
  std::vector<CustomerFacts> customers;
  std::vector<StockFacts> stocks;

  [[nodiscard]] static std::size_t district_index(std::uint32_t w, std::uint32_t d) {
    return std::size_t{w - 1} * kDistrictsPerWarehouse + (d - 1);
  }
  [[nodiscard]] const DistrictFacts& district(std::uint32_t w, std::uint32_t d) const {
    return districts[district_index(w, d)];
  }
  [[nodiscard]] DistrictFacts& district(std::uint32_t w, std::uint32_t d) { return districts[district_index(w, d)]; }
  [[nodiscard]] CustomerFacts& customer(std::uint32_t w, std::uint32_t d, std::uint32_t c) {
    return customers[district_index(w, d) * kCustomersPerDistrict + (c - 1)];
  }
  [[nodiscard]] StockFacts& stock(std::uint32_t w, std::uint32_t i) { return stocks[std::size_t{w - 1} * kItems + (i - 1)]; }
};

/// Reads all tables. Errors: Corruption (a row that refers to what cannot be), those of reading.
[[nodiscard]] Result<Facts> collect_facts(engine::Database& database, std::uint32_t warehouses);

}  // namespace nvmdb::tpcc
