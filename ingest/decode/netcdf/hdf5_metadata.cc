#include "ingest/decode/netcdf/hdf5_metadata.h"

#include <algorithm>
#include <map>

#include "storage/base/narrow.h"

namespace nvmdb::ingest::netcdf {
namespace {

constexpr std::size_t kObjectsMax = 16384;
constexpr std::size_t kGroupDepthMax = 16;
constexpr std::size_t kNameMax = 1024;
constexpr std::size_t kRankMax = H5S_MAX_RANK;
constexpr std::uint64_t kChunkBytesMax = 1ULL << 32U;
constexpr std::string_view kNoVariable = "This is a netCDF dimension but not a netCDF variable";
constexpr std::string_view kNonCoordinate = "_nc4_non_coord_";

struct Links {
  std::vector<std::string> names;
  std::string refused;  ///< a link that may lead out of the file
  bool too_many = false;
};

herr_t take_link(hid_t, const char* name, const H5L_info_t* info, void* out) {
  auto& links = *static_cast<Links*>(out);
  if (info->type != H5L_TYPE_HARD) {
    const char* kind = info->type == H5L_TYPE_EXTERNAL ? "external"
                       : info->type == H5L_TYPE_SOFT   ? "soft"
                                                       : "user-defined";
    links.refused = std::string(kind) + " link '" + name + "'";
    return -1;
  }
  links.too_many = links.names.size() >= kObjectsMax || std::string_view(name).size() > kNameMax;
  if (links.too_many) return -1;
  links.names.emplace_back(name);
  return 0;
}

/// Names in a group, in order of creation where the file keeps it.
Result<std::vector<std::string>> list_links(hid_t group) {
  Links links;
  hsize_t at = 0;
  herr_t result = H5Literate(group, H5_INDEX_CRT_ORDER, H5_ITER_INC, &at, take_link, &links);
  if (result < 0 && links.refused.empty() && !links.too_many) {
    links.names.clear();
    at = 0;
    result = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &at, take_link, &links);
  }
  if (!links.refused.empty())
    return Status::invalid_argument("NetCDF-4 file is refused: it has an HDF5 " + links.refused);
  if (links.too_many) return Status::invalid_argument("NetCDF-4 file has too many objects or too long names");
  if (result < 0) return Status::corruption("NetCDF-4 group cannot be read: " + hdf5_error());
  return std::move(links.names);
}

/// A dataset of the root group, before its dimensions are known.
struct Object {
  std::string name;
  haddr_t address = HADDR_UNDEF;
  std::size_t rank = 0;
  std::vector<hsize_t> maxima;
  bool is_scale = false;
  bool is_variable = true;
  std::int64_t dimension_id = -1;
  std::vector<std::int64_t> coordinate_ids;
  std::vector<haddr_t> dimension_addresses;
  Variable variable;
  Hdf5Storage storage;
};

class MetadataReader {
 public:
  MetadataReader(hid_t file, const DecodeLimits& limits) : file_(file), limits_(limits) {}
  Result<Hdf5Metadata> read();

 private:
  Status scan_group(hid_t group, const std::string& path, std::size_t depth);
  Status read_object(hid_t id, const std::string& name);
  Status read_storage(Object& object, hid_t creation);
  Status read_filters(Object& object, hid_t creation);
  void define_dimensions();
  std::uint32_t dimension_of(const Object& object, std::size_t axis);
  void resolve_dimensions();
  void check_extents(Object& object) const;

