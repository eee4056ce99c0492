// Questions over gRPC on loopback, one connection, one caller: a series of 240 steps beside an empty unary
// call on the same server, and a slab stream; many stations in one call; and a short question while another client
// extracts in bulk. Server and client in one process; pool on /dev/shm.

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "engine/field_cache.h"
#include "nvmdb/v1/admin.grpc.pb.h"
#include "nvmdb/v1/query.grpc.pb.h"
#include "server/instance.h"
#include "server/listener.h"
#include "storage/base/random.h"
#include "tests/bench/bench_support.h"

namespace nvmdb::bench {
namespace {

constexpr int kSteps = 240;
constexpr int kCallsPerRound = 3000;
constexpr int kCallsPerTurn = 10;
constexpr int kSlabsPerRound = 20;
constexpr int kStations = 10'000;
constexpr int kParameters = 10;
constexpr int kStationSteps = 73;
constexpr int kCallsBeside = 1000;

void succeed(const grpc::Status& status) {
  NVMDB_CHECK(status.ok(), status.error_message());
}

v1::SeriesRequest series_request(SeededRandom& random) {
  v1::SeriesRequest request;
  request.add_selections()->set_parameter("t2");
  request.add_latitudes(random.unit() * 178 - 89);
  request.add_longitudes(random.unit() * 358 - 179);
  return request;
}

class Caller {
 public:
  explicit Caller(const std::string& address)
      : channel_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())),
        admin_(v1::Admin::NewStub(channel_)),
        query_(v1::Query::NewStub(channel_)) {}

  void ping() {
    grpc::ClientContext context;
    v1::PingResponse response;
    succeed(admin_->Ping(&context, v1::PingRequest(), &response));
  }
  void series(const v1::SeriesRequest& request) {
    grpc::ClientContext context;
    v1::SeriesResponse response;
    succeed(query_->Series(&context, request, &response));
    NVMDB_CHECK(response.series(0).values().size() == kSteps * sizeof(float), "a series of another length");
  }
  void one_series(const v1::SeriesRequest& request) {
    grpc::ClientContext context;
    v1::SeriesResponse response;
    succeed(query_->Series(&context, request, &response));
  }
  /// The whole field of a step; returns its bytes.
  std::size_t slab(int step) {
    v1::SlabRequest request;
    request.mutable_selection()->set_parameter("t2");
    request.mutable_selection()->mutable_step()->mutable_end()->set_seconds(step * 3600LL);
    request.mutable_selection()->mutable_step()->mutable_start()->set_seconds(step * 3600LL);
    grpc::ClientContext context;
    const auto reader = query_->Slab(&context, request);
    v1::SlabResponse response;
    std::size_t bytes = 0;
    while (reader->Read(&response)) bytes += response.chunk().data().size();
    succeed(reader->Finish());
    return bytes;
  }

