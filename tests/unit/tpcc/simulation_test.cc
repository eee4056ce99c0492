#include "tpcc/simulation.h"

#include <gtest/gtest.h>

namespace nvmdb::tpcc {
namespace {

SimulatedMachine quick_machine() {
  SimulatedMachine machine;
  machine.processors = 96;
  machine.log_writers = 8;
  machine.nvm_thread_bytes_per_second = 1e12;
  machine.nvm_bytes_per_second = 1e12;
  machine.ssd_sync_ns = 100'000;
  machine.ssd_bytes_per_second = 1e9;
  return machine;
}

SimulatedService service_of(double worker_ns) {
  SimulatedService service;
  service.worker_ns = worker_ns;
  service.log_bytes = 650;
  return service;
}

// One worker that waits for nobody: the rate is the inverse of its time.
TEST(TpccSimulation, OfOneWorkerIsItsOwnSpeed) {
  EXPECT_NEAR(simulate(Configuration::Nvmdb, 1, quick_machine(), service_of(10'000)).tps, 100'000, 3'000);
  EXPECT_NEAR(simulate(Configuration::MmdbNvm, 1, quick_machine(), service_of(10'000)).tps, 100'000, 3'000);
}

TEST(TpccSimulation, WorkersShareTheProcessors) {
  SimulatedMachine machine = quick_machine();
  machine.processors = 2;
  EXPECT_NEAR(simulate(Configuration::MmdbNvm, 8, machine, service_of(10'000)).tps, 200'000, 8'000);
}

// 1 GB/s of records of 650 bytes, less the fixed time of each sync.
TEST(TpccSimulation, OneLogWriterIsBoundByItsDevice) {
  const double bound = 1e9 / 650;
  const double tps = simulate(Configuration::MmdbSsd, 64, quick_machine(), service_of(10'000)).tps;
  EXPECT_LT(tps, bound);
  EXPECT_GT(tps, 0.6 * bound);
  EXPECT_GT(simulate(Configuration::Nvmdb, 64, quick_machine(), service_of(10'000)).tps, 2 * tps);
}

TEST(TpccSimulation, AGroupCommitIsSeenInTheLatency) {
  const SimulatedPoint nvm = simulate(Configuration::Nvmdb, 2, quick_machine(), service_of(10'000));
  EXPECT_GT(nvm.latency_us_p50, 10);
  EXPECT_LT(nvm.latency_us_p99, 300);
  const SimulatedPoint ssd = simulate(Configuration::MmdbSsd, 2, quick_machine(), service_of(10'000));
  EXPECT_GT(ssd.latency_us_p50, 100);
}

TEST(TpccSimulation, IsTheSameForTheSameSeed) {
  const auto run = [](std::uint64_t seed) {
    return simulate(Configuration::Nvmdb, 4, quick_machine(), service_of(9'000), seed).tps;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(TpccSimulation, NeedsMeasuredRunsAndSaysWhatIsSimulated) {
  Comparison measured;
  const auto preset = storage::find_preset("optane-6x128");
  EXPECT_EQ(simulate_server(measured, {}, *preset).status().code(), Code::InvalidArgument);
  for (const Configuration configuration : all_configurations()) {
    for (const std::uint32_t threads : {1U, 2U}) {
      ComparisonPoint point;
      point.configuration = configuration;
      point.threads = threads;
      point.tps = point.tps_max = 90'000.0 * threads;
      point.per_worker_cpu_second = 100'000;
      point.per_cpu_second = 90'000;
      point.log_bytes_per_transaction = 650;
      point.checkpoint_bytes_per_transaction = 400;
      measured.points.push_back(point);
    }
  }
  const DeviceTimes times{2000, 0.3, 100'000, 1e9, 0.2, 0.15};
  const auto simulation = simulate_server(measured, times, *preset);
  ASSERT_TRUE(simulation.is_ok());
  EXPECT_NE(simulation_text(*simulation).find("SIMULATED, not measured"), std::string::npos);
  EXPECT_GT(simulation->tps(Configuration::Nvmdb, 64), simulation->tps(Configuration::MmdbSsd, 64));
  EXPECT_GT(simulation->tps(Configuration::Nvmdb, 64), simulation->tps(Configuration::VolatileNvm, 64));
}

}  // namespace
}  // namespace nvmdb::tpcc
