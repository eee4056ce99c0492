#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "ingest/decode/netcdf/hdf5_metadata.h"

namespace nvmdb::ingest::netcdf {
namespace {

constexpr std::size_t kAttributesMax = 4096;
constexpr hssize_t kAttributeBytesMax = 1 << 20U;
constexpr hssize_t kStringsMax = 4096;
constexpr std::array<std::string_view, 9> kReserved = {"CLASS",
                                                       "NAME",
                                                       "REFERENCE_LIST",
                                                       "DIMENSION_LIST",
                                                       "DIMENSION_LABELS",
                                                       "_Netcdf4Coordinates",
                                                       "_Netcdf4Dimid",
                                                       "_nc3_strict",
                                                       "_NCProperties"};

struct NameList {
  std::vector<std::string> names;
  bool too_many = false;
};

herr_t take_name(hid_t, const char* name, const H5A_info_t*, void* out) {
  auto& list = *static_cast<NameList*>(out);
  list.too_many = list.names.size() >= kAttributesMax;
  if (list.too_many) return -1;
  list.names.emplace_back(name);
  return 0;
}

/// In order of creation where the file keeps it, which is the order that netCDF tells.
NameList attribute_names(hid_t object) {
  NameList list;
  hsize_t at = 0;
  if (H5Aiterate2(object, H5_INDEX_CRT_ORDER, H5_ITER_INC, &at, take_name, &list) < 0 && !list.too_many) {
    list.names.clear();
    at = 0;
    H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &at, take_name, &list);
  }
  return list;
}

std::string read_fixed_text(hid_t attribute, hid_t type, hssize_t count) {
  const std::size_t size = H5Tget_size(type);
  if (count == 0 || size == 0 || static_cast<hssize_t>(size) > kAttributeBytesMax / count) return {};
  std::string text(size * static_cast<std::size_t>(count), '\0');
  if (H5Aread(attribute, type, text.data()) < 0) return {};
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

std::string read_variable_text(hid_t attribute, hid_t type, hid_t space, hssize_t count) {
  if (count == 0 || count > kStringsMax) return {};
  std::vector<char*> strings(static_cast<std::size_t>(count), nullptr);
  if (H5Aread(attribute, type, strings.data()) < 0) return {};
  std::string text;
  for (const char* string : strings) {
    if (string == nullptr) continue;
    if (!text.empty()) text += ", ";
    text += string;
  }
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, strings.data());
  return text;
}

/// False when the attribute is of a kind that is not kept (compound, too large).
bool read_attribute(hid_t id, Attribute& out) {
  const Handle type(H5Aget_type(id), H5Tclose);
  const Handle space(H5Aget_space(id), H5Sclose);
  if (!type.is_open() || !space.is_open()) return false;
  const hssize_t count =
      H5Sget_simple_extent_type(space.get()) == H5S_NULL ? 0 : H5Sget_simple_extent_npoints(space.get());
  if (count < 0 || count > kAttributeBytesMax / 8) return false;
  if (H5Tget_class(type.get()) == H5T_STRING) {
    const bool variable = H5Tis_variable_str(type.get()) > 0;
    out.type = variable ? ValueType::String : ValueType::Char;
    out.text = variable ? read_variable_text(id, type.get(), space.get(), count)
                        : read_fixed_text(id, type.get(), count);
    return true;
  }
  out.type = stored_type(type.get()).type;
  if (!is_numeric(out.type)) return false;
  out.numbers.resize(static_cast<std::size_t>(count));
  return count == 0 || H5Aread(id, H5T_NATIVE_DOUBLE, out.numbers.data()) >= 0;
}

}  // namespace