  /// All steps of all selections at many points; returns the values that came.
  std::size_t points(const v1::SeriesRequest& request) {
    grpc::ClientContext context;
    const auto reader = query_->Points(&context, request);
    v1::PointsResponse response;
    std::size_t bytes = 0;
    while (reader->Read(&response)) bytes += response.chunk().data().size();
    succeed(reader->Finish());
    return bytes / sizeof(float);
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Admin::Stub> admin_;
  std::unique_ptr<v1::Query::Stub> query_;
};

v1::SeriesRequest station_request() {
  SeededRandom random(3);
  v1::SeriesRequest request;
  for (int p = 0; p < kParameters; ++p) request.add_selections()->set_parameter("p" + std::to_string(p));
  for (int i = 0; i < kStations; ++i) {
    request.add_latitudes(random.unit() * 178 - 89);
    request.add_longitudes(random.unit() * 358 - 179);
  }
  return request;
}

struct Latency {
  double p50_us = 0;
  double p99_us = 0;
};

/// How long single series take.
Latency series_latency(Caller& caller) {
  SeededRandom random(4);
  std::vector<double> each;
  for (int i = 0; i < kCallsBeside; ++i) {
    v1::SeriesRequest request = series_request(random);
    request.mutable_selections(0)->set_parameter("p0");
    each.push_back(seconds_of([&] { caller.one_series(request); }) * 1e6);
  }
  return {median(each), percentile(each, 0.99)};
}

std::string latency_words(const Latency& latency) {
  return text("p50 %.0f us, ", latency.p50_us) + text("p99 %.0f us", latency.p99_us);
}

/// Many stations in one call, and short questions beside them.
void run_stations() {
  server::InstanceOptions options;
  options.pool = "/dev/shm/nvmdb_grpc_bench_" + std::to_string(::getpid());
  options.create = true;
  options.nvm_bytes = 1100ULL << 20U;
  options.dram_bytes = 512ULL << 20U;
  {
    const auto instance = must(server::Instance::open(options));
    for (int p = 0; p < kParameters; ++p)
      store_global_run(instance->fields(), "p" + std::to_string(p), kStationSteps, 2);
    server::ListenerOptions listen;
    listen.listen = "127.0.0.1:0";
    const auto listener = must(server::Listener::start(*instance, listen));
    Caller caller(listener->address());
    const v1::SeriesRequest request = station_request();
    std::vector<double> seconds;
    for (int round = 0; round < kRounds; ++round) {
      seconds.push_back(seconds_of([&] {
        NVMDB_CHECK(caller.points(request) == std::size_t{kStations} * kParameters * kStationSteps, "values are missing");
      }));
    }
    print_row("points: 10,000 stations x 10 parameters x 73 steps", text("%.0f ms, ", median(seconds) * 1e3) +
                  text("%.0f million values/s", 7.3 / median(seconds)),
              "one call, one connection", "1.5 s", median(seconds) < 1.5);

    const Latency alone = series_latency(caller);
    std::atomic<bool> stop{false};
    std::atomic<int> extractions{0};
    std::thread bulk([&] {
      Caller other(listener->address());
      for (; !stop.load(); ++extractions) (void)other.points(request);
    });
    while (extractions.load() == 0) std::this_thread::yield();
    const Latency beside = series_latency(caller);
    stop.store(true);
    bulk.join();
    print_row("short series while another client extracts in bulk", latency_words(beside),
              "alone " + latency_words(alone) + text("; the client's reading takes a core of %.0f too",
                                                      static_cast<double>(std::thread::hardware_concurrency())),
              "none; shown", true);
  }
  std::filesystem::remove_all(options.pool);
}

void run() {
  print_machine("grpc: 240 x 1440 x 721 float32, pool on /dev/shm, one connection");
  server::InstanceOptions options;
  options.pool = "/dev/shm/nvmdb_grpc_bench_" + std::to_string(::getpid());
  options.create = true;
  options.nvm_bytes = 1400ULL << 20U;
  options.dram_bytes = 2ULL << 30U;  // the column of 1 GB fits into its share for copies
  {
    const auto instance = must(server::Instance::open(options));
    store_global_run(instance->fields(), "t2", kSteps);
    server::ListenerOptions listen;
    listen.listen = "127.0.0.1:0";
    const auto listener = must(server::Listener::start(*instance, listen));
    Caller caller(listener->address());
    SeededRandom random(1);
    std::vector<v1::SeriesRequest> requests;
    for (int i = 0; i < kCallsPerRound; ++i) requests.push_back(series_request(random));
    for (int i = 0; i < kCallsPerRound / 10; ++i) {
      caller.ping();
      caller.series(requests[static_cast<std::size_t>(i)]);
    }
    // The column is hot now: its copy for series is being made.
    instance->fields().cache().settle();

    std::vector<double> ping_us;
    std::vector<double> series_us;
    std::vector<double> slab_rates;
    for (int round = 0; round < kRounds; ++round) {
      // In small turns: the machine's mood changes within a round.
      double ping_seconds = 0;
      double series_seconds = 0;
      for (int first = 0; first < kCallsPerRound; first += kCallsPerTurn) {
        ping_seconds += seconds_of([&] {
          for (int i = 0; i < kCallsPerTurn; ++i) caller.ping();
        });
        series_seconds += seconds_of([&] {
          for (int i = 0; i < kCallsPerTurn; ++i)
            caller.series(requests[static_cast<std::size_t>(first + i)]);
        });
      }
      ping_us.push_back(ping_seconds / kCallsPerRound * 1e6);
      series_us.push_back(series_seconds / kCallsPerRound * 1e6);
      std::size_t bytes = 0;
      const double slab_seconds = seconds_of([&] {
        for (int i = 0; i < kSlabsPerRound; ++i) bytes += caller.slab(i);
      });
      slab_rates.push_back(static_cast<double>(bytes) / slab_seconds);
    }
    const double share = median(ping_us) / median(series_us);
    print_row("series of 240 steps over gRPC",
              text("%.0f us, ", median(series_us)) + text("%.0f a second", 1e6 / median(series_us)),
              text("empty call %.0f us: ", median(ping_us)) + text("%.0f %% of its rate", share * 100),
              "at least 80 % of the rate of an empty call", share >= 0.8);
    print_row("slab stream, whole 1440 x 721 field", text("%.2f GB/s", median(slab_rates) / 1e9),
              "loopback TCP, chunks of 1 MiB", "at least 1.2 GB/s", median(slab_rates) >= 1.2e9);
  }
  std::filesystem::remove_all(options.pool);
}

}  // namespace
}  // namespace nvmdb::bench

int main() {
  nvmdb::bench::run();
  nvmdb::bench::run_stations();
  return 0;
}
