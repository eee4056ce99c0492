#include "tpcc/consistency.h"

#include <algorithm>
#include <functional>
#include <set>

#include "tpcc/access.h"
#include "tpcc/consistency_facts.h"
#include "tpcc/loader.h"

namespace nvmdb::tpcc {

namespace {

/// Collects the outcome of one condition.
class Condition {
 public:
  Condition(CheckResult& result, const char* name, const char* what) : result_(result) {
    condition_.name = name;
    condition_.what = what;
  }
  ~Condition() { result_.conditions.push_back(std::move(condition_)); }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  /// `where`, `left` and `right` go into the message.
  void expect(bool holds, const char* where, std::uint64_t place, std::int64_t left, std::int64_t right) {
    ++condition_.checked;
    if (holds) return;
    if (condition_.violated++ == 0) {
      condition_.first_violation = std::string(where) + " " + std::to_string(place) + ": " + std::to_string(left) +
                                   " and " + std::to_string(right);
    }
  }
  void expect_equal(const char* where, std::uint64_t place, std::int64_t left, std::int64_t right) {
    expect(left == right, where, place, left, right);
  }

 private:
  CheckResult& result_;
  ConditionResult condition_;
};

std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

void check_warehouses(const Facts& facts, CheckResult& result) {
  Condition c1(result, "C1", "W_YTD is the sum of D_YTD");
  Condition c8(result, "C8", "W_YTD is the sum of H_AMOUNT");
  for (std::uint32_t w = 1; w <= facts.warehouses; ++w) {
    Cents districts = 0;
    Cents history = 0;
    for (std::uint32_t d = 1; d <= kDistrictsPerWarehouse; ++d) {
      districts += facts.district(w, d).ytd;
      history += facts.district(w, d).history_sum;
    }
    c1.expect_equal("warehouse", w, facts.warehouse_ytd[w - 1], districts);
    c8.expect_equal("warehouse", w, facts.warehouse_ytd[w - 1], history);
  }
}

void check_districts(const Facts& facts, CheckResult& result) {
  Condition c2(result, "C2", "D_NEXT_O_ID follows the highest O_ID and NO_O_ID");
  Condition c3(result, "C3", "NO_O_ID have no gap");
  Condition c4(result, "C4", "sum of O_OL_CNT is the number of lines");
  Condition c9(result, "C9", "D_YTD is the sum of H_AMOUNT");
  Condition c11(result, "C11", "orders less new orders are 2100 and the deliveries");
  for (std::uint32_t i = 0; i < facts.districts.size(); ++i) {
    const DistrictFacts& district = facts.districts[i];
    const auto expect = [&](Condition& condition, std::int64_t left, std::int64_t right) {
      condition.expect_equal("district", i + 1, left, right);
    };
    expect(c2, number(district.next_o_id) - 1, number(district.order_max));
    if (district.new_order_count > 0) {
      expect(c2, number(district.next_o_id) - 1, number(district.new_order_max));
      expect(c3, number(district.new_order_max) - number(district.new_order_min) + 1, number(district.new_order_count));
    }
    expect(c4, number(district.ol_cnt_sum), number(district.line_count));
    expect(c9, district.ytd, district.history_sum);
    expect(c11, number(district.order_count) - number(district.new_order_count),
           number(kFirstUndeliveredOrder - 1 + district.delivery_cnt_sum));
  }
}

void check_orders(const Facts& facts, CheckResult& result) {
  Condition c5(result, "C5", "O_CARRIER_ID is null where there is a NEW-ORDER row");
  Condition c6(result, "C6", "O_OL_CNT is the number of lines of the order");
  Condition c7(result, "C7", "OL_DELIVERY_D is null where O_CARRIER_ID is");
  Condition e1(result, "E1", "orders have no gap, and no line, NEW-ORDER or index row is without its order");
  Condition e2(result, "E2", "O_ALL_LOCAL is 0 where a line has another warehouse");
  for (const OrderTotals& totals : facts.orders) {
    c5.expect(totals.carrier_wrong == 0, "district", totals.district, number(totals.carrier_wrong), 0);
    c6.expect(totals.count_wrong == 0, "district", totals.district, number(totals.count_wrong), 0);
    c7.expect(totals.delivery_wrong == 0, "district", totals.district, number(totals.delivery_wrong), 0);
    e1.expect(totals.orphans == 0, "district", totals.district, number(totals.orphans), 0);
    e2.expect(totals.all_local_wrong == 0, "district", totals.district, number(totals.all_local_wrong), 0);
  }
}

void check_customers(const Facts& facts, CheckResult& result) {
  Condition c10(result, "C10", "C_BALANCE is delivered amounts less payments");
  Condition c12(result, "C12", "C_BALANCE + C_YTD_PAYMENT is delivered amounts");
  Condition e3(result, "E3", "C_PAYMENT_CNT and C_DELIVERY_CNT count HISTORY rows and delivered orders");
  for (std::size_t i = 0; i < facts.customers.size(); ++i) {
    const CustomerFacts& customer = facts.customers[i];
    c10.expect_equal("customer", i, customer.balance, customer.delivered_sum - customer.history_sum);
    c12.expect_equal("customer", i, customer.balance + customer.ytd_payment, customer.delivered_sum);
    e3.expect_equal("customer", i, number(customer.payment_cnt), number(customer.history_count));
    e3.expect_equal("customer", i, number(customer.delivery_cnt), number(customer.delivered_count));
  }
}

void check_stock(const Facts& facts, CheckResult& result) {
  Condition e4(result, "E4", "S_YTD, S_ORDER_CNT and S_REMOTE_CNT are those of the lines");
  Condition e5(result, "E5", "S_QUANTITY is in its range");
  for (std::size_t i = 0; i < facts.stocks.size(); ++i) {
    const StockFacts& stock = facts.stocks[i];
    e4.expect_equal("stock", i, number(stock.ytd), number(stock.line_quantity));
    e4.expect_equal("stock", i, number(stock.order_cnt), number(stock.line_count));
    e4.expect_equal("stock", i, number(stock.remote_cnt), number(stock.line_remote));
    // At least 10 after each order: less is made up for by 91. At most 100 at load.
    e5.expect(stock.quantity >= 10 && stock.quantity <= 100, "stock", i, stock.quantity, 0);
  }
}

Result<bool> is_there(engine::Session& session, const Journal::Entry& entry) {
  engine::Transaction transaction = session.begin();
  const bool payment = entry.kind == Journal::Kind::Payment;
  const Result<ByteSpan> row = transaction.read(payment ? kHistory : kOrder, index::make_key(entry.key));
  if (row.status().code() == Code::NotFound) return false;
  if (!row.is_ok()) return row.status();
  return entry.kind != Journal::Kind::Delivery || row_of<OrderRow>(*row).carrier_id != 0;
}

/// Clause 3.5: what was acknowledged is there.
Status check_journal(engine::Database& database, const Journal& journal, CheckResult& result) {
  Condition e6(result, "E6", "acknowledged orders, payments and deliveries are there");
  NVMDB_ASSIGN(engine::Session session, database.session());
  for (std::uint32_t lane = 0; lane < journal.lanes(); ++lane) {
    for (const Journal::Entry& entry : journal.entries(lane)) {
      const Result<bool> there = read_patiently([&] { return is_there(session, entry); });
      if (!there.is_ok()) return there.status();
      e6.expect(*there, "key", entry.key, 0, 0);
    }
  }
  return Status::ok();
}

}  // namespace

bool CheckResult::passed() const {
  return std::all_of(conditions.begin(), conditions.end(), [](const auto& c) { return c.violated == 0; });
}

std::string CheckResult::first_violation() const {
  for (const ConditionResult& condition : conditions) {
    if (condition.violated != 0) return condition.name + " (" + condition.what + "): " + condition.first_violation;
  }
  return {};
}

Result<CheckResult> check_consistency(engine::Database& database, const Journal* journal) {
  NVMDB_ASSIGN(const std::optional<StateRow> state, loaded_state(database));
  if (!state) return Status::not_found("no TPC-C tables are loaded");
  NVMDB_ASSIGN(const Facts facts, collect_facts(database, state->warehouses));
  CheckResult result;
  check_warehouses(facts, result);
  check_districts(facts, result);
  check_orders(facts, result);
  check_customers(facts, result);
  check_stock(facts, result);
  if (journal != nullptr) NVMDB_TRY(check_journal(database, *journal, result));
  std::stable_sort(result.conditions.begin(), result.conditions.end(), [](const auto& a, const auto& b) {
    return std::make_pair(a.name[0], std::stoi(a.name.substr(1))) < std::make_pair(b.name[0], std::stoi(b.name.substr(1)));
  });
  return result;
}

}  // namespace nvmdb::tpcc
