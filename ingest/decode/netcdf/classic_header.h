#pragma once

#include <cstdint>
#include <vector>

#include "ingest/decode/netcdf/dataset.h"
#include "storage/base/result.h"

namespace nvmdb::ingest::netcdf {

/// Where the values of a variable of a classic file lie.
struct ClassicPlace {
  std::uint64_t begin = 0;          ///< file offset of the first value
  std::uint64_t slab_elements = 0;  ///< values of one record, or of the whole variable
  bool in_records = false;
};

struct ClassicHeader {
  Dataset dataset;
  std::vector<ClassicPlace> places;  ///< one per variable
  std::uint64_t record_bytes = 0;    ///< distance between records
  std::uint64_t records = 0;  ///< as declared, or as the file's size says when the header leaves it open
  std::uint64_t header_bytes = 0;
};

/// Reads the header of a CDF-1, CDF-2 or CDF-5 file with pread. Safe on hostile input.
/// Errors: InvalidArgument (not such a file, limits), Corruption (names offset and item), IoError.
[[nodiscard]] Result<ClassicHeader> read_classic_header(int fd, std::uint64_t file_bytes);

/// Reads exactly `bytes` bytes. Errors: Corruption (the file ends before), IoError.
[[nodiscard]] Status read_exactly(int fd, std::uint64_t offset, void* out, std::uint64_t bytes);

}  // namespace nvmdb::ingest::netcdf
