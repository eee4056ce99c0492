#include "tpcc/consistency_facts.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "tpcc/access.h"

namespace nvmdb::tpcc {

namespace {

/// Orders of the load were in no stock row.
constexpr std::uint32_t kFirstRunOrder = kOrdersPerDistrict + 1;

struct OrderFacts {
  bool order = false;
  bool new_order = false;
  bool by_customer = false;
  std::uint8_t ol_cnt = 0;
  std::uint8_t carrier_id = 0;
  std::uint8_t all_local = 0;
  std::uint8_t lines = 0;
  std::uint8_t delivered_lines = 0;
  bool remote_line = false;
  std::uint32_t c_id = 0;
  Cents delivered_sum = 0;
};

class Collector {
 public:
  Collector(engine::Session& session, Facts& facts) : session_(session), facts_(facts) {}

  [[nodiscard]] Status collect() {
    for (std::uint32_t w = 1; w <= facts_.warehouses; ++w) NVMDB_TRY(collect_warehouse(w));
    for (std::uint32_t w = 1; w <= facts_.warehouses; ++w) {
      for (std::uint32_t d = 1; d <= kDistrictsPerWarehouse; ++d) NVMDB_TRY(collect_district(w, d));
    }
    return Status::ok();
  }

 private:
  using Visit = std::function<Status(const index::Key&, ByteSpan)>;

  /// One transaction per range: nobody writes, and sets stay small. Goes on behind the last row where a record was busy.
  [[nodiscard]] Status scan(Table table, const index::Key& low, const index::Key& high, const Visit& visit) {
    std::optional<index::Key> last;
    Status failure;
    NVMDB_TRY(read_patiently([&] {
      engine::Transaction transaction = session_.begin();
      return transaction.scan(table, last ? *last : low, high, [&](const index::Key& key, ByteSpan row) {
        if (last && key == *last) return true;
        last = key;
        failure = visit(key, row);
        return failure.is_ok();
      });
    }));
    return failure;
  }
  template <class Row>
  [[nodiscard]] Result<Row> read(Table table, const index::Key& key) {
    return read_patiently([&] {
      engine::Transaction transaction = session_.begin();
      return read_row<Row>(transaction, table, key);
    });
  }
  [[nodiscard]] static Status impossible(const char* what, const index::Key& key) {
    return Status::corruption(std::string("TPC-C: ") + what + " of key " + key.to_string() + " cannot be");
  }

  [[nodiscard]] Status collect_warehouse(std::uint32_t w) {
    NVMDB_ASSIGN(const auto ytd, read<WarehouseYtdRow>(kWarehouseYtd, warehouse_key(w)));
    facts_.warehouse_ytd[w - 1] = ytd.ytd;
    NVMDB_TRY(scan(kStock, stock_key(w, 0), stock_key(w, ~0U), [&](const index::Key& key, ByteSpan bytes) {
      const auto row = row_of<StockRow>(bytes);
      const auto item = static_cast<std::uint32_t>(key.words[0]);
      if (item == 0 || item > kItems) return impossible("stock", key);
      StockFacts& stock = facts_.stock(w, item);
      stock.quantity = row.quantity;
      stock.ytd = row.ytd;
      stock.order_cnt = row.order_cnt;
      stock.remote_cnt = row.remote_cnt;
      return Status::ok();
    }));
    return scan(kHistory, history_key(w, 0, 0), history_key(w, 255, (1ULL << 40U) - 1),
                [&](const index::Key& key, ByteSpan bytes) {
                  const auto row = row_of<HistoryRow>(bytes);
                  if (!is_customer(row.c_w_id, row.c_d_id, row.c_id) || row.d_id == 0 ||
                      row.d_id > kDistrictsPerWarehouse || row.w_id != w) {
                    return impossible("history", key);
                  }
                  facts_.district(w, row.d_id).history_sum += row.amount;
                  CustomerFacts& customer = facts_.customer(row.c_w_id, row.c_d_id, row.c_id);
                  customer.history_sum += row.amount;
                  ++customer.history_count;
                  return Status::ok();
                });
  }
  [[nodiscard]] bool is_customer(std::uint32_t w, std::uint32_t d, std::uint32_t c) const {
    return w >= 1 && w <= facts_.warehouses && d >= 1 && d <= kDistrictsPerWarehouse && c >= 1 &&
           c <= kCustomersPerDistrict;
  }

  [[nodiscard]] Status collect_district(std::uint32_t w, std::uint32_t d) {
    DistrictFacts& district = facts_.district(w, d);
    NVMDB_ASSIGN(const auto ytd, read<DistrictYtdRow>(kDistrictYtd, district_key(w, d)));
    NVMDB_ASSIGN(const auto next, read<DistrictNextRow>(kDistrictNext, district_key(w, d)));
    district.ytd = ytd.ytd;
    district.next_o_id = next.next_o_id;
    NVMDB_TRY(scan(kCustomerBalance, customer_key(w, d, 1), customer_key(w, d, kCustomersPerDistrict),
                   [&](const index::Key& key, ByteSpan bytes) {
                     const auto row = row_of<CustomerBalanceRow>(bytes);
                     CustomerFacts& customer = facts_.customer(w, d, static_cast<std::uint32_t>(key.words[0] & 0xfffU));
                     customer.balance = row.balance;
                     customer.ytd_payment = row.ytd_payment;
                     customer.payment_cnt = row.payment_cnt;
                     customer.delivery_cnt = row.delivery_cnt;
                     district.delivery_cnt_sum += row.delivery_cnt;
                     return Status::ok();
                   }));
    orders_.clear();
    NVMDB_TRY(collect_orders(w, d, district));
    NVMDB_TRY(collect_lines(w, d, district));
    judge_orders(w, d);
    return Status::ok();
  }

