#include "tpcc/loader.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/mutex.h"
#include "tpcc/access.h"
#include "tpcc/random.h"

namespace nvmdb::tpcc {

namespace {

constexpr std::uint32_t kRowsPerTransaction = 256;
/// Checkpoints that a transaction waits for when memory, NVM or log space is used up.
constexpr std::uint32_t kReliefsMax = 6;
constexpr std::uint32_t kStockPerTask = 10000;
constexpr std::uint32_t kStockTasks = kItems / kStockPerTask;
/// The writer number of loaded HISTORY rows; workers have smaller ones.
constexpr std::uint32_t kLoaderWriter = 255;

/// One loading thread: inserts rows in transactions of many.
class Inserter {
 public:
  Inserter(engine::Database& database, engine::Session session, DateTime now)
      : database_(database), session_(std::move(session)), now_(now) {}

  [[nodiscard]] DateTime now() const { return now_; }
  [[nodiscard]] Status insert(Table table, const index::Key& key, ByteSpan row) {
    rows_.push_back({table, key, {row.begin(), row.end()}});
    return rows_.size() < kRowsPerTransaction ? Status::ok() : flush();
  }
  template <class Row>
  [[nodiscard]] Status insert(Table table, const index::Key& key, const Row& row) {
    return insert(table, key, bytes_of(row));
  }
  /// Commits what is left and waits until all is durable.
  [[nodiscard]] Status finish() {
    NVMDB_TRY(flush());
    return database_.wait_durable(last_);
  }

 private:
  struct PendingRow {
    Table table;
    index::Key key;
    Bytes row;
  };

  /// Neighbouring threads meet in leaves of the index: such conflicts are tried again.
  [[nodiscard]] Status flush() {
    for (std::uint32_t reliefs = 0;;) {
      const Status status = try_flush();
      if (status.is_ok()) rows_.clear();
      if (status.code() == Code::OutOfSpace && ++reliefs <= kReliefsMax && database_.make_room().is_ok()) continue;
      if (status.code() != Code::Conflict) return status;
    }
  }
  [[nodiscard]] Status try_flush() {
    engine::Transaction transaction = session_.begin();
    for (const PendingRow& row : rows_) NVMDB_TRY(transaction.insert(row.table, row.key, row.row));
    NVMDB_ASSIGN(last_, transaction.commit());
    return Status::ok();
  }

