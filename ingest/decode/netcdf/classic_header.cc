#include "ingest/decode/netcdf/classic_header.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "storage/base/bytes.h"
#include "storage/base/narrow.h"

namespace nvmdb::ingest::netcdf {
namespace {

constexpr std::uint64_t kCountMax = 65536;  ///< dimensions, variables, attributes of one variable
constexpr std::uint64_t kRankMax = 32;
constexpr std::uint64_t kNameMax = 1024;
constexpr std::uint64_t kHeaderMax = 256ULL << 20U;
constexpr std::uint64_t kReadStep = 64 << 10U;
constexpr std::uint32_t kTagDimension = 10;
constexpr std::uint32_t kTagVariable = 11;
constexpr std::uint32_t kTagAttribute = 12;

template <class T>
T big_endian_at(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(__builtin_bswap64(std::bit_cast<std::uint64_t>(value)));
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(__builtin_bswap32(std::bit_cast<std::uint32_t>(value)));
  if constexpr (sizeof(T) == 2)
    return std::bit_cast<T>(__builtin_bswap16(std::bit_cast<std::uint16_t>(value)));
  return value;
}

double number_at(const std::byte* at, ValueType type) {
  switch (type) {
    case ValueType::Int8:
      return big_endian_at<std::int8_t>(at);
    case ValueType::Uint8:
      return big_endian_at<std::uint8_t>(at);
    case ValueType::Int16:
      return big_endian_at<std::int16_t>(at);
    case ValueType::Uint16:
      return big_endian_at<std::uint16_t>(at);
    case ValueType::Int32:
      return big_endian_at<std::int32_t>(at);
    case ValueType::Uint32:
      return big_endian_at<std::uint32_t>(at);
    case ValueType::Float32:
      return static_cast<double>(big_endian_at<float>(at));
    case ValueType::Float64:
      return big_endian_at<double>(at);
    case ValueType::Int64:
      return static_cast<double>(big_endian_at<std::int64_t>(at));
    case ValueType::Uint64:
      return static_cast<double>(big_endian_at<std::uint64_t>(at));
    default:
      return 0;
  }
}

/// Walks through the header. Source: the BNF grammar of the classic format specification.
class HeaderReader {
 public:
  HeaderReader(int fd, std::uint64_t file_bytes) : fd_(fd), file_bytes_(file_bytes) {}

  Result<ClassicHeader> read();

 private:
  Status need(std::uint64_t bytes, const std::string& what);
  Result<std::uint32_t> word(const std::string& what);
  /// A count or size: 4 bytes, in CDF-5 8.
  Result<std::uint64_t> number(const std::string& what);
  /// A count whose items take at least `item_bytes` bytes each.
  Result<std::uint64_t> count(std::uint64_t item_bytes, std::uint64_t maximum, const std::string& what);
  /// The tag and length that begin a list; both are zero when it is absent.
  Result<std::uint64_t> list(std::uint32_t tag, std::uint64_t item_bytes, const std::string& what);
  Result<std::string> name(const std::string& what);
  Result<ValueType> type(const std::string& what);
  Status dimensions();
  Result<std::vector<Attribute>> attributes(const std::string& owner);
  Status variable(std::uint64_t index);
  Status layout();
  Status bad(const std::string& what) const {
    return Status::corruption("NetCDF header at byte " + std::to_string(at_) + ": " + what);
  }

