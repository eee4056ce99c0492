#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>

#include "storage/base/result.h"

namespace nvmdb::ingest::netcdf {

/// An HDF5 identifier that closes itself. Negative when the call that made it failed.
class Handle {
 public:
  Handle() = default;
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(other.id_), close_(other.close_) { other.id_ = -1; }
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  [[nodiscard]] hid_t get() const { return id_; }
  [[nodiscard]] bool is_open() const { return id_ >= 0; }

 private:
  void reset();
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

/// Prepares the library: no messages on stderr, no plugins.
void set_up_hdf5();

/// Opens the file behind a descriptor for reading, without any path: by a file driver that reads with pread.
/// The descriptor must outlive the handle. Errors: Corruption (not HDF5, truncated, damaged).
[[nodiscard]] Result<Handle> open_hdf5_file(int fd, std::uint64_t file_bytes);

/// What HDF5 says of its last failure: the innermost message.
[[nodiscard]] std::string hdf5_error();

}  // namespace nvmdb::ingest::netcdf
