#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/database.h"
#include "storage/base/result.h"
#include "storage/nvm/pool.h"
#include "tpcc/driver.h"

namespace nvmdb::tpcc {

/// The databases that are compared: one engine, one binary, other places for tuples and log.
enum class Configuration : std::uint8_t {
  Nvmdb,        ///< tuples in DRAM and NVM, parallel group commit in NVM: the product
  MmdbSsd,      ///< classic main-memory database: tuples in DRAM, one log writer, a file on an SSD
  MmdbNvm,      ///< the same software, the file on NVM
  DramOnly,     ///< tuples in DRAM only, log as Nvmdb
  VolatileNvm,  ///< all tuples in the NVM used as memory, log as Nvmdb
};

[[nodiscard]] std::span<const Configuration> all_configurations();
/// "nvmdb", "mmdb-ssd", ...
[[nodiscard]] const char* configuration_name(Configuration configuration);
/// Errors: InvalidArgument (names those there are).
[[nodiscard]] Result<Configuration> find_configuration(std::string_view name);
/// Where tuples and log are, for people.
[[nodiscard]] const char* configuration_words(Configuration configuration);
/// A main-memory database with one log writer that writes a file.
[[nodiscard]] constexpr bool is_classic(Configuration configuration) {
  return configuration == Configuration::MmdbSsd || configuration == Configuration::MmdbNvm;
}

/// Sets what the configuration asks of the engine.
void configure(Configuration configuration, const storage::Pool& pool, engine::DatabaseOptions& options);
/// Sets who commits: with one log writer, workers leave it to that writer and go on with up to `kClassicGroup` commits
/// that are not durable yet.
void configure(Configuration configuration, RunOptions& options);

/// The pool as a classic database sees its log device: a file, made durable by writes and data syncs.
class SyncedMedia final : public storage::PoolMedia {
 public:
  /// `pool` must outlive this.
  explicit SyncedMedia(storage::Pool& pool);
  /// Writes zeros to all of a new pool, so that no sync has to change the file's metadata. Errors: IoError.
  [[nodiscard]] Status fill_with_zeros();

  [[nodiscard]] const storage::PoolIdentity& identity() const override { return pool_.identity(); }
  [[nodiscard]] const storage::DeviceProfile& device() const override { return pool_.device(); }
  [[nodiscard]] storage::Door& root_words() override { return pool_.root_words(); }
  [[nodiscard]] std::uint32_t region_count() const override { return pool_.region_count(); }
  [[nodiscard]] storage::Door& region(std::uint32_t index) override { return *regions_[index]; }

 private:
  storage::Pool& pool_;
  std::vector<std::unique_ptr<storage::Door>> regions_;
};

}  // namespace nvmdb::tpcc