  int fd_;
  std::uint64_t file_bytes_;
  std::vector<std::byte> buffer_;
  std::uint64_t at_ = 0;
  bool wide_ = false;          ///< CDF-5: counts and sizes of 8 bytes
  bool wide_offsets_ = false;  ///< CDF-2 and CDF-5
  std::uint64_t size_bytes_ = 4;
  bool records_open_ = false;  ///< the number of records was left open ("streaming")
  std::uint32_t record_dimension_ = UINT32_MAX;
  ClassicHeader header_;
};

Status HeaderReader::need(std::uint64_t bytes, const std::string& what) {
  if (bytes > file_bytes_ || at_ > file_bytes_ - bytes)
    return bad(what + " does not end within the file of " + std::to_string(file_bytes_) + " bytes");
  const std::uint64_t end = at_ + bytes;
  if (end > kHeaderMax)
    return Status::invalid_argument("NetCDF header is larger than " + std::to_string(kHeaderMax) + " bytes");
  if (end <= buffer_.size()) return Status::ok();
  const std::uint64_t had = buffer_.size();
  buffer_.resize(std::min(file_bytes_, align_up(end, kReadStep)));
  return read_exactly(fd_, had, buffer_.data() + had, buffer_.size() - had);
}

Result<std::uint32_t> HeaderReader::word(const std::string& what) {
  NVMDB_TRY(need(4, what));
  const auto value = big_endian_at<std::uint32_t>(buffer_.data() + at_);
  at_ += 4;
  return value;
}

Result<std::uint64_t> HeaderReader::number(const std::string& what) {
  if (!wide_) {
    NVMDB_ASSIGN(const std::uint32_t value, word(what));
    return std::uint64_t{value};
  }
  NVMDB_TRY(need(8, what));
  const auto value = big_endian_at<std::uint64_t>(buffer_.data() + at_);
  at_ += 8;
  return value;
}

Result<std::uint64_t> HeaderReader::count(std::uint64_t item_bytes, std::uint64_t maximum,
                                          const std::string& what) {
  NVMDB_ASSIGN(const std::uint64_t value, number(what));
  if (value > maximum)
    return bad(what + " is " + std::to_string(value) + ", expected at most " + std::to_string(maximum));
  if (value > (file_bytes_ - at_) / item_bytes)
    return bad(what + " is " + std::to_string(value) + ", more than the rest of the file can hold");
  return value;
}

Result<std::uint64_t> HeaderReader::list(std::uint32_t tag, std::uint64_t item_bytes,
                                         const std::string& what) {
  NVMDB_ASSIGN(const std::uint32_t found, word("tag of " + what));
  NVMDB_ASSIGN(const std::uint64_t items, count(item_bytes, kCountMax, "number of " + what));
  if (found == 0 && items == 0) return items;
  if (found != tag)
    return bad("tag of " + what + " is " + std::to_string(found) + ", expected " + std::to_string(tag));
  return items;
}

Result<std::string> HeaderReader::name(const std::string& what) {
  NVMDB_ASSIGN(const std::uint64_t length, count(1, kNameMax, "length of the name of " + what));
  const std::uint64_t padded = align_up(length, 4);
  NVMDB_TRY(need(padded, "name of " + what));
  std::string text(length, '\0');
  if (length > 0) std::memcpy(text.data(), buffer_.data() + at_, length);
  at_ += padded;
  if (text.empty() || text.find('\0') != std::string::npos)
    return bad("name of " + what + " is empty or holds a NUL");
  return text;
}

Result<ValueType> HeaderReader::type(const std::string& what) {
  constexpr ValueType kTypes[] = {ValueType::Int8,    ValueType::Char,    ValueType::Int16, ValueType::Int32,
                                  ValueType::Float32, ValueType::Float64, ValueType::Uint8, ValueType::Uint16,
                                  ValueType::Uint32,  ValueType::Int64,   ValueType::Uint64};
  NVMDB_ASSIGN(const std::uint32_t code, word("type of " + what));
  const std::uint32_t codes = wide_ ? 11 : 6;
  if (code < 1 || code > codes)
    return bad("type of " + what + " is " + std::to_string(code) + ", expected 1 to " +
               std::to_string(codes));
  return kTypes[code - 1];
}

Status HeaderReader::dimensions() {
  NVMDB_ASSIGN(const std::uint64_t items, list(kTagDimension, 2 * size_bytes_ + 4, "dimensions"));
  for (std::uint64_t i = 0; i < items; ++i) {
    Dimension dimension;
    NVMDB_ASSIGN(dimension.name, name("dimension " + std::to_string(i)));
    NVMDB_ASSIGN(dimension.size, number("size of dimension " + dimension.name));
    if (dimension.size > 1ULL << 62U) return bad("size of dimension " + dimension.name + " is out of range");
    if (dimension.size == 0) {
      if (record_dimension_ != UINT32_MAX)
        return bad("dimension " + dimension.name + " is a second record dimension");
      record_dimension_ = narrow<std::uint32_t>(i);
      dimension.unlimited = true;
    }
    header_.dataset.dimensions.push_back(std::move(dimension));
  }
  return Status::ok();
}

Result<std::vector<Attribute>> HeaderReader::attributes(const std::string& owner) {
  NVMDB_ASSIGN(const std::uint64_t items, list(kTagAttribute, 2 * size_bytes_ + 8, "attributes of " + owner));
  std::vector<Attribute> found;
  for (std::uint64_t i = 0; i < items; ++i) {
    Attribute attribute;
    NVMDB_ASSIGN(attribute.name, name("attribute " + std::to_string(i) + " of " + owner));
    const std::string what = "attribute " + attribute.name + " of " + owner;
    NVMDB_ASSIGN(attribute.type, type(what));
    const std::uint64_t width = value_bytes(attribute.type);
    NVMDB_ASSIGN(const std::uint64_t values, count(width, kHeaderMax, "length of " + what));
    NVMDB_TRY(need(align_up(values * width, 4), what));
    const std::byte* at = buffer_.data() + at_;
    if (attribute.type == ValueType::Char) {
      for (std::uint64_t k = 0; k < values; ++k) attribute.text += static_cast<char>(at[k]);
      attribute.text.erase(attribute.text.find_last_not_of('\0') + 1);
    } else {
      for (std::uint64_t k = 0; k < values; ++k)
        attribute.numbers.push_back(number_at(at + k * width, attribute.type));
    }
    at_ += align_up(values * width, 4);
    found.push_back(std::move(attribute));
  }
  return found;
}

Status HeaderReader::variable(std::uint64_t index) {
  Variable variable;
  NVMDB_ASSIGN(variable.name, name("variable " + std::to_string(index)));
  const std::string what = "variable " + variable.name;
  NVMDB_ASSIGN(const std::uint64_t rank, count(size_bytes_, kRankMax, "rank of " + what));
  for (std::uint64_t i = 0; i < rank; ++i) {
    NVMDB_ASSIGN(const std::uint64_t dimension, number("dimension of " + what));
    if (dimension >= header_.dataset.dimensions.size())
      return bad(what + " has dimension number " + std::to_string(dimension) + " of " +
                 std::to_string(header_.dataset.dimensions.size()));
    if (dimension == record_dimension_ && i != 0)
      return bad(what + " has the record dimension, but not first");
    variable.dimensions.push_back(narrow<std::uint32_t>(dimension));
  }
  NVMDB_ASSIGN(variable.attributes, attributes(what));
  NVMDB_ASSIGN(variable.type, type(what));
  // The declared size saturates in CDF-1 and CDF-2 and is redundant: it is computed from the dimensions.
  NVMDB_ASSIGN([[maybe_unused]] const std::uint64_t declared, number("size of " + what));
  ClassicPlace place;
  if (wide_offsets_) {
    NVMDB_TRY(need(8, "begin of " + what));
    place.begin = big_endian_at<std::uint64_t>(buffer_.data() + at_);
    at_ += 8;
  } else {
    NVMDB_ASSIGN(place.begin, word("begin of " + what));
  }
  place.in_records = rank > 0 && variable.dimensions.front() == record_dimension_;
  std::uint64_t elements = 1;
  for (std::uint64_t i = place.in_records ? 1 : 0; i < rank; ++i) {
    if (!multiply_sizes(elements, header_.dataset.dimensions[variable.dimensions[i]].size))
      return bad("size of " + what + " is out of range");
  }
  if (!multiply_sizes(elements, value_bytes(variable.type)))
    return bad("size of " + what + " is out of range");
  place.slab_elements = elements / value_bytes(variable.type);
  if (place.begin > 1ULL << 62U)
    return bad("begin of " + what + " is out of range: " + std::to_string(place.begin));
  header_.dataset.variables.push_back(std::move(variable));
  header_.places.push_back(place);
  return Status::ok();
}

Status HeaderReader::layout() {
  header_.header_bytes = at_;
  std::uint64_t in_records = 0;
  std::uint64_t last_bytes = 0;
  std::uint64_t first_record = UINT64_MAX;
  for (std::size_t i = 0; i < header_.places.size(); ++i) {
    const ClassicPlace& place = header_.places[i];
    const Variable& variable = header_.dataset.variables[i];
    if (place.slab_elements > 0 && place.begin < header_.header_bytes)
      return Status::corruption("NetCDF variable " + variable.name + " begins at byte " +
                                std::to_string(place.begin) + ", inside the header of " +
                                std::to_string(header_.header_bytes) + " bytes");
    if (!place.in_records) continue;
    last_bytes = place.slab_elements * value_bytes(variable.type);
    if (__builtin_add_overflow(header_.record_bytes, align_up(last_bytes, 4), &header_.record_bytes) ||
        header_.record_bytes > 1ULL << 62U)
      return bad("size of a record is out of range");
    first_record = std::min(first_record, place.begin);
    ++in_records;
  }
  // Records of a lone variable are not padded.
  if (in_records == 1) header_.record_bytes = last_bytes;
  if (records_open_) {
    header_.records = header_.record_bytes == 0 || first_record >= file_bytes_
                          ? 0
                          : (file_bytes_ - first_record) / header_.record_bytes;
  }
  if (record_dimension_ != UINT32_MAX) header_.dataset.dimensions[record_dimension_].size = header_.records;
  std::uint64_t declared = std::max<std::uint64_t>(header_.record_bytes, 1);
  if (!multiply_sizes(declared, std::max<std::uint64_t>(header_.records, 1)))
    return bad(std::to_string(header_.records) + " records of " + std::to_string(header_.record_bytes) +
               " bytes are out of range");
  return Status::ok();
}

Result<ClassicHeader> HeaderReader::read() {
  NVMDB_TRY(need(4, "magic"));
  const auto version = static_cast<unsigned>(buffer_[3]);
  if (std::memcmp(buffer_.data(), "CDF", 3) != 0 || (version != 1 && version != 2 && version != 5))
    return Status::invalid_argument("not a classic NetCDF file: expected CDF-1, CDF-2 or CDF-5");
  at_ = 4;
  wide_ = version == 5;
  wide_offsets_ = version != 1;
  size_bytes_ = wide_ ? 8 : 4;
  NVMDB_ASSIGN(header_.records, number("number of records"));
  records_open_ = header_.records == (wide_ ? UINT64_MAX : UINT32_MAX);
  NVMDB_TRY(dimensions());
  NVMDB_ASSIGN(header_.dataset.attributes, attributes("the file"));
  NVMDB_ASSIGN(const std::uint64_t items, list(kTagVariable, 4 * size_bytes_ + 16, "variables"));
  for (std::uint64_t i = 0; i < items; ++i) NVMDB_TRY(variable(i));
  NVMDB_TRY(layout());
  return std::move(header_);
}

}  // namespace

Status read_exactly(int fd, std::uint64_t offset, void* out, std::uint64_t bytes) {
  auto* at = static_cast<std::byte*>(out);
  while (bytes > 0) {
    const ssize_t got = ::pread(fd, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return Status::io_error("reading at byte " + std::to_string(offset) +
                              " failed: " + std::strerror(errno));
    if (got == 0)
      return Status::corruption("the file ends at byte " + std::to_string(offset) + ", " +
                                std::to_string(bytes) + " bytes too early");
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
  return Status::ok();
}

Result<ClassicHeader> read_classic_header(int fd, std::uint64_t file_bytes) {
  return HeaderReader(fd, file_bytes).read();
}

}  // namespace nvmdb::ingest::netcdf
