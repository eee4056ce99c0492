#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "storage/nvm/media.h"

namespace nvmdb::test {

/// Passes everything on to other media; before each fence, `look` runs in the fencing thread: a test may see
/// there what others see while a fence is under way, or hold the fence back.
class ObservedMedia final : public storage::PoolMedia {
 public:
  ObservedMedia(storage::PoolMedia& media, std::function<void()> look)
      : media_(media), look_(std::move(look)), root_(*this, media.root_words()) {
    for (std::uint32_t i = 0; i < media.region_count(); ++i) {
      regions_.push_back(std::make_unique<ObservedDoor>(*this, media.region(i)));
    }
  }
  [[nodiscard]] const storage::PoolIdentity& identity() const override { return media_.identity(); }
  [[nodiscard]] const storage::DeviceProfile& device() const override { return media_.device(); }
  [[nodiscard]] storage::Door& root_words() override { return root_; }
  [[nodiscard]] std::uint32_t region_count() const override { return media_.region_count(); }
  [[nodiscard]] storage::Door& region(std::uint32_t index) override { return *regions_[index]; }

 private:
  class ObservedDoor final : public storage::Door {
   public:
    ObservedDoor(ObservedMedia& media, storage::Door& door) : media_(media), door_(door) {
      data_ = door.data();
      size_ = door.size();
    }
    void store8(std::uint64_t offset, std::uint64_t value, Site site) override {
      door_.store8(offset, value, site);
    }
    void copy(std::uint64_t offset, ByteSpan source, Site site) override { door_.copy(offset, source, site); }
    void copy_nontemporal(std::uint64_t offset, ByteSpan source, Site site) override {
      door_.copy_nontemporal(offset, source, site);
    }
    void fill(std::uint64_t offset, std::uint64_t bytes, std::byte value, Site site) override {
      door_.fill(offset, bytes, value, site);
    }
    void flush(std::uint64_t offset, std::uint64_t bytes, Site site) override {
      door_.flush(offset, bytes, site);
    }
    [[nodiscard]] Status fence(Site site) override {
      media_.look_();
      return door_.fence(site);
    }

   private:
    ObservedMedia& media_;
    storage::Door& door_;
  };

  storage::PoolMedia& media_;
  std::function<void()> look_;
  ObservedDoor root_;
  std::vector<std::unique_ptr<ObservedDoor>> regions_;
};

}  // namespace nvmdb::test
