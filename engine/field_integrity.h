#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "storage/nvm/media.h"
#include "storage/page/page.h"

namespace nvmdb::engine {

/// Which fields of a pool were compared with their checksums by this process: one bit for each place where a
/// field can begin, in DRAM, 1 KiB for each NVM page that holds one. Threads: any number. The bits are hints
/// that are true when they are set: a relaxed order would do, release and acquire make who sees a bit also
/// see what the check counted.
class CheckedFields {
 public:
  explicit CheckedFields(storage::PoolMedia& media);
  ~CheckedFields();
  CheckedFields(const CheckedFields&) = delete;
  CheckedFields& operator=(const CheckedFields&) = delete;

  [[nodiscard]] bool contains(const storage::Extent& extent) const;
  void add(const storage::Extent& extent);
  /// Its bytes are about to change, or did.
  void remove(const storage::Extent& extent);

 private:
  struct PageBits;
  [[nodiscard]] std::atomic<PageBits*>& page_of(const storage::Extent& extent) const;
  mutable std::vector<std::vector<std::atomic<PageBits*>>> regions_;
};

}  // namespace nvmdb::engine
