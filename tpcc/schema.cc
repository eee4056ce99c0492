#include "tpcc/schema.h"

#include "storage/base/check.h"

namespace nvmdb::tpcc {

std::vector<engine::TableSpec> tables() {
  return {{kWarehouse, "tpcc_warehouse", 1},
          {kWarehouseYtd, "tpcc_warehouse_ytd", 1},
          {kDistrict, "tpcc_district", 1},
          {kDistrictYtd, "tpcc_district_ytd", 1},
          {kDistrictNext, "tpcc_district_next", 1},
          {kCustomer, "tpcc_customer", 1},
          {kCustomerBalance, "tpcc_customer_balance", 1},
          {kCustomerData, "tpcc_customer_data", 1},
          {kCustomerByName, "tpcc_customer_by_name", 2},
          {kHistory, "tpcc_history", 1},
          {kOrder, "tpcc_order", 1},
          {kOrderByCustomer, "tpcc_order_by_customer", 1},
          {kNewOrder, "tpcc_new_order", 1},
          {kOrderLine, "tpcc_order_line", 1},
          {kItem, "tpcc_item", 1},
          {kStock, "tpcc_stock", 1},
          {kState, "tpcc_state", 1}};
}

index::Key customer_name_key(std::uint32_t w, std::uint32_t d, std::string_view last) {
  NVMDB_CHECK(last.size() <= 16, "a last name has at most 16 letters");
  // 24 bits of warehouse and district, then 8 letters; then 8 letters more.
  std::array<std::uint64_t, 2> words{std::uint64_t{w} << 8U | d, 0};
  for (std::size_t i = 0; i < 16; ++i) {
    const std::uint64_t letter = i < last.size() ? static_cast<std::uint64_t>(last[i] - 'A' + 1) : 0;
    NVMDB_CHECK(letter <= 26, "a last name is of letters A to Z");
    words[i / 8] = words[i / 8] << 5U | letter;
  }
  return index::make_key(words[0], words[1]);
}

}  // namespace nvmdb::tpcc