StoredType stored_type(hid_t type) {
  struct Known {
    hid_t id;
    ValueType type;
    bool big_endian;
  };
  const Known known[] = {
      {H5T_IEEE_F32LE, ValueType::Float32, false}, {H5T_IEEE_F32BE, ValueType::Float32, true},
      {H5T_IEEE_F64LE, ValueType::Float64, false}, {H5T_IEEE_F64BE, ValueType::Float64, true},
      {H5T_STD_I32LE, ValueType::Int32, false},    {H5T_STD_I32BE, ValueType::Int32, true},
      {H5T_STD_I16LE, ValueType::Int16, false},    {H5T_STD_I16BE, ValueType::Int16, true},
      {H5T_STD_I8LE, ValueType::Int8, false},      {H5T_STD_I8BE, ValueType::Int8, false},
      {H5T_STD_I64LE, ValueType::Int64, false},    {H5T_STD_I64BE, ValueType::Int64, true},
      {H5T_STD_U32LE, ValueType::Uint32, false},   {H5T_STD_U32BE, ValueType::Uint32, true},
      {H5T_STD_U16LE, ValueType::Uint16, false},   {H5T_STD_U16BE, ValueType::Uint16, true},
      {H5T_STD_U8LE, ValueType::Uint8, false},     {H5T_STD_U8BE, ValueType::Uint8, false},
      {H5T_STD_U64LE, ValueType::Uint64, false},   {H5T_STD_U64BE, ValueType::Uint64, true}};
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_STRING) {
    if (H5Tis_variable_str(type) > 0) return {ValueType::String, false};
    return {H5Tget_size(type) == 1 ? ValueType::Char : ValueType::Unsupported, false};
  }
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) return {};
  for (const Known& candidate : known) {
    if (H5Tequal(type, candidate.id) > 0) return {candidate.type, candidate.big_endian};
  }
  return {};
}

Result<std::vector<Attribute>> read_hdf5_attributes(hid_t object, const std::string& owner) {
  const NameList list = attribute_names(object);
  if (list.too_many)
    return Status::invalid_argument(owner + " has more than " + std::to_string(kAttributesMax) +
                                    " attributes");
  std::vector<Attribute> attributes;
  for (const std::string& name : list.names) {
    if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) continue;
    const Handle id(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
    Attribute attribute;
    attribute.name = name;
    if (id.is_open() && read_attribute(id.get(), attribute)) attributes.push_back(std::move(attribute));
  }
  return attributes;
}

std::string read_hdf5_text(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return {};
  const Handle id(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  Attribute attribute;
  if (!id.is_open() || !read_attribute(id.get(), attribute)) return {};
  return attribute.text.c_str();
}

std::vector<std::int64_t> read_hdf5_integers(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return {};
  const Handle id(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  Attribute attribute;
  if (!id.is_open() || !read_attribute(id.get(), attribute)) return {};
  std::vector<std::int64_t> integers;
  for (const double number : attribute.numbers) {
    if (!(number >= 0 && number < 1e9)) return {};
    integers.push_back(static_cast<std::int64_t>(number));
  }
  return integers;
}

std::vector<haddr_t> read_dimension_list(hid_t dataset, std::size_t rank) {
  if (rank == 0 || H5Aexists(dataset, "DIMENSION_LIST") <= 0) return {};
  const Handle id(H5Aopen(dataset, "DIMENSION_LIST", H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(id.get()), H5Tclose);
  const Handle space(H5Aget_space(id.get()), H5Sclose);
  const Handle wanted(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose);
  if (!id.is_open() || H5Tget_class(type.get()) != H5T_VLEN ||
      H5Sget_simple_extent_npoints(space.get()) != static_cast<hssize_t>(rank))
    return {};
  const Handle target(H5Tget_super(type.get()), H5Tclose);
  if (H5Tequal(target.get(), H5T_STD_REF_OBJ) <= 0) return {};
  std::vector<hvl_t> lists(rank, hvl_t{0, nullptr});
  if (H5Aread(id.get(), wanted.get(), lists.data()) < 0) return {};
  std::vector<haddr_t> addresses(rank, HADDR_UNDEF);
  for (std::size_t i = 0; i < rank; ++i) {
    // An object reference is the address of the object.
    hobj_ref_t reference = HADDR_UNDEF;
    if (lists[i].len > 0) std::memcpy(&reference, lists[i].p, sizeof(reference));
    addresses[i] = reference;
  }
  H5Dvlen_reclaim(wanted.get(), space.get(), H5P_DEFAULT, lists.data());
  return addresses;
}

}  // namespace nvmdb::ingest::netcdf
