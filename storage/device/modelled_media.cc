#include "storage/device/modelled_media.h"

#include <algorithm>

#include "storage/device/read_hook.h"
#include "storage/nvm/media_guard.h"

namespace nvmdb::storage {
namespace {

constexpr std::uint64_t kBaselineBytes = 64ULL << 20U;

class ModelledDoor final : public Door {
 public:
  ModelledDoor(Door& door, DeviceModel& model) : door_(door), model_(model) {
    data_ = door.data();
    size_ = door.size();
  }
  void store8(std::uint64_t offset, std::uint64_t value, Site site) override { door_.store8(offset, value, site); }
  void copy(std::uint64_t offset, ByteSpan source, Site site) override { door_.copy(offset, source, site); }
  void copy_nontemporal(std::uint64_t offset, ByteSpan source, Site site) override {
    model_.begin_write(address(offset), source.size(), false);
    door_.copy_nontemporal(offset, source, site);
  }
  void fill(std::uint64_t offset, std::uint64_t bytes, std::byte value, Site site) override {
    model_.begin_write(address(offset), bytes, false);
    door_.fill(offset, bytes, value, site);
  }
  void flush(std::uint64_t offset, std::uint64_t bytes, Site site) override {
    model_.begin_write(address(offset), bytes, true);
    door_.flush(offset, bytes, site);
  }
  [[nodiscard]] Status fence(Site site) override {
    Status status = door_.fence(site);
    model_.fence();
    return status;
  }

 private:
  [[nodiscard]] std::uint64_t address(std::uint64_t offset) const {
    return reinterpret_cast<std::uintptr_t>(data_) + offset;
  }

  Door& door_;
  DeviceModel& model_;
};

}  // namespace

void charge_modelled_read(DeviceModel& model, const void* address, std::size_t bytes) {
  const std::uint64_t begun = model.now_ns();
  // The machine's own latency depends on its caches and page tables: it is not assumed but taken here, inside the
  // time that the model asks for.
  // Where it cannot be read the reader itself will find out.
  if (!probe_media({static_cast<const std::byte*>(address), 1})) return;
  asm volatile("lfence" ::: "memory");
  model.read(reinterpret_cast<std::uintptr_t>(address), bytes, begun);
}

Result<std::unique_ptr<ModelledMedia>> ModelledMedia::start(PoolMedia& media, const DevicePreset& preset,
                                                            const TickClock& clock) {
  if (!is_by_lines(media.device())) {
    return Status::invalid_argument("device model " + std::string(preset.name) +
                                    ": the pool is an ordinary file whose syncs take longer than the model; put the "
                                    "pool in memory, such as /dev/shm");
  }
  Door& region = media.region(0);
  const MemoryBaseline baseline =
      measure_baseline(region.bytes(0, std::min(region.size(), kBaselineBytes)), clock);
  std::unique_ptr<ModelledMedia> modelled(new ModelledMedia(media, preset, baseline, clock));
  DeviceModel* none = nullptr;
  if (!read_model.compare_exchange_strong(none, &modelled->model_, std::memory_order_acq_rel)) {
    return Status::invalid_argument("another device model is in use in this process");
  }
  return modelled;
}

ModelledMedia::ModelledMedia(PoolMedia& media, const DevicePreset& preset, const MemoryBaseline& baseline,
                             const TickClock& clock)
    : media_(media), model_(preset, baseline, clock), device_(model_.profile(media.device())) {
  root_ = std::make_unique<ModelledDoor>(media.root_words(), model_);
  for (std::uint32_t i = 0; i < media.region_count(); ++i) {
    regions_.push_back(std::make_unique<ModelledDoor>(media.region(i), model_));
  }
}

ModelledMedia::~ModelledMedia() {
  DeviceModel* own = &model_;
  // Fails when start() refused this one because of another.
  (void)read_model.compare_exchange_strong(own, nullptr, std::memory_order_acq_rel);
}

}  // namespace nvmdb::storage
