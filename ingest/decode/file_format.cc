#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "ingest/decode/field_sink.h"

namespace nvmdb::ingest {
namespace {

constexpr std::size_t kGribSearchBytes = 64U << 10U;

/// Reads up to `wanted` bytes from the start of the file.
Result<std::string> read_head(int fd, std::size_t wanted) {
  std::string head(wanted, '\0');
  std::size_t at = 0;
  while (at < wanted) {
    const ssize_t got = ::pread(fd, head.data() + at, wanted - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status::io_error(std::string("cannot read the first bytes: ") + std::strerror(errno));
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  head.resize(at);
  return head;
}

}  // namespace

Result<FileFormat> detect_format(int fd) {
  using std::string_view_literals::operator""sv;
  NVMDB_ASSIGN(const std::string text, read_head(fd, kGribSearchBytes));
  const std::string_view head = text;
  if (head.starts_with("CDF\x01"sv)) return FileFormat::NetcdfClassic;
  if (head.starts_with("CDF\x02"sv)) return FileFormat::Netcdf64BitOffset;
  if (head.starts_with("CDF\x05"sv)) return FileFormat::NetcdfCdf5;
  if (head.starts_with("\x89HDF\r\n\x1a\n"sv)) return FileFormat::Netcdf4;
  if (head.find("GRIB"sv) != std::string_view::npos) return FileFormat::Grib;
  return FileFormat::Unknown;
}

std::string format_name(FileFormat format) {
  switch (format) {
    case FileFormat::Unknown:
      return "unknown";
    case FileFormat::Grib:
      return "GRIB";
    case FileFormat::NetcdfClassic:
      return "NetCDF classic";
    case FileFormat::Netcdf64BitOffset:
      return "NetCDF 64-bit offset";
    case FileFormat::NetcdfCdf5:
      return "NetCDF CDF-5";
    case FileFormat::Netcdf4:
      return "NetCDF-4";
  }
  return "unknown";
}

}  // namespace nvmdb::ingest