  engine::Database& database_;
  engine::Session session_;
  const DateTime now_;
  std::vector<PendingRow> rows_;
  engine::CommitReceipt last_{};
};

void fill_address(SeededRandom& random, Address& address) {
  random_text(random, address.street_1, 10, 20);
  random_text(random, address.street_2, 10, 20);
  random_text(random, address.city, 10, 20);
  random_text(random, address.state, 2, 2);
  random_zip(random, address.zip);
}

Status load_items(Inserter& out, SeededRandom& random) {
  for (std::uint32_t i = 1; i <= kItems; ++i) {
    ItemRow row{};
    row.im_id = uniform(random, 1, 10000);
    random_text(random, row.name, 14, 24);
    row.price = uniform(random, 100, 10000);
    random_data(random, row.data, random.below(10) == 0);
    NVMDB_TRY(out.insert(kItem, item_key(i), row));
  }
  return Status::ok();
}

Status load_warehouse(Inserter& out, SeededRandom& random, std::uint32_t w) {
  WarehouseRow row{};
  row.tax = static_cast<std::int32_t>(uniform(random, 0, 2000));
  random_text(random, row.name, 6, 10);
  fill_address(random, row.address);
  NVMDB_TRY(out.insert(kWarehouse, warehouse_key(w), row));
  return out.insert(kWarehouseYtd, warehouse_key(w), WarehouseYtdRow{30000000});
}

Status load_stock(Inserter& out, SeededRandom& random, std::uint32_t w, std::uint32_t first_item) {
  for (std::uint32_t i = first_item; i < first_item + kStockPerTask; ++i) {
    StockRow row{};
    row.quantity = static_cast<std::int32_t>(uniform(random, 10, 100));
    for (Text<24>& dist : row.dist) random_text(random, dist, 24, 24);
    random_data(random, row.data, random.below(10) == 0);
    NVMDB_TRY(out.insert(kStock, stock_key(w, i), row));
  }
  return Status::ok();
}

Status load_customer(Inserter& out, SeededRandom& random, std::uint32_t w, std::uint32_t d, std::uint32_t c,
                     const CustomerRow& customer) {
  NVMDB_TRY(out.insert(kCustomer, customer_key(w, d, c), customer));
  NVMDB_TRY(out.insert(kCustomerBalance, customer_key(w, d, c), CustomerBalanceRow{-1000, 0, 1, 1000}));
  CustomerDataRow data{};
  random_text(random, data.data, 300, 500);
  NVMDB_TRY(out.insert(kCustomerData, customer_key(w, d, c), data));
  HistoryRow history{c,           static_cast<std::uint8_t>(d),  static_cast<std::uint16_t>(w), static_cast<std::uint8_t>(d),
                     static_cast<std::uint16_t>(w), out.now(), 1000, {}};
  random_text(random, history.data, 12, 24);
  return out.insert(kHistory, history_key(w, kLoaderWriter, std::uint64_t{d} << 16U | c), history);
}

CustomerRow make_customer(SeededRandom& random, std::uint32_t c, std::uint32_t c_last, DateTime now) {
  CustomerRow row{};
  // Of the first thousand customers each has another name; clause 4.3.3.1.
  set_text(row.last, last_name(c <= 1000 ? c - 1 : non_uniform(random, 255, c_last, 0, 999)));
  set_text(row.middle, "OE");
  random_text(random, row.first, 8, 16);
  fill_address(random, row.address);
  random_digits(random, row.phone, 16, 16);
  row.since = now;
  set_text(row.credit, random.below(10) == 0 ? "BC" : "GC");
  row.credit_lim = 5000000;
  row.discount = static_cast<std::int32_t>(uniform(random, 0, 5000));
  return row;
}

Status load_customers(Inserter& out, SeededRandom& random, std::uint32_t w, std::uint32_t d, std::uint32_t c_last) {
  std::map<std::string, std::vector<std::pair<std::string, CustomerNumber>>> by_name;
  for (std::uint32_t c = 1; c <= kCustomersPerDistrict; ++c) {
    const CustomerRow customer = make_customer(random, c, c_last, out.now());
    by_name[std::string(text_of(customer.last))].emplace_back(text_of(customer.first), static_cast<CustomerNumber>(c));
    NVMDB_TRY(load_customer(out, random, w, d, c, customer));
  }
  for (auto& [last, customers] : by_name) {
    std::sort(customers.begin(), customers.end());
    std::vector<CustomerNumber> numbers;
    for (const auto& [first, number] : customers) numbers.push_back(number);
    NVMDB_TRY(out.insert(kCustomerByName, customer_name_key(w, d, last), std::as_bytes(std::span(numbers))));
  }
  return Status::ok();
}

Status load_order(Inserter& out, SeededRandom& random, std::uint32_t w, std::uint32_t d, std::uint32_t o, std::uint32_t c) {
  const bool delivered = o < kFirstUndeliveredOrder;
  OrderRow order{};
  order.c_id = c;
  order.entry_d = out.now();
  order.carrier_id = delivered ? static_cast<std::uint8_t>(uniform(random, 1, 10)) : std::uint8_t{0};
  order.ol_cnt = static_cast<std::uint8_t>(uniform(random, kLinesMin, kLinesMax));
  order.all_local = 1;
  NVMDB_TRY(out.insert(kOrder, order_key(w, d, o), order));
  NVMDB_TRY(out.insert(kOrderByCustomer, order_by_customer_key(w, d, c, o), ByteSpan{}));
  if (!delivered) NVMDB_TRY(out.insert(kNewOrder, order_key(w, d, o), ByteSpan{}));
  for (std::uint32_t line = 1; line <= order.ol_cnt; ++line) {
    OrderLineRow row{};
    row.i_id = uniform(random, 1, kItems);
    row.supply_w_id = static_cast<std::uint16_t>(w);
    row.delivery_d = delivered ? order.entry_d : 0;
    row.quantity = 5;
    row.amount = delivered ? 0 : uniform(random, 1, 999999);
    random_text(random, row.dist_info, 24, 24);
    NVMDB_TRY(out.insert(kOrderLine, order_line_key(w, d, o, line), row));
  }
  return Status::ok();
}

Status load_district(Inserter& out, SeededRandom& random, std::uint32_t w, std::uint32_t d, std::uint32_t c_last) {
  DistrictRow row{};
  row.tax = static_cast<std::int32_t>(uniform(random, 0, 2000));
  random_text(random, row.name, 6, 10);
  fill_address(random, row.address);
  NVMDB_TRY(out.insert(kDistrict, district_key(w, d), row));
  NVMDB_TRY(out.insert(kDistrictYtd, district_key(w, d), DistrictYtdRow{3000000}));
  NVMDB_TRY(out.insert(kDistrictNext, district_key(w, d), DistrictNextRow{kOrdersPerDistrict + 1}));
  NVMDB_TRY(load_customers(out, random, w, d, c_last));
  // Each customer has one order, in random order.
  std::vector<std::uint32_t> customers(kCustomersPerDistrict);
  std::iota(customers.begin(), customers.end(), 1);
  for (std::size_t i = customers.size(); i > 1; --i) std::swap(customers[i - 1], customers[random.below(i)]);
  for (std::uint32_t o = 1; o <= kOrdersPerDistrict; ++o) {
    NVMDB_TRY(load_order(out, random, w, d, o, customers[o - 1]));
  }
  return Status::ok();
}

constexpr std::uint32_t kTasksPerWarehouse = 1 + kStockTasks + kDistrictsPerWarehouse;

/// Task 0 is the items; then each warehouse: itself, stock, districts.
Status load_task(Inserter& out, std::uint64_t task, const StateRow& state) {
  SeededRandom random(state.seed * 1000003 + task);
  if (task == 0) return load_items(out, random);
  const auto w = static_cast<std::uint32_t>((task - 1) / kTasksPerWarehouse) + 1;
  const auto part = static_cast<std::uint32_t>((task - 1) % kTasksPerWarehouse);
  if (part == 0) return load_warehouse(out, random, w);
  if (part <= kStockTasks) return load_stock(out, random, w, (part - 1) * kStockPerTask + 1);
  return load_district(out, random, w, part - kStockTasks, state.c_last);
}

/// What the loading threads share.
struct LoadShared {
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> done{0};
  Mutex mutex;
  Status failure NVMDB_GUARDED_BY(mutex);
};

Status run_tasks(engine::Database& database, const LoadOptions& options, const StateRow& state, std::uint64_t total,
                 LoadShared& shared) {
  NVMDB_ASSIGN(engine::Session session, database.session());
  Inserter out(database, std::move(session), system_clock().wall_seconds() * 1'000'000);
  for (;;) {
    const std::uint64_t task = shared.next.fetch_add(1, std::memory_order_relaxed);
    if (task >= total) return out.finish();
    NVMDB_TRY(load_task(out, task, state));
    const std::uint64_t done = shared.done.fetch_add(1, std::memory_order_relaxed) + 1;
    if (options.progress) options.progress(done, total);
  }
}

}  // namespace

namespace {
Result<std::optional<StateRow>> read_state(engine::Session& session) {
  engine::Transaction transaction = session.begin();
  const Result<ByteSpan> row = transaction.read(kState, index::make_key(0));
  if (row.status().code() == Code::NotFound) return std::optional<StateRow>();
  if (!row.is_ok()) return row.status();
  if (row->size() != sizeof(StateRow) || row_of<StateRow>(*row).version != kStateVersion) {
    return Status::corruption("the pool's TPC-C tables are of another version of this program");
  }
  return std::optional<StateRow>(row_of<StateRow>(*row));
}
}  // namespace

Result<std::optional<StateRow>> loaded_state(engine::Database& database) {
  NVMDB_ASSIGN(engine::Session session, database.session());
  return read_patiently([&] { return read_state(session); });
}

Status load(engine::Database& database, const LoadOptions& options) {
  if (options.warehouses == 0 || options.warehouses > kWarehousesMax) {
    return Status::invalid_argument("TPC-C takes 1 to " + std::to_string(kWarehousesMax) + " warehouses, not " +
                                    std::to_string(options.warehouses));
  }
  if (database.statistics().rows != 0) return Status::conflict("the pool is not empty: load into a new one");
  SeededRandom random(options.seed);
  const StateRow state{kStateVersion, options.warehouses, NonUniformConstants::for_load(random).c_last, 0, options.seed};
  const std::uint64_t total = 1 + std::uint64_t{options.warehouses} * kTasksPerWarehouse;
  LoadShared shared;
  const auto work = [&] {
    Status status = run_tasks(database, options, state, total, shared);
    if (status.is_ok()) return;
    const MutexLock lock(shared.mutex);
    if (shared.failure.is_ok()) shared.failure = std::move(status);
    shared.next.store(total, std::memory_order_relaxed);
  };
  std::vector<std::thread> threads;
  for (std::uint32_t i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  {
    const MutexLock lock(shared.mutex);
    NVMDB_TRY(shared.failure);
  }
  return database.run_durable(
      [&](engine::Transaction& transaction) { return transaction.insert(kState, index::make_key(0), bytes_of(state)); });
}

std::uint64_t estimated_dram_bytes(std::uint32_t warehouses) {
  return (std::uint64_t{160} * warehouses + 96) << 20U;
}

std::uint64_t raw_bytes(std::uint32_t warehouses) {
  // Columns of the key as the specification's sizes have them: 4 bytes each, 2 for districts and lines.
  const std::uint64_t customers = std::uint64_t{kDistrictsPerWarehouse} * kCustomersPerDistrict;
  const std::uint64_t lines = customers * 10;
  const std::uint64_t per_warehouse =
      (sizeof(WarehouseRow) + sizeof(WarehouseYtdRow) + 4) +
      kDistrictsPerWarehouse * (sizeof(DistrictRow) + sizeof(DistrictYtdRow) + sizeof(DistrictNextRow) + 6) +
      customers * (sizeof(CustomerRow) + sizeof(CustomerBalanceRow) + sizeof(CustomerDataRow) + 10) +
      customers * sizeof(HistoryRow) + customers * (sizeof(OrderRow) + 10) + customers * 3 / 10 * 10 +
      lines * (sizeof(OrderLineRow) + 12) + kItems * (sizeof(StockRow) + 8);
  return kItems * (sizeof(ItemRow) + 4) + per_warehouse * warehouses;
}

std::uint64_t raw_order_bytes(std::uint32_t lines) {
  return sizeof(OrderRow) + 10 + 10 + lines * (sizeof(OrderLineRow) + 12);
}

}  // namespace nvmdb::tpcc
