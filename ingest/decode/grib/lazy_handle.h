#pragma once

#include <optional>

#include "ingest/decode/grib/handle.h"
#include "ingest/decode/grib/sections.h"

namespace nvmdb::ingest::grib {

/// The field opened by ecCodes when somebody asks for it: that takes longer than to unpack the values.
class LazyHandle {
 public:
  /// `sections` must outlive it.
  explicit LazyHandle(const FieldSections& sections) : sections_(sections) {}
  LazyHandle(const LazyHandle&) = delete;
  LazyHandle& operator=(const LazyHandle&) = delete;

  /// Errors: Corruption.
  [[nodiscard]] Result<Handle*> get() {
    if (!handle_) {
      if (!sections_.alone) own_message_ = assemble_message(sections_);
      NVMDB_ASSIGN(handle_, Handle::open(sections_.alone ? sections_.message : ByteSpan(own_message_)));
    }
    return &*handle_;
  }

 private:
  const FieldSections& sections_;
  Bytes own_message_;
  std::optional<Handle> handle_;
};

}  // namespace nvmdb::ingest::grib