  hid_t file_;
  const DecodeLimits& limits_;
  std::size_t objects_seen_ = 0;
  std::vector<haddr_t> groups_seen_;
  std::vector<Object> objects_;
  std::map<haddr_t, std::uint32_t> dimension_by_address_;
  std::map<std::int64_t, std::uint32_t> dimension_by_id_;
  Hdf5Metadata metadata_;
};

/// Looks at every link of every group, so that what is refused is found wherever it is; only the root is
/// read.
Status MetadataReader::scan_group(hid_t group, const std::string& path, std::size_t depth) {
  NVMDB_ASSIGN(const std::vector<std::string> names, list_links(group));
  objects_seen_ += names.size();
  if (objects_seen_ > kObjectsMax || depth > kGroupDepthMax)
    return Status::invalid_argument("NetCDF-4 file has more than " + std::to_string(kObjectsMax) +
                                    " objects or groups nested more than " + std::to_string(kGroupDepthMax) +
                                    " deep");
  for (const std::string& name : names) {
    const Handle id(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose);
    if (!id.is_open())
      return Status::corruption("NetCDF-4 object '" + path + name + "' cannot be opened: " + hdf5_error());
    const H5I_type_t kind = H5Iget_type(id.get());
    if (kind == H5I_GROUP) {
      H5O_info_t info;
      if (H5Oget_info2(id.get(), &info, H5O_INFO_BASIC) < 0)
        return Status::corruption("NetCDF-4 group '" + path + name + "' cannot be read: " + hdf5_error());
      if (std::find(groups_seen_.begin(), groups_seen_.end(), info.addr) != groups_seen_.end()) continue;
      groups_seen_.push_back(info.addr);
      metadata_.left_out.push_back("group " + path + name);
      NVMDB_TRY(scan_group(id.get(), path + name + "/", depth + 1));
    } else if (kind == H5I_DATASET) {
      const Handle creation(H5Dget_create_plist(id.get()), H5Pclose);
      const H5D_layout_t layout = H5Pget_layout(creation.get());
      if (layout == H5D_VIRTUAL)
        return Status::invalid_argument("NetCDF-4 file is refused: '" + path + name +
                                        "' is an HDF5 virtual dataset");
      if (H5Pget_external_count(creation.get()) > 0)
        return Status::invalid_argument("NetCDF-4 file is refused: '" + path + name +
                                        "' keeps its values in another file (HDF5 external storage)");
      if (depth == 0) NVMDB_TRY(read_object(id.get(), name));
    }
  }
  return Status::ok();
}

Status MetadataReader::read_object(hid_t id, const std::string& name) {
  Object object;
  object.name = name;
  object.storage.dataset = Handle(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  object.storage.type = Handle(H5Dget_type(id), H5Tclose);
  const Handle space(H5Dget_space(id), H5Sclose);
  const Handle creation(H5Dget_create_plist(id), H5Pclose);
  H5O_info_t info;
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (!object.storage.dataset.is_open() || rank < 0 || H5Oget_info2(id, &info, H5O_INFO_BASIC) < 0)
    return Status::corruption("NetCDF-4 variable '" + name + "' cannot be read: " + hdf5_error());
  object.address = info.addr;
  object.rank = static_cast<std::size_t>(rank);
  if (object.rank > kRankMax)
    return Status::invalid_argument("NetCDF-4 variable '" + name + "' has too many dimensions");
  object.storage.extents.resize(object.rank);
  object.maxima.resize(object.rank);
  H5Sget_simple_extent_dims(space.get(), object.storage.extents.data(), object.maxima.data());
  object.is_scale = read_hdf5_text(id, "CLASS") == "DIMENSION_SCALE" && object.rank > 0;
  object.is_variable = !object.is_scale || !read_hdf5_text(id, "NAME").starts_with(kNoVariable);
  const std::vector<std::int64_t> ids = read_hdf5_integers(id, "_Netcdf4Dimid");
  if (!ids.empty()) object.dimension_id = ids.front();
  object.coordinate_ids = read_hdf5_integers(id, "_Netcdf4Coordinates");
  object.dimension_addresses = read_dimension_list(id, object.rank);
  object.variable.name = name.starts_with(kNonCoordinate) ? name.substr(kNonCoordinate.size()) : name;
  const StoredType type = stored_type(object.storage.type.get());
  object.variable.type = type.type;
  object.storage.big_endian = type.big_endian;
  if (object.is_variable) {
    NVMDB_ASSIGN(object.variable.attributes, read_hdf5_attributes(id, "variable " + object.variable.name));
    NVMDB_TRY(read_storage(object, creation.get()));
  }
  objects_.push_back(std::move(object));
  return Status::ok();
}

Status MetadataReader::read_storage(Object& object, hid_t creation) {
  Hdf5Storage& storage = object.storage;
  if (storage.extents.empty()) storage.extents = {1};
  storage.chunk = storage.extents;
  const std::uint32_t width = value_bytes(object.variable.type);
  if (width == 0) {
    if (object.variable.type == ValueType::Unsupported)
      object.variable.unreadable = "its HDF5 type is not a plain netCDF type";
    return Status::ok();
  }
  storage.fill.assign(width, std::byte{0});
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  if (H5Pfill_value_defined(creation, &defined) >= 0 && defined != H5D_FILL_VALUE_UNDEFINED)
    H5Pget_fill_value(creation, storage.type.get(), storage.fill.data());
  const H5D_layout_t layout = H5Pget_layout(creation);
  if (layout == H5D_CONTIGUOUS) {
    storage.kind = StorageKind::Contiguous;
    storage.address = H5Dget_offset(storage.dataset.get());
    return Status::ok();
  }
  if (layout != H5D_CHUNKED) return Status::ok();
  if (H5Pget_chunk(creation, static_cast<int>(storage.chunk.size()), storage.chunk.data()) !=
      static_cast<int>(storage.extents.size()))
    return Status::corruption("chunk sizes of NetCDF-4 variable '" + object.name + "' cannot be read");
  std::uint64_t bytes = width;
  for (const hsize_t size : storage.chunk) {
    if (size == 0 || !multiply_sizes(bytes, size) ||
        bytes > std::min(kChunkBytesMax, limits_.field_bytes_max)) {
      object.variable.unreadable = "its chunks are too large";
      return Status::ok();
    }
  }
  return read_filters(object, creation);
}

Status MetadataReader::read_filters(Object& object, hid_t creation) {
  Hdf5Storage& storage = object.storage;
  unsigned options = 0;
  storage.kind = StorageKind::Chunked;
  if (H5Pget_chunk_opts(creation, &options) >= 0 && options != 0) storage.kind = StorageKind::Library;
  const int count = H5Pget_nfilters(creation);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    unsigned parameters[16] = {};
    std::size_t parameter_count = 16;
    char name[64] = {};
    const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &parameter_count,
                                               parameters, sizeof(name) - 1, name, &config);
    if (filter == H5Z_FILTER_DEFLATE) {
      storage.filters.push_back(ChunkFilter::Deflate);
    } else if (filter == H5Z_FILTER_SHUFFLE) {
      storage.filters.push_back(ChunkFilter::Shuffle);
    } else if (filter == H5Z_FILTER_FLETCHER32) {
      storage.filters.push_back(ChunkFilter::Fletcher32);
    } else if (filter == H5Z_FILTER_SZIP && H5Zfilter_avail(H5Z_FILTER_SZIP) > 0) {
      storage.kind = StorageKind::Library;
    } else {
      object.variable.unreadable = "HDF5 filter " + std::to_string(filter) + " (" + name +
                                   ") is not supported; only deflate, shuffle, fletcher32 and szip are";
      return Status::ok();
    }
  }
  return Status::ok();
}

