#include "tpcc/configuration.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace nvmdb::tpcc {

namespace {

struct Entry {
  Configuration configuration;
  const char* name;
  const char* words;
};
constexpr std::array<Entry, 5> kEntries{{
    {Configuration::Nvmdb, "nvmdb", "tuples in DRAM and NVM, parallel group commit in NVM"},
    {Configuration::MmdbSsd, "mmdb-ssd", "tuples in DRAM, one log writer, preallocated file on an SSD, group commit by data sync"},
    {Configuration::MmdbNvm, "mmdb-nvm", "tuples in DRAM, one log writer, preallocated file on NVM, group commit by data sync"},
    {Configuration::DramOnly, "dram-only", "tuples in DRAM only, parallel group commit in NVM"},
    {Configuration::VolatileNvm, "volatile-nvm", "all tuples in NVM used as memory, parallel group commit in NVM"},
}};

const Entry& entry_of(Configuration configuration) { return kEntries[static_cast<std::size_t>(configuration)]; }

/// Between two group commits of the classic log writer; the sync itself takes longer on an SSD, so groups grow by
/// themselves.
constexpr std::uint64_t kClassicIntervalUs = 20;
constexpr std::uint32_t kClassicGroup = 1024;
constexpr std::uint64_t kFillBytes = 8ULL << 20U;

}  // namespace

std::span<const Configuration> all_configurations() {
  static constexpr std::array<Configuration, kEntries.size()> kAll{Configuration::Nvmdb, Configuration::MmdbSsd,
                                                                   Configuration::MmdbNvm, Configuration::DramOnly,
                                                                   Configuration::VolatileNvm};
  return kAll;
}

const char* configuration_name(Configuration configuration) { return entry_of(configuration).name; }
const char* configuration_words(Configuration configuration) { return entry_of(configuration).words; }

Result<Configuration> find_configuration(std::string_view name) {
  std::string names;
  for (const Entry& entry : kEntries) {
    if (name == entry.name) return entry.configuration;
    names += names.empty() ? entry.name : std::string(", ") + entry.name;
  }
  return Status::invalid_argument("no configuration '" + std::string(name) + "'; there are " + names);
}

void configure(Configuration configuration, const storage::Pool& pool, engine::DatabaseOptions& options) {
  options.log.streams = std::max(1U, pool.device().best_log_writers);
  if (configuration == Configuration::Nvmdb) return;
  options.placement.overflow = false;
  options.placement.evict = false;
  if (configuration == Configuration::VolatileNvm) options.placement.tuple_directory = pool.directory();
  if (!is_classic(configuration)) return;
  options.log.streams = 1;
  options.log.epoch_interval_us = kClassicIntervalUs;
}

void configure(Configuration configuration, RunOptions& options) {
  if (!is_classic(configuration)) return;
  options.group = kClassicGroup;
  options.lead = false;
}

namespace {

/// Several doors to one region, each for some of the threads. Threads that fence at the same time share one round of
/// syncs of a door, so through one door the log writer would wait for the checkpoint's syncs; a classic database has
/// two files for them.
class ThreadsDoor final : public storage::Door {
 public:
  ThreadsDoor(storage::Pool& pool, std::uint32_t region) {
    for (auto& door : doors_) door = pool.synced_door(region);
    data_ = doors_[0]->data();
    size_ = doors_[0]->size();
  }
  void store8(std::uint64_t offset, std::uint64_t value, Site site) override { mine().store8(offset, value, site); }
  void copy(std::uint64_t offset, ByteSpan source, Site site) override { mine().copy(offset, source, site); }
  void copy_nontemporal(std::uint64_t offset, ByteSpan source, Site site) override {
    mine().copy_nontemporal(offset, source, site);
  }
  void fill(std::uint64_t offset, std::uint64_t bytes, std::byte value, Site site) override {
    mine().fill(offset, bytes, value, site);
  }
  void flush(std::uint64_t offset, std::uint64_t bytes, Site site) override { mine().flush(offset, bytes, site); }
  [[nodiscard]] Status fence(Site site) override { return mine().fence(site); }

 private:
  static constexpr std::uint32_t kDoors = 16;

  [[nodiscard]] storage::Door& mine() {
    static std::atomic<std::uint32_t> threads{0};
    thread_local const std::uint32_t number = threads.fetch_add(1, std::memory_order_relaxed);
    return *doors_[number % kDoors];
  }

  std::array<std::unique_ptr<storage::Door>, kDoors> doors_;
};

}  // namespace

SyncedMedia::SyncedMedia(storage::Pool& pool) : pool_(pool) {
  for (std::uint32_t i = 0; i < pool.region_count(); ++i) regions_.push_back(std::make_unique<ThreadsDoor>(pool, i));
}

Status SyncedMedia::fill_with_zeros() {
  for (const auto& region : regions_) {
    for (std::uint64_t at = 0; at < region->size(); at += kFillBytes) {
      region->fill(at, std::min(kFillBytes, region->size() - at), std::byte{0});
      NVMDB_TRY(region->fence());
    }
  }
  return Status::ok();
}

}  // namespace nvmdb::tpcc