  /// Orders have numbers without gaps: what is far beyond the next number is damage, not data.
  [[nodiscard]] OrderFacts* order(std::uint32_t o) {
    constexpr std::uint32_t kNumbersMax = 200'000'000;
    if (o == 0 || o > kNumbersMax) return nullptr;
    if (orders_.size() <= o) orders_.resize(std::size_t{o} + 1);
    return &orders_[o];
  }

  [[nodiscard]] Status collect_orders(std::uint32_t w, std::uint32_t d, DistrictFacts& district) {
    const index::Key low = order_key(w, d, 0);
    const index::Key high = order_key(w, d, ~0U);
    NVMDB_TRY(scan(kOrder, low, high, [&](const index::Key& key, ByteSpan bytes) {
      const auto row = row_of<OrderRow>(bytes);
      OrderFacts* facts = order(order_of_key(key));
      if (facts == nullptr || !is_customer(w, d, row.c_id)) return impossible("order", key);
      facts->order = true;
      facts->ol_cnt = row.ol_cnt;
      facts->carrier_id = row.carrier_id;
      facts->all_local = row.all_local;
      facts->c_id = row.c_id;
      ++district.order_count;
      district.order_max = std::max<std::uint64_t>(district.order_max, order_of_key(key));
      district.ol_cnt_sum += row.ol_cnt;
      return Status::ok();
    }));
    NVMDB_TRY(scan(kNewOrder, low, high, [&](const index::Key& key, ByteSpan) {
      OrderFacts* facts = order(order_of_key(key));
      if (facts == nullptr) return impossible("new order", key);
      facts->new_order = true;
      if (district.new_order_count++ == 0) district.new_order_min = order_of_key(key);
      district.new_order_max = order_of_key(key);
      return Status::ok();
    }));
    return scan(kOrderByCustomer, order_by_customer_key(w, d, 0, 0), order_by_customer_key(w, d, 0xfff, ~0U),
                [&](const index::Key& key, ByteSpan) {
                  OrderFacts* facts = order(order_of_key(key));
                  if (facts == nullptr) return impossible("order by customer", key);
                  // Twice, or of another customer: then the order counts as one that is not in the index.
                  facts->by_customer = !facts->by_customer && facts->c_id == ((key.words[0] >> 32U) & 0xfffU);
                  return Status::ok();
                });
  }

  [[nodiscard]] Status collect_lines(std::uint32_t w, std::uint32_t d, DistrictFacts& district) {
    return scan(kOrderLine, order_line_key(w, d, 0, 0), order_line_key(w, d, ~0U, 255),
                [&](const index::Key& key, ByteSpan bytes) {
                  const auto row = row_of<OrderLineRow>(bytes);
                  const auto o = static_cast<std::uint32_t>(key.words[0] >> 8U);
                  OrderFacts* facts = order(o);
                  if (facts == nullptr || row.i_id == 0 || row.i_id > kItems || row.supply_w_id == 0 ||
                      row.supply_w_id > facts_.warehouses) {
                    return impossible("order line", key);
                  }
                  ++facts->lines;
                  ++district.line_count;
                  if (row.supply_w_id != w) facts->remote_line = true;
                  if (row.delivery_d != 0) {
                    ++facts->delivered_lines;
                    facts->delivered_sum += row.amount;
                  }
                  if (o < kFirstRunOrder) return Status::ok();
                  StockFacts& stock = facts_.stock(row.supply_w_id, row.i_id);
                  stock.line_quantity += row.quantity;
                  ++stock.line_count;
                  if (row.supply_w_id != w) ++stock.line_remote;
                  return Status::ok();
                });
  }

  void judge_orders(std::uint32_t w, std::uint32_t d) {
    OrderTotals totals;
    totals.district = Facts::district_index(w, d) + 1;
    for (std::uint32_t o = 1; o < orders_.size(); ++o) {
      const OrderFacts& order = orders_[o];
      if (!order.order || !order.by_customer) {
        ++totals.orphans;
        if (!order.order) continue;
      }
      if ((order.carrier_id == 0) != order.new_order) ++totals.carrier_wrong;
      if (order.ol_cnt != order.lines) ++totals.count_wrong;
      if (order.delivered_lines != (order.carrier_id == 0 ? 0 : order.lines)) ++totals.delivery_wrong;
      if ((order.all_local == 0) != order.remote_line) ++totals.all_local_wrong;
      CustomerFacts& customer = facts_.customer(w, d, order.c_id);
      customer.delivered_sum += order.delivered_sum;
      if (order.carrier_id != 0 && o >= kFirstUndeliveredOrder) ++customer.delivered_count;
    }
    facts_.orders.push_back(totals);
  }

  engine::Session& session_;
  Facts& facts_;
  std::vector<OrderFacts> orders_;
};

}  // namespace

Result<Facts> collect_facts(engine::Database& database, std::uint32_t warehouses) {
  Facts facts;
  facts.warehouses = warehouses;
  facts.warehouse_ytd.resize(warehouses);
  facts.districts.resize(std::size_t{warehouses} * kDistrictsPerWarehouse);
  facts.customers.resize(facts.districts.size() * kCustomersPerDistrict);
  facts.stocks.resize(std::size_t{warehouses} * kItems);
  NVMDB_ASSIGN(engine::Session session, database.session());
  Collector collector(session, facts);
  NVMDB_TRY(collector.collect());
  return facts;
}

}  // namespace nvmdb::tpcc
