#include "ingest/decode/netcdf/hdf5_file.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "ingest/decode/netcdf/classic_header.h"

namespace nvmdb::ingest::netcdf {
namespace {

/// The name that the driver answers to; a file that names another one gets nothing opened.
constexpr const char* kInputName = "nvmdb-input";

struct InputInfo {
  int fd;
  std::uint64_t file_bytes;
};

/// HDF5 wants the public part first.
struct InputFile {
  H5FD_t base;
  InputInfo info;
  haddr_t end_of_addresses;
};

InputFile* as_input(H5FD_t* file) {
  return reinterpret_cast<InputFile*>(file);
}
const InputFile* as_input(const H5FD_t* file) {
  return reinterpret_cast<const InputFile*>(file);
}

H5FD_t* input_open(const char* name, unsigned flags, hid_t access, haddr_t) {
  if (std::strcmp(name, kInputName) != 0 || (flags & H5F_ACC_RDWR) != 0) return nullptr;
  const auto* info = static_cast<const InputInfo*>(H5Pget_driver_info(access));
  if (info == nullptr) return nullptr;
  auto* file = new (std::nothrow) InputFile{};
  if (file == nullptr) return nullptr;
  file->info = *info;
  return &file->base;
}

herr_t input_close(H5FD_t* file) {
  delete as_input(file);
  return 0;
}

int input_compare(const H5FD_t* left, const H5FD_t* right) {
  return as_input(left)->info.fd - as_input(right)->info.fd;
}

herr_t input_query(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr) *flags = H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE;
  return 0;
}

haddr_t input_end_of_addresses(const H5FD_t* file, H5FD_mem_t) {
  return as_input(file)->end_of_addresses;
}

herr_t input_set_end_of_addresses(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  as_input(file)->end_of_addresses = address;
  return 0;
}

haddr_t input_end_of_file(const H5FD_t* file, H5FD_mem_t) {
  return as_input(file)->info.file_bytes;
}

/// Speculative reads of the library may go beyond the end: they get zeros, as from HDF5's own drivers. The
/// library itself has compared the file's size with the one that the superblock tells.
herr_t input_read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* buffer) {
  const InputInfo& info = as_input(file)->info;
  const std::uint64_t there =
      address >= info.file_bytes ? 0 : std::min<std::uint64_t>(size, info.file_bytes - address);
  std::memset(static_cast<char*>(buffer) + there, 0, size - there);
  return read_exactly(info.fd, address, buffer, there).is_ok() ? 0 : -1;
}

herr_t input_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) {
  return -1;
}

hid_t input_driver() {
  static const hid_t driver = [] {
    static H5FD_class_t description{};
    description.name = kInputName;
    description.maxaddr = INT64_MAX;
    description.fc_degree = H5F_CLOSE_STRONG;
    description.fapl_size = sizeof(InputInfo);
    description.open = input_open;
    description.close = input_close;
    description.cmp = input_compare;
    description.query = input_query;
    description.get_eoa = input_end_of_addresses;
    description.set_eoa = input_set_end_of_addresses;
    description.get_eof = input_end_of_file;
    description.read = input_read;
    description.write = input_write;
    return H5FDregister(&description);
  }();
  return driver;
}

herr_t take_first_message(unsigned, const H5E_error2_t* error, void* out) {
  auto& text = *static_cast<std::string*>(out);
  if (text.empty() && error->desc != nullptr) text = error->desc;
  return 0;
}

}  // namespace

Handle& Handle::operator=(Handle&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(close_, other.close_);
  return *this;
}

void Handle::reset() {
  if (id_ >= 0) close_(id_);
  id_ = -1;
}

void set_up_hdf5() {
  H5open();
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
}

Result<Handle> open_hdf5_file(int fd, std::uint64_t file_bytes) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const InputInfo info{fd, file_bytes};
  if (!access.is_open() || H5Pset_driver(access.get(), input_driver(), &info) < 0)
    return Status::io_error("HDF5 did not start: " + hdf5_error());
  Handle file(H5Fopen(kInputName, H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!file.is_open()) return Status::corruption("NetCDF-4 file cannot be opened: " + hdf5_error());
  return file;
}

std::string hdf5_error() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first_message, &text);
  return text.empty() ? "no reason given" : text;
}

}  // namespace nvmdb::ingest::netcdf
