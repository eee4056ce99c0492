#include "ingest/decode/grib/file_decoder.h"

#include <array>
#include <cstdio>
#include <utility>
#include <variant>
#include <vector>

#include "ingest/decode/grib/extent_writer.h"
#include "ingest/decode/grib/keys.h"
#include "ingest/decode/grib/octets.h"
#include "ingest/decode/grib/times.h"
#include "storage/base/crc32c.h"

namespace nvmdb::ingest::grib {
namespace {

constexpr std::size_t kKnownGridsMax = 64;

std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) continue;
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

DecodedRun read_run(const Handle& handle, const FieldTimes& times, const std::string& domain) {
  DecodedRun run{.format = "grib",
                 .model = handle.text("centre").value_or("unknown"),
                 .domain = domain,
                 .version = read_version(handle),
                 .reference_time = times.reference_time,
                 .significance = times.significance};
  run.attributes = "{\"centre\":" + json_text(run.model) +
                   ",\"centre_name\":" + json_text(handle.text("centreDescription").value_or("")) + "}";
  return run;
}

/// What tells two grids of the same type and dimensions apart in the name of a domain.
std::string area_text(const met::Grid& g) {
  std::array<char, 128> text{};
  if (g.type == met::GridType::Unlocated) {
    std::snprintf(text.data(), text.size(), "%08x", crc32c(std::as_bytes(std::span(g.description))));
  } else {
    std::snprintf(text.data(), text.size(), "%.6g_%.6g_%.6g_%.6g", g.first_latitude, g.first_longitude,
                  g.last_latitude, g.last_longitude);
  }
  return text.data();
}

/// What the grid depends on: the grid section, and of GRIB1 the number of a predefined grid.
std::string grid_key(const FieldSections& s, std::uint64_t points) {
  std::string key = std::to_string(s.edition) + ":" + std::to_string(points) + ":";
  if (s.edition == 1)
    key += std::to_string(octet1(s.product, 4)) + ":" + std::to_string(octet1(s.product, 6)) + ":";
  for (const std::byte byte : s.grid) key += static_cast<char>(byte);
  return key;
}

}  // namespace

Status FileDecoder::run() {
  std::uint64_t number = 0;
  while (const auto found = scanner_.next()) {
    ++number;
    const auto place = [&](std::uint64_t offset) {
      return "message " + std::to_string(number) + " at byte " + std::to_string(offset);
    };
    if (const auto* problem = std::get_if<ScanProblem>(&*found)) {
      NVMDB_TRY(sink_.rejected(place(problem->offset), problem->why));
      continue;
    }
    const auto& message = std::get<ScannedMessage>(*found);
    NVMDB_TRY(decode_message(message, place(message.offset)));
  }
  return number == 0 ? Status::invalid_argument("no GRIB message in the file") : Status::ok();
}

Status FileDecoder::decode_message(const ScannedMessage& message, const std::string& where) {
  const auto fields = split_fields(message);
  if (!fields.is_ok()) {
    scanner_.search_inside(message);
    return sink_.rejected(where, fields.status());
  }
  for (std::size_t i = 0; i < fields->size(); ++i) {
    if (++fields_ > limits_.fields_max) {
      return Status::invalid_argument("more than " + std::to_string(limits_.fields_max) +
                                      " fields in one file");
    }
    const std::string here = fields->size() == 1 ? where : where + ", field " + std::to_string(i + 1);
    auto prepared = prepare((*fields)[i]);
    if (!prepared.is_ok()) {
      NVMDB_TRY(sink_.rejected(here, prepared.status()));
      continue;
    }
    prepared->field.where = here;
    NVMDB_TRY(deliver(*prepared));
  }
  return Status::ok();
}

Result<FileDecoder::Prepared> FileDecoder::prepare(const FieldSections& sections) {
  NVMDB_ASSIGN(const std::uint64_t declared, check_declared_sizes(sections, limits_, file_.size()));
  Bytes own_message;
  if (!sections.alone) own_message = assemble_message(sections);
  NVMDB_ASSIGN(Handle handle, Handle::open(sections.alone ? sections.message : ByteSpan(own_message)));

  Prepared out;
  met::Parameter& parameter = out.field.parameter;
  NVMDB_ASSIGN(parameter, read_parameter(handle, sections.edition));
  NVMDB_ASSIGN(const FieldTimes times, read_times(sections, handle));
  out.field.step = times.step;
  out.field.level = read_level(handle, sections.edition);
  out.field.member = read_member(handle);

  NVMDB_ASSIGN(auto simple, unpack_simple(sections, declared));
  if (simple) {
    out.values = std::move(*simple);
  } else {
    NVMDB_ASSIGN(out.values, unpack_by_eccodes(handle, declared));
  }
  out.field.encoding = out.values.encoding;
  out.field.points = out.values.points;
  NVMDB_TRY(out.values.encoding.validate());
  NVMDB_ASSIGN(out.grid, find_grid(sections, handle, out.values.points));
  out.run = read_run(handle, times, out.grid->grid.domain);
  return out;
}

Status FileDecoder::deliver(Prepared& prepared) {
  KnownGrid& known = *prepared.grid;
  NVMDB_ASSIGN(prepared.field.run, sink_.run(prepared.run));
  if (!known.number) {
    NVMDB_ASSIGN(known.number, sink_.grid(known.grid.grid));
  }
  prepared.field.grid = *known.number;
  NVMDB_TRY(sink_.begin_field(prepared.field));
  NVMDB_ASSIGN(const DecodedStatistics statistics, write_extent(prepared.values, known.grid.order, sink_));
  return sink_.end_field(statistics);
}

Result<FileDecoder::KnownGrid*> FileDecoder::find_grid(const FieldSections& sections, const Handle& handle,
                                                       std::uint64_t points) {
  const std::string key = grid_key(sections, points);
  if (const auto known = grids_.find(key); known != grids_.end()) return &known->second;
  NVMDB_ASSIGN(FieldGrid grid, read_grid(sections, handle, points));
  NVMDB_TRY(grid.grid.validate());
  keep_domains_apart(grid);
  if (grids_.size() >= kKnownGridsMax) grids_.clear();
  return &grids_.emplace(key, KnownGrid{std::move(grid), std::nullopt}).first->second;
}

/// Tiles of one size must not overwrite one another: the second area of a file under one name gets a longer
/// name.
void FileDecoder::keep_domains_apart(FieldGrid& grid) {
  const std::string area = area_text(grid.grid);
  const auto [first, added] = domain_areas_.try_emplace(grid.domain, area);
  if (!added && first->second != area) grid.domain += "_" + area;
}

}  // namespace nvmdb::ingest::grib
