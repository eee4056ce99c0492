#include "server/pool_info.h"

#include <array>
#include <string>

#include "server/version.h"

namespace nvmdb::server {
namespace {

class InfoList {
 public:
  void section(std::string name) { section_ = std::move(name); }
  void text(std::string name, std::string value) {
    items_.push_back({section_, std::move(name), std::move(value), ""});
  }
  void number(std::string name, std::uint64_t value, std::string unit = "") {
    items_.push_back({section_, std::move(name), value, std::move(unit)});
  }
  std::vector<InfoItem> take() { return std::move(items_); }

 private:
  std::string section_;
  std::vector<InfoItem> items_;
};

void add_pool(Instance& instance, InfoList& list) {
  const storage::Pool& pool = instance.pool();
  list.section("pool");
  list.text("version", kVersion);
  list.text("directory", pool.directory().string());
  list.text("uuid", format_uuid(pool.identity().uuid));
  list.number("format_version", pool.identity().format_version);
  const storage::DeviceProfile& device = instance.media().device();
  list.section("device");
  list.text("kind", device.kind);
  list.text("durability", storage::durability_words(device.durability));
  list.number("write_unit", device.write_unit_bytes, "bytes");
  list.number("log_writers", device.best_log_writers);
  list.number("log_block", device.log_block_bytes, "bytes");
  list.text("profile", storage::origin_words(device));
  if (device.measured_at != 0) list.number("measured_at", static_cast<std::uint64_t>(device.measured_at), "Unix s");
  if (device.read_latency_ns > 0) {
    list.number("read_latency", static_cast<std::uint64_t>(device.read_latency_ns), "ns");
    list.number("read_bandwidth", static_cast<std::uint64_t>(device.read_bytes_per_second), "bytes/s");
    list.number("write_bandwidth", static_cast<std::uint64_t>(device.write_bytes_per_second), "bytes/s");
    list.number("small_write_latency", device.fence_cost_ns, "ns");
    list.number("best_readers", device.best_readers);
  }
  if (!device.note.empty()) list.text("note", device.note);
  if (const storage::DeviceModel* model = instance.device_model(); model != nullptr) {
    list.text("model_source", std::string(model->preset().source));
    list.number("model_bytes_written", model->bytes_written(), "bytes");
    list.number("model_media_bytes_written", model->media_bytes_written(), "bytes");
  }
}

void add_placement(Instance& instance, InfoList& list) {
  const storage::Placement& placement = instance.placement();
  list.section("placement");
  list.text("policy", std::string(storage::placement_name(placement.policy())));
  list.text("machine", placement.topology().words());
  for (const auto role : {storage::ThreadRole::LogWriter, storage::ThreadRole::Worker, storage::ThreadRole::Ingest}) {
    list.text(std::string(storage::role_name(role)), placement.words(role));
  }
}

void add_space(Instance& instance, const engine::DatabaseStatistics& statistics, InfoList& list) {
  storage::PageAllocator& pages = instance.database().pages();
  list.section("memory");
  list.number("dram_used", statistics.dram_bytes, "bytes");
  list.number("dram_max", statistics.dram_bytes_max, "bytes");
  list.number("dram_index", statistics.dram_index_bytes, "bytes");
  list.number("dram_tuples", statistics.dram_tuple_bytes, "bytes");
  list.number("dram_tuples_in_use", statistics.dram_tuples_in_use, "bytes");
  const engine::FieldCacheStatistics cache = instance.fields().cache_statistics();
  list.number("field_copies", cache.bytes, "bytes");
  list.number("field_copies_max", cache.bytes_max, "bytes");
  list.number("columns_copied", cache.copied);
  list.number("columns_dropped", cache.dropped);
  list.section("nvm");
  list.number("total", pages.total_pages() * storage::kPageBytes, "bytes");
  list.number("free", pages.free_pages() * storage::kPageBytes, "bytes");
  list.number("fields", pages.pages_of(storage::PageKind::Field) * storage::kPageBytes, "bytes");
  list.number("log", pages.pages_of(storage::PageKind::Log) * storage::kPageBytes, "bytes");
  list.number("checkpoint", pages.pages_of(storage::PageKind::Checkpoint) * storage::kPageBytes, "bytes");
  list.number("overflow", pages.pages_of(storage::PageKind::Overflow) * storage::kPageBytes, "bytes");
}

void add_log(Instance& instance, const engine::DatabaseStatistics& statistics, InfoList& list) {
  list.section("log");
  list.number("commits", statistics.commits);
  list.number("aborts", statistics.aborts);
  list.number("rows", statistics.rows);
  list.number("used", statistics.log.log_bytes, "bytes");
  list.number("max", statistics.log.log_bytes_max, "bytes");
  list.number("written", statistics.log.media_bytes, "bytes");
  list.number("fences", statistics.log.fences);
  list.number("epochs_closed", statistics.log.epochs_closed);
  const engine::CheckpointStatistics& checkpoint = statistics.checkpoint;
  list.section("checkpoint");
  list.number("epoch", checkpoint.epoch);
  list.number("cycles", checkpoint.cycles);
  list.number("failures", checkpoint.failures);
  list.number("last_cycle", checkpoint.last_cycle_ns, "ns");
  list.number("live", checkpoint.live_bytes, "bytes");
  list.number("written", checkpoint.written_bytes, "bytes");
  list.number("tuples_written", checkpoint.tuples_written);
  list.number("tuples_adopted", checkpoint.tuples_adopted);
  list.number("tuples_evicted", checkpoint.tuples_evicted);
  list.number("tuples_moved", checkpoint.tuples_moved);
  list.number("tombstones_written", checkpoint.tombstones_written);
  list.number("pages_collected", checkpoint.pages_collected);
  const engine::RecoveryReport& recovery = instance.database().recovery();
  list.section("recovery");
  list.text("last_shutdown", instance.pool().created() ? "new pool"
                             : recovery.clean_shutdown ? "clean"
                                                       : "not clean");
  list.number("checkpoint_read", recovery.checkpoint_bytes, "bytes");
  list.number("checkpoint_tuples", recovery.checkpoint_tuples);
  list.number("records_applied", recovery.records_applied);
  list.number("log_read", recovery.log_bytes, "bytes");
  list.number("blocks_discarded", recovery.discarded_blocks);
  list.number("duration", recovery.nanoseconds, "ns");
}

void add_integrity(Instance& instance, InfoList& list) {
  constexpr std::size_t kPlacesShown = 10;
  const engine::IntegrityStatistics integrity = instance.fields().integrity();
  list.section("integrity");
  list.number("fields_checked", integrity.fields_checked);
  list.number("damaged", integrity.damaged.size());
  list.number("damage_found", integrity.damage_found);
  list.number("pages_quarantined", integrity.pages_quarantined);
  list.number("media_faults", integrity.media_faults);
  const engine::ScrubProgress scrub = instance.scrubber().progress();
  list.number("scrub_rate", scrub.bytes_per_second, "bytes/s");
  list.number("scrub_passes", scrub.passes);
  list.number("scrub_fields", scrub.fields);
  list.number("scrub_checkpoint_pages", scrub.checkpoint_pages);
  list.number("scrub_read", scrub.bytes, "bytes");
  if (scrub.last_end != 0) list.number("last_scrub", static_cast<std::uint64_t>(scrub.last_end), "Unix s");
  for (std::size_t i = 0; i < integrity.damaged.size() && i < kPlacesShown; ++i) {
    list.text("damage_" + std::to_string(i + 1), integrity.damaged[i].words);
  }
}

}  // namespace

std::string format_uuid(const std::array<unsigned char, 16>& uuid) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid[i] >> 4U];
    text += kDigits[uuid[i] & 15U];
  }
  return text;
}

Result<std::vector<InfoItem>> pool_info(Instance& instance) {
  InfoList list;
  const engine::DatabaseStatistics statistics = instance.database().statistics();
  add_pool(instance, list);
  add_placement(instance, list);
  add_space(instance, statistics, list);
  add_log(instance, statistics, list);
  add_integrity(instance, list);
  NVMDB_ASSIGN(const std::vector<engine::Run> runs, instance.catalogue().runs());
  NVMDB_ASSIGN(const std::uint64_t last_event, instance.catalogue().last_event());
  std::uint64_t fields = 0;
  std::uint64_t bytes = 0;
  for (const engine::Run& run : runs) {
    fields += run.field_count;
    bytes += run.field_bytes;
  }
  list.section("content");
  list.number("runs", runs.size());
  list.number("fields", fields);
  list.number("field_bytes", bytes, "bytes");
  list.number("last_event", last_event);
  return list.take();
}

}  // namespace nvmdb::server
