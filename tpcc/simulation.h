#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/result.h"
#include "storage/device/device_model.h"
#include "tpcc/comparison.h"

namespace nvmdb::tpcc {

/// The machine that is simulated. Times in nanoseconds.
struct SimulatedMachine {
  std::string name;
  double processors = 2;
  /// Each further thread makes each transaction so much longer (caches, memory): the share of its time.
  double inflation_per_thread = 0;
  std::uint32_t log_writers = 1;
  double nvm_write_ns = 0;  ///< of a fence after non-temporal stores
  double nvm_thread_bytes_per_second = 1e10;
  double nvm_bytes_per_second = 1e10;  ///< of all log writers together
  double file_call_ns = 0;             ///< of a write and a data sync of a file on NVM, without its bytes
  double file_ns_per_byte = 0;
  double ssd_sync_ns = 0;
  double ssd_bytes_per_second = 1e9;
  double staging_ns_per_byte = 0;  ///< copying records into blocks and their checksums
  double volatile_extra_ns = 0;    ///< of a transaction whose rows are in memory-mode NVM
};

/// What a transaction of one configuration asks of the machine.
struct SimulatedService {
  double worker_ns = 0;      ///< in its worker, without group commits
  double background_ns = 0;  ///< in other threads
  double log_bytes = 0;
  double checkpoint_bytes = 0;
};

struct SimulatedPoint {
  double tps = 0;
  double latency_us_p50 = 0;
  double latency_us_p99 = 0;
};

/// Discrete events: workers that execute and wait, the records that wait for a group, group commits of one writer or of
/// several. `seed`: same seed, same outcome.
[[nodiscard]] SimulatedPoint simulate(Configuration configuration, std::uint32_t threads, const SimulatedMachine& machine,
                                      const SimulatedService& service, std::uint64_t seed = 1);

/// Times of this machine that the comparison does not give.
struct DeviceTimes {
  double file_call_ns = 0;
  double file_ns_per_byte = 0;
  double ssd_sync_ns = 0;
  double ssd_bytes_per_second = 0;
  double staging_ns_per_byte = 0;
  double nvm_ns_per_byte = 0;
};
/// Measures them on new pools in these directories. Errors: those of Pool::open().
[[nodiscard]] Result<DeviceTimes> measure_device_times(const std::filesystem::path& nvm, const std::filesystem::path& ssd);

struct SimulationRow {
  Configuration configuration = Configuration::Nvmdb;
  std::uint32_t threads = 1;
  SimulatedPoint point;
};

struct Simulation {
  /// This machine, simulated beside measured.
  struct Validation {
    Configuration configuration = Configuration::Nvmdb;
    std::uint32_t threads = 1;
    double simulated_tps = 0;
    double measured_tps = 0;  ///< of the best round: what others do on the machine only lowers it
  };
  std::vector<Validation> validation;
  std::vector<SimulationRow> rows;  ///< the server of the field's paper
  SimulatedMachine server;
  std::string source;  ///< of the device's figures
  double measured_inflation = 0;  ///< of this machine's second thread; used for this machine only
  double checkpointer_tps = 0;  ///< that one checkpointer thread keeps up with

  [[nodiscard]] double tps(Configuration configuration, std::uint32_t threads) const;
};

/// Simulates 1 to 64 threads on a server with two sockets of `device`, from what `measured` (1 and 2 threads) and `times`
/// say about this machine. Errors: InvalidArgument (a point is missing).
[[nodiscard]] Result<Simulation> simulate_server(const Comparison& measured, const DeviceTimes& times,
                                                 const storage::DevicePreset& device);

/// Tables, with the figures of the paper beside them, and what disagrees.
[[nodiscard]] std::string simulation_text(const Simulation& simulation);
[[nodiscard]] std::vector<PlotPanel> simulation_panels(const Simulation& simulation);

}  // namespace nvmdb::tpcc
