#include "ingest/decode/netcdf/frames.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "ingest/decode/netcdf/values.h"

namespace nvmdb::ingest::netcdf {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes up to `digits` digits. Returns false when there is none.
bool take_number(std::string_view& text, std::size_t digits, int& value) {
  std::size_t taken = 0;
  value = 0;
  while (taken < digits && taken < text.size() && is_digit(text[taken]))
    value = value * 10 + (text[taken++] - '0');
  text.remove_prefix(taken);
  return taken > 0;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank(" \t\r\n\0", 5);
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// What is said of the valid time of each frame.
struct FrameTimes {
  std::vector<Result<met::UnixSeconds>> times;
  std::vector<std::string> texts;
  bool none = true;  ///< nothing in the file tells times
};

class FrameReader {
 public:
  FrameReader(ValueSource& source, const DecodeLimits& limits) : source_(source), limits_(limits) {}
  Result<FrameTable> read();

 private:
  void find_time_dimension();
  [[nodiscard]] bool has_only_time(const Variable& variable) const {
    return variable.dimensions.size() == 1 && variable.dimensions[0] == table_.time_dimension;
  }
  std::uint64_t count_frames();
  FrameTimes read_times(std::uint64_t frames);
  bool read_texts(std::uint64_t frames, FrameTimes& out);
  bool read_coordinate(std::uint64_t frames, FrameTimes& out);
  void add_times(const Variable& variable, const Result<TimeUnits>& units, std::uint64_t frames,
                 FrameTimes& out);
  Status check_complete(std::uint64_t frame) const;
  void choose_reference(const FrameTimes& times);
  void drop_repeated_times();

  ValueSource& source_;
  const DecodeLimits& limits_;
  FrameTable table_;
};

void FrameReader::find_time_dimension() {
  const Dataset& dataset = source_.dataset();
  const Variable* times = dataset.find_variable("Times");
  if (times != nullptr && !times->dimensions.empty() && !is_numeric(times->type)) {
    table_.time_dimension = times->dimensions[0];
    return;
  }
  for (const char* name : {"Time", "time", "valid_time"}) {
    for (std::uint32_t i = 0; i < dataset.dimensions.size(); ++i) {
      if (dataset.dimensions[i].name == name) {
        table_.time_dimension = i;
        return;
      }
    }
  }
  for (const Variable& variable : dataset.variables) {
    if (variable.dimensions.size() == 1 &&
        parse_time_units(attribute_text(variable.attributes, "units")).is_ok()) {
      table_.time_dimension = variable.dimensions[0];
      return;
    }
  }
  for (std::uint32_t i = 0; i < dataset.dimensions.size(); ++i) {
    if (dataset.dimensions[i].unlimited) table_.time_dimension = i;
  }
}

/// Frames to look at. Those that the file cannot hold by its size are rejected at once: their number comes
/// from outside.
std::uint64_t FrameReader::count_frames() {
  if (!table_.time_dimension) return 0;
  const std::uint64_t declared = source_.dataset().dimensions[*table_.time_dimension].size;
  const std::uint64_t looked_at = std::min({declared, source_.frames_max(), limits_.fields_max});
  if (looked_at < declared) {
    const std::string first = std::to_string(looked_at);
    table_.rejected.push_back(
        {looked_at + 1 == declared ? "frame " + first
                                   : "frames " + first + " to " + std::to_string(declared - 1),
         Status::corruption(
             "the file is truncated: its size leaves no room for them, or they are too many")});
  }
  return looked_at;
}

bool FrameReader::read_texts(std::uint64_t frames, FrameTimes& out) {
  constexpr std::uint64_t kTextMax = 256;
  const Dataset& dataset = source_.dataset();
  const Variable* times = dataset.find_variable("Times");
  if (times == nullptr || times->dimensions.empty() || times->dimensions[0] != table_.time_dimension)
    return false;
  const std::uint32_t number = dataset.index_of(*times);
  if (times->type == ValueType::String && times->dimensions.size() == 1) {
    Result<std::vector<std::string>> texts = source_.read_strings(number);
    if (texts.is_ok()) out.texts = std::move(texts).value();
  } else if (times->type == ValueType::Char && times->dimensions.size() == 2) {
    const std::uint64_t length = dataset.dimensions[times->dimensions[1]].size;
    if (length == 0 || length > kTextMax) return false;
    std::string text(length, '\0');
    for (std::uint64_t frame = 0; frame < frames; ++frame) {
      const bool there =
          source_.check_present(number, frame * length, length).is_ok() &&
          source_.read(number, frame * length, std::as_writable_bytes(std::span(text))).is_ok();
      out.texts.emplace_back(there ? trim(text) : "");
    }
  }
  if (out.texts.empty() || std::all_of(out.texts.begin(), out.texts.end(), is_no_time)) return false;
  out.texts.resize(frames);
  for (const std::string& text : out.texts) out.times.push_back(parse_wrf_time(text));
  return true;
}

void FrameReader::add_times(const Variable& variable, const Result<TimeUnits>& units, std::uint64_t frames,
                            FrameTimes& out) {
  const std::uint32_t number = source_.dataset().index_of(variable);
  const Conversion conversion = plan_conversion(variable, source_.is_big_endian(number));
  std::array<std::byte, 8> raw{};
  const std::uint64_t width = value_bytes(variable.type);
  for (std::uint64_t frame = 0; frame < frames; ++frame) {
    Status status = source_.check_present(number, frame, 1);
    if (status.is_ok()) status = source_.read(number, frame, std::span(raw).first(width));
    out.texts.emplace_back();
    if (!status.is_ok()) {
      out.times.emplace_back(status);
      continue;
    }
    const double value = convert_to_doubles(conversion, std::span(raw).first(width)).front();
    out.texts.back() = std::to_string(value);
    if (!units.is_ok()) {
      out.times.emplace_back(units.status());
    } else if (!(std::fabs(value * units->seconds) < 1e12)) {
      out.times.emplace_back(Status::invalid_argument("time " + std::to_string(value) + " is out of range"));
    } else {
      out.times.emplace_back(units->origin + std::llround(value * units->seconds));
    }
  }
}

/// A coordinate variable with "... since ..." units, or XTIME, which older WRF counts in minutes from the
/// start.
bool FrameReader::read_coordinate(std::uint64_t frames, FrameTimes& out) {
  const Dataset& dataset = source_.dataset();
  const std::string& name = dataset.dimensions[*table_.time_dimension].name;
  const Variable* best = nullptr;
  for (const Variable& variable : dataset.variables) {
    if (!has_only_time(variable) || !is_numeric(variable.type) || !variable.unreadable.empty()) continue;
    if (attribute_text(variable.attributes, "units").find(" since ") == std::string::npos) continue;
    if (best == nullptr || variable.name == name) best = &variable;
  }
  if (best != nullptr) {
    const std::string calendar = attribute_text(best->attributes, "calendar");
    const bool known = calendar.empty() || calendar == "standard" || calendar == "gregorian" ||
                       calendar == "proleptic_gregorian";
    add_times(*best,
              known ? parse_time_units(attribute_text(best->attributes, "units"))
                    : Status::invalid_argument("calendar '" + calendar + "' is not supported"),
              frames, out);
    return true;
  }
  const Variable* minutes = dataset.find_variable("XTIME");
  const auto start = parse_wrf_time(attribute_text(dataset.attributes, "SIMULATION_START_DATE"));
  if (minutes == nullptr || !start.is_ok() || !has_only_time(*minutes) || !is_numeric(minutes->type) ||
      !minutes->unreadable.empty())
    return false;
  add_times(*minutes, TimeUnits{60, *start}, frames, out);
  return true;
}

FrameTimes FrameReader::read_times(std::uint64_t frames) {
  FrameTimes out;
  if (frames > 0) {
    out.none = !read_texts(frames, out);
    if (out.none) {
      out.texts.clear();
      out.none = !read_coordinate(frames, out);
    }
  }
  return out;
}

/// All values of a frame must be there before any of them is stored: a step is whole or absent.
Status FrameReader::check_complete(std::uint64_t frame) const {
  const Dataset& dataset = source_.dataset();
  for (const Variable& variable : dataset.variables) {
    if (variable.dimensions.empty() || variable.dimensions[0] != table_.time_dimension ||
        value_bytes(variable.type) == 0 || !variable.unreadable.empty())
      continue;
    const std::uint64_t values = dataset.elements(variable, 1);
    NVMDB_TRY(source_.check_present(dataset.index_of(variable), frame * values, values));
  }
  return Status::ok();
}

/// Lead times count from the start of the simulation, in restarts too.
void FrameReader::choose_reference(const FrameTimes& times) {
  for (const char* name : {"SIMULATION_START_DATE", "START_DATE"}) {
    const auto start = parse_wrf_time(attribute_text(source_.dataset().attributes, name));
    if (!start.is_ok()) continue;
    table_.reference_time = *start;
    return;
  }
  for (const auto& time : times.times) {
    if (!time.is_ok()) continue;
    table_.reference_time = *time;
    return;
  }
}

void FrameReader::drop_repeated_times() {
  std::map<met::UnixSeconds, std::uint64_t> last;
  for (const Frame& frame : table_.frames) last[frame.valid_time] = frame.index;
  std::erase_if(table_.frames, [&](const Frame& frame) { return last[frame.valid_time] != frame.index; });
}

Result<FrameTable> FrameReader::read() {
  find_time_dimension();
  const std::uint64_t frames = count_frames();
  const FrameTimes times = read_times(frames);
  if (times.none && frames <= 1) {
    table_.is_static = true;
    table_.significance = met::ReferenceSignificance::Missing;
    if (frames == 0) return std::move(table_);
  } else {
    choose_reference(times);
  }
  for (std::uint64_t i = 0; i < frames; ++i) {
    const std::string text =
        i < times.texts.size() && !times.texts[i].empty() ? " (" + times.texts[i] + ")" : "";
    const std::string where = "frame " + std::to_string(i) + text;
    if (const Status complete = check_complete(i); !complete.is_ok()) {
      table_.rejected.push_back({where, complete});
    } else if (table_.is_static) {
      table_.frames.push_back({i, 0});
    } else if (times.none) {
      table_.rejected.push_back(
          {where, Status::invalid_argument("no variable tells its time (Times, XTIME or a CF time)")});
    } else if (!times.times[i].is_ok()) {
      table_.rejected.push_back({where, times.times[i].status()});
    } else {
      table_.frames.push_back({i, *times.times[i]});
    }
  }
  drop_repeated_times();
  return std::move(table_);
}

}  // namespace

bool is_no_time(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c >= '1' && c <= '9'; });
}

