#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/table.h"
#include "index/key.h"
#include "storage/base/bytes.h"

/// Tables, rows and keys of TPC-C revision 5.11 ("the specification"; clause numbers are its own).
///
/// Rows are fixed layouts without padding; columns that are part of the primary key are in the key only. Money is in
/// cents. Texts are padded with zero bytes. Clause 1.4.4 allows vertical partitioning: warehouse, district and customer
/// are split into parts that different transactions write, so that they do not conflict.
namespace nvmdb::tpcc {

// Cardinalities, clause 1.2.1 and 4.3.3.1.
inline constexpr std::uint32_t kDistrictsPerWarehouse = 10;
inline constexpr std::uint32_t kCustomersPerDistrict = 3000;
inline constexpr std::uint32_t kOrdersPerDistrict = 3000;
inline constexpr std::uint32_t kItems = 100000;
inline constexpr std::uint32_t kFirstUndeliveredOrder = 2101;  ///< 2100 delivered, 900 new orders
inline constexpr std::uint32_t kLinesMin = 5;
inline constexpr std::uint32_t kLinesMax = 15;
/// A key holds a warehouse number in 16 bits.
inline constexpr std::uint32_t kWarehousesMax = 32767;

/// Table numbers; they do not meet those of the weather catalogue.
enum Table : engine::TableId {
  kWarehouse = 64,
  kWarehouseYtd,
  kDistrict,
  kDistrictYtd,
  kDistrictNext,
  kCustomer,
  kCustomerBalance,
  kCustomerData,
  kCustomerByName,
  kHistory,
  kOrder,
  kOrderByCustomer,
  kNewOrder,
  kOrderLine,
  kItem,
  kStock,
  kState,
};

/// All of them, for engine::Database::open().
[[nodiscard]] std::vector<engine::TableSpec> tables();

template <std::size_t Bytes>
using Text = std::array<char, Bytes>;

/// The characters before the padding.
template <std::size_t Bytes>
[[nodiscard]] std::string_view text_of(const Text<Bytes>& text) {
  return {text.data(), ::strnlen(text.data(), Bytes)};
}
template <std::size_t Bytes>
void set_text(Text<Bytes>& text, std::string_view from) {
  text.fill('\0');
  std::memcpy(text.data(), from.data(), from.size() < Bytes ? from.size() : Bytes);
}

/// Microseconds since 1970; 0 is null.
using DateTime = std::int64_t;
using Cents = std::int64_t;

// Clause 1.3.1 has the columns. Rates are in ten-thousandths.
#pragma pack(push, 1)

struct Address {
  Text<20> street_1, street_2, city;
  Text<2> state;
  Text<9> zip;
};

struct WarehouseRow {
  std::int32_t tax;  ///< signed numeric(4,4)
  Text<10> name;
  Address address;
};
struct WarehouseYtdRow {
  Cents ytd;  ///< signed numeric(12,2)
};

struct DistrictRow {
  std::int32_t tax;
  Text<10> name;
  Address address;
};
struct DistrictYtdRow {
  Cents ytd;
};
struct DistrictNextRow {
  std::uint32_t next_o_id;  ///< 10,000,000 unique ids
};

/// What no transaction changes.
struct CustomerRow {
  std::int32_t discount;  ///< signed numeric(4,4)
  Text<2> credit;         ///< "GC" or "BC"
  Text<16> last;
  Text<2> middle;
  Text<16> first;
  Address address;
  Text<16> phone;
  DateTime since;
  Cents credit_lim;  ///< signed numeric(12,2)
};
/// What Payment and Delivery change.
struct CustomerBalanceRow {
  Cents balance;  ///< signed numeric(12,2)
  std::uint32_t delivery_cnt;
  std::uint32_t payment_cnt;
  Cents ytd_payment;
};
struct CustomerDataRow {
  Text<500> data;
};

/// Index by (warehouse, district, last name): the numbers of the customers in ascending order of their first names.
/// The row is an array of these.
using CustomerNumber = std::uint16_t;

struct HistoryRow {
  std::uint32_t c_id;
  std::uint8_t c_d_id;
  std::uint16_t c_w_id;
  std::uint8_t d_id;
  std::uint16_t w_id;
  DateTime date;
  Cents amount;  ///< signed numeric(6,2)
  Text<24> data;
};

struct OrderRow {
  DateTime entry_d;
  std::uint32_t c_id;
  std::uint8_t ol_cnt;
  std::uint8_t all_local;
  std::uint8_t carrier_id;  ///< 0 is null
};

struct OrderLineRow {
  DateTime delivery_d;
  std::uint32_t i_id;
  std::uint16_t supply_w_id;
  std::uint8_t quantity;  ///< numeric(2)
  Cents amount;           ///< signed numeric(6,2)
  Text<24> dist_info;
};

struct ItemRow {
  Cents price;  ///< numeric(5,2)
  std::uint32_t im_id;
  Text<24> name;
  Text<50> data;
};

struct StockRow {
  std::int32_t quantity;     ///< signed numeric(4)
  std::uint32_t ytd;         ///< numeric(8)
  std::uint32_t order_cnt;   ///< numeric(4)
  std::uint32_t remote_cnt;  ///< numeric(4)
  std::array<Text<24>, kDistrictsPerWarehouse> dist;
  Text<50> data;
};
/// The part of StockRow that New-Order changes.
inline constexpr std::size_t kStockChangingBytes = offsetof(StockRow, dist);

/// How the database was loaded.
struct StateRow {
  std::uint32_t version;
  std::uint32_t warehouses;
  std::uint32_t c_last;  ///< constant C of NURand(255) for C_LAST at load time (clause 2.1.6.1)
  std::uint32_t reserved;
  std::uint64_t seed;
};

#pragma pack(pop)

inline constexpr std::uint32_t kStateVersion = 1;

static_assert(sizeof(Address) == 71 && sizeof(WarehouseRow) == 85 && sizeof(DistrictRow) == 85);
static_assert(sizeof(CustomerRow) == 143 && sizeof(CustomerBalanceRow) == 24 && sizeof(CustomerDataRow) == 500);
static_assert(sizeof(HistoryRow) == 50 && sizeof(OrderRow) == 15 && sizeof(OrderLineRow) == 47);
static_assert(sizeof(ItemRow) == 86 && sizeof(StockRow) == 306 && kStockChangingBytes == 16 && sizeof(StateRow) == 24);

template <class Row>
[[nodiscard]] ByteSpan bytes_of(const Row& row) {
  static_assert(std::is_trivially_copyable_v<Row>);
  return std::as_bytes(std::span<const Row, 1>(&row, 1));
}
/// The bytes of a row that was read; they are as many as the layout has (checked).
template <class Row>
[[nodiscard]] Row row_of(ByteSpan bytes) {
  static_assert(std::is_trivially_copyable_v<Row>);
  NVMDB_CHECK(bytes.size() == sizeof(Row), "a TPC-C row has another size than its layout");
  Row row;
  std::memcpy(&row, bytes.data(), sizeof(Row));
  return row;
}

// Keys. One word where it can be: warehouse 16 bits, district 4 or 8, customer 12, order 32, line 8.
[[nodiscard]] inline index::Key warehouse_key(std::uint32_t w) { return index::make_key(w); }
[[nodiscard]] inline index::Key district_key(std::uint32_t w, std::uint32_t d) {
  return index::make_key(std::uint64_t{w} << 8U | d);
}
[[nodiscard]] inline index::Key customer_key(std::uint32_t w, std::uint32_t d, std::uint32_t c) {
  return index::make_key(std::uint64_t{w} << 16U | std::uint64_t{d} << 12U | c);
}
[[nodiscard]] inline index::Key order_key(std::uint32_t w, std::uint32_t d, std::uint32_t o) {
  return index::make_key(std::uint64_t{w} << 40U | std::uint64_t{d} << 32U | o);
}
[[nodiscard]] inline index::Key order_by_customer_key(std::uint32_t w, std::uint32_t d, std::uint32_t c, std::uint32_t o) {
  return index::make_key(std::uint64_t{w} << 48U | std::uint64_t{d} << 44U | std::uint64_t{c} << 32U | o);
}
[[nodiscard]] inline index::Key order_line_key(std::uint32_t w, std::uint32_t d, std::uint32_t o, std::uint32_t line) {
  return index::make_key(std::uint64_t{w} << 48U | std::uint64_t{d} << 40U | std::uint64_t{o} << 8U | line);
}
[[nodiscard]] inline index::Key item_key(std::uint32_t i) { return index::make_key(i); }
[[nodiscard]] inline index::Key stock_key(std::uint32_t w, std::uint32_t i) {
  return index::make_key(std::uint64_t{w} << 32U | i);
}
/// History has no primary key (clause 1.3.1): rows are numbered per warehouse and writer.
[[nodiscard]] inline index::Key history_key(std::uint32_t w, std::uint32_t writer, std::uint64_t number) {
  return index::make_key(std::uint64_t{w} << 48U | std::uint64_t{writer} << 40U | number);
}
/// `last` is of letters A to Z, at most 16 (clause 4.3.2.3): five bits each keep the order.
[[nodiscard]] index::Key customer_name_key(std::uint32_t w, std::uint32_t d, std::string_view last);

[[nodiscard]] inline std::uint32_t order_of_key(const index::Key& key) {
  return static_cast<std::uint32_t>(key.words[0]);
}

}  // namespace nvmdb::tpcc
