#include "tests/unit/ingest_netcdf/memory_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace nvmdb::ingest {

void MemorySink::expect(bool condition, const std::string& what) {
  if (!condition && broken_contract.empty()) broken_contract = what;
}

Result<std::uint32_t> MemorySink::run(const DecodedRun& run) {
  runs.push_back(run);
  return static_cast<std::uint32_t>(runs.size() - 1);
}

Result<std::uint32_t> MemorySink::grid(const met::Grid& grid) {
  expect(grid.validate().is_ok(), "grid: " + grid.validate().message());
  grids.push_back(grid);
  return static_cast<std::uint32_t>(grids.size() - 1);
}

Status MemorySink::begin_field(const DecodedField& field) {
  expect(!open_, "begin_field within a field: " + field.where);
  expect(field.run < runs.size() && field.grid < grids.size(), "unknown run or grid: " + field.where);
  if (field.grid < grids.size())
    expect(grids[field.grid].points == field.points, "points differ from grid: " + field.where);
  expect(field.encoding.validate().is_ok(), "encoding: " + field.where);
  open_.emplace();
  open_->header = field;
  odd_size_seen_ = false;
  return Status::ok();
}

Result<std::span<std::byte>> MemorySink::space(std::uint64_t wanted) {
  expect(open_.has_value(), "space outside a field");
  expect(wanted > 0, "no space wanted");
  if (portion_ == nullptr) portion_ = std::aligned_alloc(64, kPortion);
  given_ = std::min(wanted, kPortion);
  return std::span(static_cast<std::byte*>(portion_), given_);
}

Status MemorySink::advance(std::uint64_t bytes) {
  expect(bytes <= given_, "advance beyond the space given");
  expect(!odd_size_seen_, "a size that is not a multiple of 8 before the last");
  odd_size_seen_ = bytes % 8 != 0;
  const auto* from = static_cast<const std::byte*>(portion_);
  open_->extent.insert(open_->extent.end(), from, from + bytes);
  given_ = 0;
  return Status::ok();
}

Status MemorySink::end_field(const DecodedStatistics& statistics) {
  const DecodedField& header = open_->header;
  expect(open_->extent.size() == header.encoding.extent_bytes(header.points), "extent size: " + header.where);
  open_->statistics = statistics;
  open_->values.resize(header.points);
  if (broken_contract.empty())
    met::Decoder(header.encoding, header.points, open_->extent).run(0, open_->values);
  fields.push_back(std::move(*open_));
  open_.reset();
  return Status::ok();
}

Status MemorySink::cancel_field() {
  expect(open_.has_value(), "cancel_field outside a field");
  open_.reset();
  return Status::ok();
}

Status MemorySink::rejected(const std::string& where, const Status& why) {
  expect(!open_, "rejected within a field");
  expect(!why.is_ok(), "rejected without a reason: " + where);
  rejections.push_back({where, why});
  return Status::ok();
}

Status MemorySink::step_done(std::uint32_t run, std::int64_t end_seconds) {
  expect(!open_ && run < runs.size(), "step_done at the wrong time");
  steps_done.push_back(end_seconds);
  return Status::ok();
}

const StoredField* MemorySink::find(const std::string& name, std::int64_t step_seconds, double level) const {
  for (const StoredField& field : fields) {
    if (field.header.parameter.short_name == name && field.header.step.end_seconds == step_seconds &&
        field.header.level.value == level)
      return &field;
  }
  return nullptr;
}

bool MemorySink::was_rejected(const std::string& where) const {
  return std::any_of(rejections.begin(), rejections.end(),
                     [&](const StoredRejection& rejection) { return rejection.where.starts_with(where); });
}

TemporaryFile::TemporaryFile(const std::string& name)
    : path_((std::filesystem::temp_directory_path() / ("nvmdb-" + std::to_string(::getpid()) + "-" + name))
                .string()) {}

TemporaryFile::TemporaryFile(const std::string& name, ByteSpan bytes) : TemporaryFile(name) {
  std::ofstream out(path_, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

TemporaryFile::~TemporaryFile() {
  std::filesystem::remove(path_);
}

Status decode_path(const std::filesystem::path& path, MemorySink& sink, const DecodeLimits& limits) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status::not_found("cannot open " + path.string());
  Status status = decode_netcdf(fd, limits, sink);
  ::close(fd);
  return status;
}

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Bytes bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::filesystem::path shared_data() {
  if (const char* set = std::getenv("NVMDB_SHARED_DATA"); set != nullptr) {
    return std::filesystem::is_directory(std::filesystem::path(set) / "given") ? set : "";
  }
  for (std::filesystem::path at = NVMDB_SOURCE_DIR; at.has_relative_path(); at = at.parent_path()) {
    const std::filesystem::path candidate = at.parent_path() / "shared" / "data";
    if (std::filesystem::is_directory(candidate / "given")) return candidate;
  }
  return {};
}

}  // namespace nvmdb::ingest