Result<met::UnixSeconds> parse_wrf_time(std::string_view text) {
  const Status bad = Status::invalid_argument("time '" + std::string(text) + "' is not YYYY-MM-DD_HH:MM:SS");
  std::string_view rest = trim(text);
  std::array<int, 6> parts{};
  std::size_t found = 0;
  while (found < parts.size() && take_number(rest, found == 0 ? 4 : 2, parts[found])) {
    ++found;
    if (rest.empty() || found == parts.size()) break;
    if (is_digit(rest.front())) return bad;
    rest.remove_prefix(1);
  }
  if (found < 3) return bad;
  if (!rest.empty() && rest.front() != '.' && rest != "Z") return bad;
  const auto time = met::make_time(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]);
  return time.is_ok() ? time : bad;
}

Result<TimeUnits> parse_time_units(std::string_view text) {
  const Status bad = Status::invalid_argument("time units '" + std::string(text) + "' are not understood");
  constexpr std::string_view kSince = " since ";
  const std::size_t at = text.find(kSince);
  if (at == std::string_view::npos) return bad;
  const std::string_view unit = trim(text.substr(0, at));
  TimeUnits units;
  if (unit.starts_with("sec") || unit == "s") {
    units.seconds = 1;
  } else if (unit.starts_with("min")) {
    units.seconds = 60;
  } else if (unit.starts_with("hour") || unit == "h" || unit == "hr" || unit == "hrs") {
    units.seconds = 3600;
  } else if (unit.starts_with("day") || unit == "d") {
    units.seconds = 86400;
  } else {
    return bad;
  }
  std::string_view origin = trim(text.substr(at + kSince.size()));
  for (const std::string_view zone : {"UTC", "GMT", "Z", "+00:00", "+0000"}) {
    if (origin.ends_with(zone)) origin = trim(origin.substr(0, origin.size() - zone.size()));
  }
  const auto time = parse_wrf_time(origin);
  if (!time.is_ok()) return bad;
  units.origin = *time;
  return units;
}

Result<FrameTable> read_frames(ValueSource& source, const DecodeLimits& limits) {
  return FrameReader(source, limits).read();
}

}  // namespace nvmdb::ingest::netcdf