void MetadataReader::define_dimensions() {
  for (const Object& object : objects_) {
    if (!object.is_scale) continue;
    Dimension dimension;
    dimension.name = object.variable.name;
    dimension.unlimited = object.maxima[0] == H5S_UNLIMITED;
    // The dataset of an unlimited dimension that is no variable does not grow with it: its users tell the
    // size.
    dimension.size = dimension.unlimited && !object.is_variable ? 0 : object.storage.extents[0];
    const auto index = narrow<std::uint32_t>(metadata_.dataset.dimensions.size());
    dimension_by_address_.emplace(object.address, index);
    if (object.dimension_id >= 0) dimension_by_id_.emplace(object.dimension_id, index);
    metadata_.dataset.dimensions.push_back(std::move(dimension));
  }
}

std::uint32_t MetadataReader::dimension_of(const Object& object, std::size_t axis) {
  if (axis < object.dimension_addresses.size()) {
    const auto found = dimension_by_address_.find(object.dimension_addresses[axis]);
    if (found != dimension_by_address_.end()) return found->second;
  }
  if (axis < object.coordinate_ids.size()) {
    const auto found = dimension_by_id_.find(object.coordinate_ids[axis]);
    if (found != dimension_by_id_.end()) return found->second;
  }
  if (object.is_scale && axis == 0) return dimension_by_address_.at(object.address);
  const hsize_t size = object.storage.extents[axis];
  const std::string name = "phony_dim_" + std::to_string(size);
  std::vector<Dimension>& dimensions = metadata_.dataset.dimensions;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i].name == name) return narrow<std::uint32_t>(i);
  }
  dimensions.push_back({name, size, false});
  return narrow<std::uint32_t>(dimensions.size() - 1);
}

void MetadataReader::resolve_dimensions() {
  define_dimensions();
  for (Object& object : objects_) {
    if (!object.is_variable) continue;
    for (std::size_t axis = 0; axis < object.rank; ++axis) {
      const std::uint32_t index = dimension_of(object, axis);
      object.variable.dimensions.push_back(index);
      Dimension& dimension = metadata_.dataset.dimensions[index];
      if (dimension.unlimited)
        dimension.size = std::max<std::uint64_t>(dimension.size, object.storage.extents[axis]);
    }
  }
}

/// Only the first axis may be shorter than its dimension: later frames were not written.
void MetadataReader::check_extents(Object& object) const {
  for (std::size_t axis = 0; axis < object.rank; ++axis) {
    const Dimension& dimension = metadata_.dataset.dimensions[object.variable.dimensions[axis]];
    const hsize_t extent = object.storage.extents[axis];
    if (extent == dimension.size || (axis == 0 && dimension.unlimited && extent < dimension.size)) continue;
    object.variable.unreadable = "it has " + std::to_string(extent) + " values along dimension " +
                                 dimension.name + ", expected " + std::to_string(dimension.size);
  }
}

Result<Hdf5Metadata> MetadataReader::read() {
  const Handle root(H5Gopen2(file_, "/", H5P_DEFAULT), H5Gclose);
  if (!root.is_open()) return Status::corruption("NetCDF-4 root group cannot be opened: " + hdf5_error());
  H5O_info_t info;
  if (H5Oget_info2(root.get(), &info, H5O_INFO_BASIC) >= 0) groups_seen_.push_back(info.addr);
  NVMDB_TRY(scan_group(root.get(), "/", 0));
  NVMDB_ASSIGN(metadata_.dataset.attributes, read_hdf5_attributes(root.get(), "the file"));
  resolve_dimensions();
  for (Object& object : objects_) {
    if (!object.is_variable) continue;
    check_extents(object);
    metadata_.dataset.variables.push_back(std::move(object.variable));
    metadata_.storage.push_back(std::move(object.storage));
  }
  return std::move(metadata_);
}

}  // namespace

Result<Hdf5Metadata> read_hdf5_metadata(hid_t file, const DecodeLimits& limits) {
  return MetadataReader(file, limits).read();
}

}  // namespace nvmdb::ingest::netcdf
