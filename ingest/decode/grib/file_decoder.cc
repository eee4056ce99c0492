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

Result<KnownHeader> read_known_header(const Handle& handle, unsigned edition) {
  KnownHeader header;
  NVMDB_ASSIGN(header.parameter, read_parameter(handle, edition));
  header.level = read_level(handle, edition);
  header.member = read_member(handle);
  header.centre = handle.text("centre").value_or("unknown");
  header.attributes = "{\"centre\":" + json_text(header.centre) +
                      ",\"centre_name\":" + json_text(handle.text("centreDescription").value_or("")) + "}";
  header.version = read_version(handle);
  return header;
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
  LazyHandle handle(sections);
  Prepared out;
  NVMDB_TRY(read_header(sections, handle, out));
  NVMDB_ASSIGN(auto packed, unpack_simple(sections, declared));
  if (!packed) {
    NVMDB_ASSIGN(packed, unpack_ccsds(sections, declared));
  }
  if (packed) {
    out.values = std::move(*packed);
  } else {
    NVMDB_ASSIGN(Handle* const open, handle.get());
    NVMDB_ASSIGN(out.values, unpack_by_eccodes(*open, declared));
  }
  out.field.encoding = out.values.encoding;
  out.field.points = out.values.points;
  NVMDB_TRY(out.values.encoding.validate());
  NVMDB_ASSIGN(out.grid, find_grid(sections, handle, out.values.points));
  out.run.domain = out.grid->grid.domain;
  return out;
}

Status FileDecoder::read_header(const FieldSections& sections, LazyHandle& handle, Prepared& out) {
  const std::optional<std::string> key = HeaderMemo::key(sections);
  const KnownHeader* known = key ? memo_.find(*key) : nullptr;
  KnownHeader fresh;
  FieldTimes times;
  if (known != nullptr) {
    NVMDB_ASSIGN(times, read_times_at_point(sections));
  } else {
    NVMDB_ASSIGN(Handle* const open, handle.get());
    NVMDB_ASSIGN(fresh, read_known_header(*open, sections.edition));
    NVMDB_ASSIGN(times, read_times(sections, *open));
    known = key ? memo_.remember(*key, fresh) : &fresh;
  }
  out.field.parameter = known->parameter;
  out.field.level = known->level;
  out.field.member = known->member;
  out.field.step = times.step;
  out.run = DecodedRun{.format = "grib",
                       .model = known->centre,
                       .domain = "",  // the grid tells it
                       .version = known->version,
                       .reference_time = times.reference_time,
                       .significance = times.significance,
                       .attributes = known->attributes};
  return Status::ok();
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

Result<FileDecoder::KnownGrid*> FileDecoder::find_grid(const FieldSections& sections, LazyHandle& handle,
                                                       std::uint64_t points) {
  const std::string key = grid_key(sections, points);
  if (const auto known = grids_.find(key); known != grids_.end()) return &known->second;
  NVMDB_ASSIGN(const Handle* const open, handle.get());
  NVMDB_ASSIGN(FieldGrid grid, read_grid(sections, *open, points));
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
