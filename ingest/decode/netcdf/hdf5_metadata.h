#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ingest/decode/field_sink.h"
#include "ingest/decode/netcdf/chunk_filters.h"
#include "ingest/decode/netcdf/dataset.h"
#include "ingest/decode/netcdf/hdf5_file.h"

namespace nvmdb::ingest::netcdf {

enum class StorageKind : std::uint8_t {
  Contiguous,  ///< one range of the file
  Chunked,     ///< chunks whose filters this program undoes
  Library,     ///< whatever else HDF5 reads: compact, szip
};

/// Where and how the values of an HDF5 dataset lie.
struct Hdf5Storage {
  Handle dataset;
  Handle type;  ///< as in the file
  StorageKind kind = StorageKind::Library;
  bool big_endian = false;
  std::vector<hsize_t> extents;  ///< never empty: a scalar has one of 1
  std::vector<hsize_t> chunk;    ///< same rank; equal to the extents where there are no chunks
  std::vector<ChunkFilter> filters;
  haddr_t address = HADDR_UNDEF;  ///< Contiguous; undefined: never written
  std::vector<std::byte> fill;    ///< one value
};

struct Hdf5Metadata {
  Dataset dataset;
  std::vector<Hdf5Storage> storage;   ///< one per variable
  std::vector<std::string> left_out;  ///< groups and objects that are not stored
};

/// Reads the root group of a NetCDF-4 file. Other HDF5 files are read alike: dimensions without a name get
/// one. Refused (InvalidArgument): external storage, virtual datasets, links that are not hard, sizes beyond
/// the limits. Errors: InvalidArgument, Corruption. Source: netCDF-4 format, "NetCDF-4/HDF5 File Format";
/// HDF5 Dimension Scale Specification.
[[nodiscard]] Result<Hdf5Metadata> read_hdf5_metadata(hid_t file, const DecodeLimits& limits);

/// Attributes of an object, without those by which netCDF-4 keeps its own structure. Errors: InvalidArgument
/// (limits).
[[nodiscard]] Result<std::vector<Attribute>> read_hdf5_attributes(hid_t object, const std::string& owner);
/// A text attribute of an object, also one of netCDF-4's own; empty when there is none.
[[nodiscard]] std::string read_hdf5_text(hid_t object, const char* name);
/// Integers of an attribute; empty when there is none.
[[nodiscard]] std::vector<std::int64_t> read_hdf5_integers(hid_t object, const char* name);
/// Object addresses that DIMENSION_LIST names, one per axis; empty when it is absent or odd.
[[nodiscard]] std::vector<haddr_t> read_dimension_list(hid_t dataset, std::size_t rank);

/// The type of stored values and their byte order. Unsupported for what netCDF has no plain type for.
struct StoredType {
  ValueType type = ValueType::Unsupported;
  bool big_endian = false;
};
[[nodiscard]] StoredType stored_type(hid_t type);

}  // namespace nvmdb::ingest::netcdf
