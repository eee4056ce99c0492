#include "ingest/decode/grib/sections.h"

#include <algorithm>
#include <array>
#include <string>

#include "ingest/decode/grib/octets.h"

namespace nvmdb::ingest::grib {
namespace {

constexpr std::size_t kHeader1 = 8;
constexpr std::size_t kHeader2 = 16;
constexpr std::size_t kEnd = 4;
constexpr std::uint32_t kSameBitmap = 254;

Status bad_section(unsigned number, std::uint64_t at, const std::string& what) {
  return Status::corruption("section " + std::to_string(number) + " at byte " + std::to_string(at) +
                            " of the message: " + what);
}

/// Least lengths that make the octets readable that this decoder looks at, by section number.
constexpr std::array<std::uint32_t, 8> kLeast2 = {0, 21, 5, 14, 11, 11, 6, 5};

Result<std::vector<FieldSections>> split_grib2(ByteSpan message) {
  std::vector<FieldSections> fields;
  std::array<ByteSpan, 8> current{};
  ByteSpan last_bitmap;
  bool shares_bitmap = false;
  unsigned previous = 0;
  const std::size_t end = message.size() - kEnd;
  std::size_t at = kHeader2;
  while (at < end) {
    if (end - at < 5)
      return bad_section(previous, at, "expected a section, found " + std::to_string(end - at) + " bytes");
    const std::uint32_t length = octet4(message, at);
    const std::uint32_t number = octet1(message, at + 4);
    if (number < 1 || number > 7) return bad_section(number, at, "no such section");
    const bool follows = number == previous + 1 || (number == 3 && previous == 1) ||
                         (previous == 7 && number >= 2 && number <= 4);
    if (!follows) return bad_section(number, at, "cannot follow section " + std::to_string(previous));
    if (length < kLeast2[number] || length > end - at) {
      return bad_section(number, at,
                         "length " + std::to_string(length) + " does not fit, " + std::to_string(end - at) +
                             " bytes are left");
    }
    current[number] = message.subspan(at, length);
    if (number == 6) {
      shares_bitmap = octet1(current[6], 5) == kSameBitmap;
      if (!shares_bitmap) last_bitmap = current[6];
      if (last_bitmap.empty()) return bad_section(6, at, "refers to an earlier bitmap; there is none");
      current[6] = last_bitmap;
    }
    if (number == 7) {
      fields.push_back({.edition = 2,
                        .identification = current[1],
                        .local = current[2],
                        .grid = current[3],
                        .product = current[4],
                        .representation = current[5],
                        .bitmap = current[6],
                        .data = current[7],
                        .message = message,
                        .alone = !shares_bitmap});
    }
    previous = number;
    at += length;
  }
  if (previous != 7) return bad_section(previous, at, "is the last one, expected section 7");
  if (fields.size() > 1) {
    for (FieldSections& field : fields) field.alone = false;
  }
  return fields;
}

Result<std::vector<FieldSections>> split_grib1(ByteSpan message) {
  FieldSections field{.edition = 1, .message = message};
  const std::size_t end = message.size() - kEnd;
  std::size_t at = kHeader1;
  const auto take = [&](unsigned number, std::uint32_t least, ByteSpan& section) {
    if (end - at < 3) return bad_section(number, at, "is missing");
    std::uint64_t length = octet3(message, at);
    // In the large-message convention the length of section 4 is no length: the section ends with the
    // message.
    if (number == 4 && length < 120 && (octet1(message, 4) & 0x80U) != 0) length = end - at;
    if (length < least || length > end - at) {
      return bad_section(number, at,
                         "length " + std::to_string(length) + " does not fit, " + std::to_string(end - at) +
                             " bytes are left");
    }
    section = message.subspan(at, length);
    at += length;
    return Status::ok();
  };
  NVMDB_TRY(take(1, 28, field.product));
  const std::uint32_t flags = octet1(field.product, 7);
  if ((flags & 0x80U) != 0) NVMDB_TRY(take(2, 32, field.grid));
  if ((flags & 0x40U) != 0) NVMDB_TRY(take(3, 6, field.bitmap));
  NVMDB_TRY(take(4, 11, field.data));
  return std::vector<FieldSections>{field};
}

Status check_points(std::uint64_t points, const DecodeLimits& limits, std::uint64_t file_bytes) {
  constexpr std::uint64_t kAlwaysAllowed = 64ULL << 20U;
  const std::uint64_t bytes = points * sizeof(float);
  if (points == 0) return Status::corruption("the grid has no points");
  if (bytes > limits.field_bytes_max) {
    return Status::invalid_argument("the grid has " + std::to_string(points) +
                                    " points, more than the limit of " +
                                    std::to_string(limits.field_bytes_max / sizeof(float)));
  }
  if (bytes > kAlwaysAllowed && bytes / limits.declared_ratio_max > file_bytes) {
    return Status::invalid_argument("the grid has " + std::to_string(points) + " points in a file of " +
                                    std::to_string(file_bytes) + " bytes: more than the limit of " +
                                    std::to_string(limits.declared_ratio_max) + " declared bytes per byte");
  }
  return Status::ok();
}

Status spectral(std::uint32_t code) {
  return Status::invalid_argument("spectral coefficients (grid template " + std::to_string(code) +
                                  ") are not a grid; transform them before");
}

Result<std::uint64_t> declared_points1(ByteSpan grid) {
  if (grid.empty()) return std::uint64_t{0};
  const std::uint32_t type = octet1(grid, 5);
  if (type == 50 || type == 60 || type == 70 || type == 80) return spectral(type);
  const std::uint32_t vertical = octet1(grid, 3);
  const std::uint32_t list = octet1(grid, 4);
  const std::uint32_t columns = octet2(grid, 6);
  const std::uint32_t rows = octet2(grid, 8);
  if (columns != 0xffff) return std::uint64_t{columns} * rows;
  const std::size_t at = (list == 255 ? 32U : list - 1U) + std::size_t{4} * vertical;
  if (list == 0 || at + std::size_t{2} * rows > grid.size()) {
    return Status::corruption("section 2: " + std::to_string(rows) + " row lengths do not fit its " +
                              std::to_string(grid.size()) + " bytes");
  }
  std::uint64_t points = 0;
  for (std::size_t row = 0; row < rows; ++row) points += octet2(grid, at + 2 * row);
  return points;
}

Result<std::uint64_t> declared_points2(const FieldSections& s) {
  const std::uint32_t grid_template = octet2(s.grid, 12);
  if ((grid_template >= 50 && grid_template <= 53) || (grid_template >= 61 && grid_template <= 63)) {
    return spectral(grid_template);
  }
  const std::uint64_t points = octet4(s.grid, 6);
  if (const std::uint32_t width = octet1(s.grid, 10); width != 0 && s.grid.size() >= 38) {
    const std::uint64_t list = std::uint64_t{octet4(s.grid, 34)} * width;
    if (list > s.grid.size())
      return Status::corruption("section 3: the list of row lengths does not fit the section");
  }
  if (std::size_t{4} * octet2(s.product, 5) > s.product.size()) {
    return Status::corruption("section 4: the vertical coordinates do not fit the section");
  }
  const std::uint64_t values = octet4(s.representation, 5);
  if (values > points) {
    return Status::corruption("section 5 says " + std::to_string(values) + " values, the grid has " +
                              std::to_string(points) + " points");
  }
  const std::uint32_t packing = octet2(s.representation, 9);
  if ((packing == 2 || packing == 3) && s.representation.size() >= 35) {
    const std::uint64_t groups = octet4(s.representation, 31);
    if (groups > points) {
      return Status::corruption("section 5 says " + std::to_string(groups) + " groups for " +
                                std::to_string(points) + " points");
    }
  }
  return points;
}

void append(Bytes& out, ByteSpan bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

Result<std::vector<FieldSections>> split_fields(const ScannedMessage& message) {
  return message.edition == 1 ? split_grib1(message.bytes) : split_grib2(message.bytes);
}

Bytes assemble_message(const FieldSections& s) {
  Bytes out;
  append(out, s.message.first(kHeader2));
  for (const ByteSpan section :
       {s.identification, s.local, s.grid, s.product, s.representation, s.bitmap, s.data}) {
    append(out, section);
  }
  append(out, s.message.last(kEnd));
  for (unsigned i = 0; i < 8; ++i) {
    out[8 + i] = static_cast<std::byte>(static_cast<std::uint64_t>(out.size()) >> (56 - 8 * i) & 0xffU);
  }
  return out;
}

Result<std::uint64_t> check_declared_sizes(const FieldSections& sections, const DecodeLimits& limits,
                                           std::uint64_t file_bytes) {
  NVMDB_ASSIGN(const std::uint64_t points,
               sections.edition == 1 ? declared_points1(sections.grid) : declared_points2(sections));
  if (sections.edition == 1 && sections.grid.empty()) return points;
  NVMDB_TRY(check_points(points, limits, file_bytes));
  return points;
}

}  // namespace nvmdb::ingest::grib
