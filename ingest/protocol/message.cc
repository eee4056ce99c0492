#include "ingest/protocol/message.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ingest/protocol/text.h"
#include "storage/base/narrow.h"

namespace nvmdb::ingest::protocol {
namespace {

// Years 1 to 9999; steps within 10,000 years.
constexpr met::UnixSeconds kTimeMin = -62'135'596'800;
constexpr met::UnixSeconds kTimeMax = 253'402'300'799;
constexpr std::int64_t kStepSecondsMax = 316'000'000'000;

Status corrupt(const std::string& what) {
  return Status::corruption("reply of the decoder: " + what);
}

void put(ByteWriter& out, const Status& status) {
  out.put(static_cast<std::uint8_t>(status.code()));
  out.put_string(clean_text(status.message(), kReasonMax));
}

/// Reads the fields of a message, remembering the first thing that is wrong.
class FieldReader {
 public:
  explicit FieldReader(ByteSpan bytes) : in_(bytes) {}

  template <class T>
  T number() {
    return in_.get<T>();
  }
  double finite(const char* what) {
    const auto value = in_.get<double>();
    require(std::isfinite(value), what, "is not finite");
    return value;
  }
  std::int64_t in_range(std::int64_t low, std::int64_t high, const char* what) {
    const auto value = in_.get<std::int64_t>();
    require(value >= low && value <= high, what, "is out of range");
    return value;
  }
  std::string text(std::size_t size_max, const char* what) {
    std::string value = in_.get_string();
    require(is_clean_text(value, size_max), what, "is too long or not clean text");
    return value;
  }
  bool flag(const char* what) {
    const auto value = in_.get<std::uint8_t>();
    require(value <= 1, what, "is not a flag");
    return value == 1;
  }
  /// An enumerator from 0 to `last`, or 255 when `other` is allowed.
  template <class E>
  E enumerator(E first, E last, bool other, const char* what) {
    const auto value = in_.get<std::uint8_t>();
    const bool known = value >= static_cast<std::uint8_t>(first) && value <= static_cast<std::uint8_t>(last);
    require(known || (other && value == 255), what, "is unknown");
    return static_cast<E>(value);
  }
  Status status() {
    const Code code = enumerator(Code::Ok, Code::PermissionDenied, false, "status code");
    return {code, text(kReasonMax, "reason")};
  }
  ByteSpan rest(std::size_t count) { return in_.get_bytes(count); }
  void require(bool condition, const char* what, const char* how) {
    if (!condition && wrong_.empty()) wrong_ = std::string(what) + " " + how;
  }
  /// Ok when all was read and nothing was wrong.
  [[nodiscard]] Status finish(const char* what) const {
    if (!in_.complete()) return corrupt(std::string(what) + " has the wrong size");
    if (!wrong_.empty()) return corrupt(std::string(what) + ": " + wrong_);
    return Status::ok();
  }

 private:
  ByteReader in_;
  std::string wrong_;
};

void put_body(const Hello& m, ByteWriter& out) {
  out.put(m.version);
  out.put(static_cast<std::uint8_t>(m.sandboxed));
  out.put_string(clean_text(m.sandbox, kReasonMax));
}
void get_body(Hello& m, FieldReader& in) {
  m.version = in.number<std::uint32_t>();
  m.sandboxed = in.flag("sandboxed");
  m.sandbox = in.text(kReasonMax, "sandbox");
}

void put_body(const Job& m, ByteWriter& out) {
  out.put(static_cast<std::uint8_t>(m.format));
  out.put(m.limits.field_bytes_max);
  out.put(m.limits.declared_ratio_max);
  out.put(m.limits.fields_max);
  out.put(m.limits.part);
  out.put(m.limits.part_count);
}
void get_body(Job& m, FieldReader& in) {
  m.format = in.enumerator(FileFormat::Unknown, FileFormat::Netcdf4, false, "format");
  m.limits.field_bytes_max = in.number<std::uint64_t>();
  m.limits.declared_ratio_max = in.number<std::uint64_t>();
  m.limits.fields_max = in.number<std::uint64_t>();
  m.limits.part = in.number<std::uint32_t>();
  m.limits.part_count = in.number<std::uint32_t>();
}

void put_body(const Credit& m, ByteWriter& out) {
  out.put(m.position);
}
void get_body(Credit& m, FieldReader& in) {
  m.position = in.number<std::uint64_t>();
}

template <class Piece>
requires std::is_same_v<Piece, BlobPiece> || std::is_same_v<Piece, FieldPiece>
void put_body(const Piece& m, ByteWriter& out) {
  out.put(m.position);
  out.put(m.bytes);
}
template <class Piece>
requires std::is_same_v<Piece, BlobPiece> || std::is_same_v<Piece, FieldPiece>
void get_body(Piece& m, FieldReader& in) {
  m.position = in.template number<std::uint64_t>();
  m.bytes = in.template number<std::uint64_t>();
}

template <class Empty>
requires std::is_empty_v<Empty>
void put_body(const Empty&, ByteWriter&) {}
template <class Empty>
requires std::is_empty_v<Empty>
void get_body(Empty&, FieldReader&) {}

void put_body(const DecodedField& m, ByteWriter& out) {
  out.put(m.run);
  out.put(m.grid);
  out.put(m.member);
  out.put_string(clean_text(m.parameter.short_name, kShortNameMax));
  out.put_string(clean_text(m.parameter.long_name, kLongNameMax));
  out.put_string(clean_text(m.parameter.units, kShortNameMax));
  out.put(m.parameter.param_id);
  out.put_string(clean_text(m.parameter.origin, kNameMax));
  out.put_string(clean_text(m.parameter.discriminator, kNameMax));
  out.put_string(clean_text(m.parameter.stagger, kNameMax));
  out.put_string(clean_text(m.level.type, kShortNameMax));
  out.put(m.level.value);
  out.put(m.level.bottom);
  out.put(m.step.start_seconds);
  out.put(m.step.end_seconds);
  out.put(static_cast<std::uint8_t>(m.step.process));
  out.put(static_cast<std::uint8_t>(m.encoding.kind));
  out.put(m.encoding.width_bytes);
  out.put(static_cast<std::uint8_t>(m.encoding.has_bitmap));
  out.put(m.encoding.binary_scale);
  out.put(m.encoding.decimal_scale);
  out.put(m.encoding.reference);
  out.put(m.points);
  out.put_string(clean_text(m.where, kWhereMax));
}
void get_body(DecodedField& m, FieldReader& in) {
  m.run = in.number<std::uint32_t>();
  m.grid = in.number<std::uint32_t>();
  m.member = in.number<std::uint32_t>();
  m.parameter.short_name = in.text(kShortNameMax, "short name");
  in.require(!m.parameter.short_name.empty(), "short name", "is empty");
  m.parameter.long_name = in.text(kLongNameMax, "long name");
  m.parameter.units = in.text(kShortNameMax, "units");
  m.parameter.param_id = in.number<std::int32_t>();
  m.parameter.origin = in.text(kNameMax, "origin");
  m.parameter.discriminator = in.text(kNameMax, "discriminator");
  m.parameter.stagger = in.text(kNameMax, "stagger");
  m.level.type = in.text(kShortNameMax, "level type");
  in.require(!m.level.type.empty(), "level type", "is empty");
  m.level.value = in.finite("level");
  m.level.bottom = in.finite("bottom of the level");
  m.step.start_seconds = in.in_range(-kStepSecondsMax, kStepSecondsMax, "start of the step");
  m.step.end_seconds = in.in_range(-kStepSecondsMax, kStepSecondsMax, "end of the step");
  m.step.process = in.enumerator(met::StepProcess::Instant, met::StepProcess::Summation, true, "process");
  m.encoding.kind = in.enumerator(met::EncodingKind::Float32, met::EncodingKind::Constant, false, "encoding");
  m.encoding.width_bytes = in.number<std::uint8_t>();
  m.encoding.has_bitmap = in.flag("bitmap");
  m.encoding.binary_scale = in.number<std::int16_t>();
  m.encoding.decimal_scale = in.number<std::int16_t>();
  m.encoding.reference = in.number<double>();
  in.require(m.encoding.validate().is_ok(), "encoding", "does not make sense");
  m.points = in.number<std::uint64_t>();
  m.where = in.text(kWhereMax, "place");
}

void put_body(const EndField& m, ByteWriter& out) {
  out.put(m.statistics.minimum);
  out.put(m.statistics.maximum);
  out.put(m.statistics.mean);
  out.put(m.statistics.missing_count);
}
void get_body(EndField& m, FieldReader& in) {
  m.statistics.minimum = in.number<double>();
  m.statistics.maximum = in.number<double>();
  m.statistics.mean = in.number<double>();
  m.statistics.missing_count = in.number<std::uint64_t>();
}

void put_body(const Rejected& m, ByteWriter& out) {
  out.put_string(clean_text(m.where, kWhereMax));
  put(out, m.why);
}
void get_body(Rejected& m, FieldReader& in) {
  m.where = in.text(kWhereMax, "place");
  m.why = in.status();
  in.require(!m.why.is_ok(), "reason", "is not a failure");
}

void put_body(const StepDone& m, ByteWriter& out) {
  out.put(m.run);
  out.put(m.end_seconds);
}
void get_body(StepDone& m, FieldReader& in) {
  m.run = in.number<std::uint32_t>();
  m.end_seconds = in.in_range(-kStepSecondsMax, kStepSecondsMax, "end of the step");
}

void put_body(const JobDone& m, ByteWriter& out) {
  put(out, m.outcome);
}
void get_body(JobDone& m, FieldReader& in) {
  m.outcome = in.status();
}

void put_body(const ForbiddenCall& m, ByteWriter& out) {
  out.put(m.number);
}
void get_body(ForbiddenCall& m, FieldReader& in) {
  m.number = in.number<std::uint32_t>();
}

/// Reads alternative `Index` of Message when that is `type`, else tries the next.
template <std::size_t Index = 0>
Result<Message> decode_body(std::uint32_t type, ByteSpan body) {
  if constexpr (Index < std::variant_size_v<Message>) {
    if (type != Index) return decode_body<Index + 1>(type, body);
    std::variant_alternative_t<Index, Message> message;
    FieldReader in(body);
    get_body(message, in);
    NVMDB_TRY(in.finish("message"));
    return Message(std::in_place_index<Index>, std::move(message));
  } else {
    return corrupt("unknown message type " + std::to_string(type));
  }
}

}  // namespace

void encode(const Message& message, ByteWriter& packet) {
  ByteWriter body;
  std::visit([&body](const auto& m) { put_body(m, body); }, message);
  packet.put(narrow<std::uint32_t>(message.index()));
  packet.put(narrow<std::uint32_t>(body.size()));
  packet.put_bytes(body.bytes());
}

Result<std::vector<Message>> decode_packet(ByteSpan packet) {
  ByteReader in(packet);
  std::vector<Message> messages;
  while (in.remaining() > 0) {
    const auto type = in.get<std::uint32_t>();
    const ByteSpan body = in.get_bytes(in.get<std::uint32_t>());
    if (!in.ok()) return corrupt("a packet ends within a message");
    NVMDB_ASSIGN(Message message, decode_body(type, body));
    messages.push_back(std::move(message));
  }
  return messages;
}

Bytes encode_run(const DecodedRun& run) {
  ByteWriter out;
  out.put_string(clean_text(run.format, kNameMax));
  out.put_string(clean_text(run.model, kNameMax));
  out.put_string(clean_text(run.domain, kNameMax));
  out.put_string(clean_text(run.version, kNameMax));
  out.put(run.reference_time);
  out.put(static_cast<std::uint8_t>(run.significance));
  out.put_string(is_clean_text(run.attributes, kAttributesMax) ? run.attributes : "{}");
  return out.take();
}

Result<DecodedRun> decode_run(ByteSpan bytes) {
  FieldReader in(bytes);
  DecodedRun run;
  run.format = in.text(kNameMax, "format");
  run.model = in.text(kNameMax, "model");
  run.domain = in.text(kNameMax, "domain");
  in.require(!run.format.empty() && !run.model.empty() && !run.domain.empty(), "name", "is empty");
  run.version = in.text(kNameMax, "version");
  run.reference_time = in.in_range(kTimeMin, kTimeMax, "reference time");
  run.significance = in.enumerator(met::ReferenceSignificance::Analysis,
                                   met::ReferenceSignificance::ObservationTime, true, "significance");
  run.attributes = in.text(kAttributesMax, "attributes");
  in.require(run.attributes.starts_with('{') && run.attributes.ends_with('}'), "attributes",
             "are not a JSON object");
  NVMDB_TRY(in.finish("run"));
  return run;
}

Bytes encode_grid(const met::Grid& grid) {
  ByteWriter out;
  const Bytes definition = grid.encode_definition();
  out.put(narrow<std::uint32_t>(definition.size()));
  out.put_bytes(definition);
  out.put(std::uint64_t{grid.latitudes.size()});
  out.put_bytes(std::as_bytes(std::span(grid.latitudes)));
  out.put_bytes(std::as_bytes(std::span(grid.longitudes)));
  return out.take();
}

Result<met::Grid> decode_grid(ByteSpan bytes) {
  FieldReader in(bytes);
  NVMDB_ASSIGN(met::Grid grid, met::Grid::decode_definition(in.rest(in.number<std::uint32_t>())));
  const auto count = in.number<std::uint64_t>();
  if (count > bytes.size() / (2 * sizeof(float))) return corrupt("grid: too many positions");
  for (std::vector<float>* values : {&grid.latitudes, &grid.longitudes}) {
    const ByteSpan part = in.rest(count * sizeof(float));
    values->resize(part.size() / sizeof(float));
    if (!part.empty()) std::memcpy(values->data(), part.data(), part.size());
  }
  NVMDB_TRY(in.finish("grid"));
  if (const Status status = check_grid(grid); !status.is_ok()) return corrupt(status.message());
  return grid;
}

Status check_grid(const met::Grid& grid) {
  NVMDB_TRY(grid.validate());
  if (!is_clean_text(grid.description, 4096))
    return Status::invalid_argument("grid: description is not clean text");
  const auto finite = [](float value) { return std::isfinite(value); };
  if (!std::all_of(grid.latitudes.begin(), grid.latitudes.end(), finite) ||
      !std::all_of(grid.longitudes.begin(), grid.longitudes.end(), finite)) {
    return Status::invalid_argument("grid: a position is not finite");
  }
  return Status::ok();
}

}  // namespace nvmdb::ingest::protocol
