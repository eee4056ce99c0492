#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <new>
#include <set>

#include "ingest/decode/field_sink.h"
#include "ingest/decode/netcdf/classic_header.h"
#include "ingest/decode/netcdf/field_plan.h"
#include "ingest/decode/netcdf/hdf5_file.h"
#include "storage/base/narrow.h"

namespace nvmdb::ingest {
namespace netcdf {
namespace {

/// Values are read, turned and counted piece by piece while they are in the cache of the core.
constexpr std::uint64_t kPieceBytes = 128 << 10U;

/// A grid that the sink knows.
struct KnownGrid {
  std::uint32_t number = 0;
  bool rows_reversed = false;
};

class FileDecoder {
 public:
  FileDecoder(ValueSource& source, FrameTable frames, FilePlan plan, const DecodeLimits& limits,
              FieldSink& sink)
      : source_(source),
        frames_(std::move(frames)),
        plan_(std::move(plan)),
        limits_(limits),
        sink_(sink),
        run_(describe_run(source.dataset(), frames_)),
        grids_(source, frames_.time_dimension.value_or(UINT32_MAX), run_.model != "netcdf") {}

  Status decode();

 private:
  Status reject_what_is_known();
  Status decode_block(std::span<const Frame> block, bool first);
  Status decode_variable(const FieldPlan& plan, std::span<const Frame> block);
  /// A failure to read is told to the sink; what comes back is a failure of the sink.
  Status decode_field(const FieldPlan& plan, const Frame& frame, std::uint64_t level);
  Status transfer(const FieldPlan& plan, std::uint64_t first, bool rows_reversed, Statistics& statistics,
                  Status& sink_status);
  Status transfer_range(const FieldPlan& plan, std::uint64_t first, std::uint64_t count,
                        Statistics& statistics, Status& sink_status);
  Status transfer_whole(const FieldPlan& plan, std::uint64_t first, bool rows_reversed,
                        Statistics& statistics, Status& sink_status);
  Status read_converted(const FieldPlan& plan, std::uint64_t first, std::uint64_t count, std::byte* out,
                        std::span<std::byte> bitmap, Statistics& statistics);
  Status hand_over(std::span<const std::byte> bytes);
  Result<KnownGrid> grid_of(const FieldPlan& plan, std::uint64_t frame);
  [[nodiscard]] std::int64_t step_of(const Frame& frame) const {
    return frames_.is_static ? 0 : frame.valid_time - frames_.reference_time;
  }
  [[nodiscard]] std::string where(const FieldPlan& plan, const Frame& frame, std::uint64_t level) const;

  ValueSource& source_;
  FrameTable frames_;
  FilePlan plan_;
  const DecodeLimits& limits_;
  FieldSink& sink_;
  DecodedRun run_;
  GridMaker grids_;
  std::uint32_t run_number_ = 0;
  std::uint64_t fields_ = 0;
  std::set<std::int64_t> steps_with_fields_;
  std::map<std::pair<HorizontalPair, std::uint64_t>, KnownGrid> known_grids_;
  std::map<std::string, std::uint32_t> unlocated_grids_;
  std::vector<std::byte> raw_;
};

std::string FileDecoder::where(const FieldPlan& plan, const Frame& frame, std::uint64_t level) const {
  std::string text = "variable " + source_.dataset().variables[plan.variable].name;
  if (plan.in_frames) text += ", frame " + std::to_string(frame.index);
  if (plan.level_numbered) text += ", level " + std::to_string(level + 1);
  return text;
}

Status FileDecoder::reject_what_is_known() {
  for (const RejectedFrame& frame : frames_.rejected) NVMDB_TRY(sink_.rejected(frame.where, frame.why));
  for (const RejectedVariable& variable : plan_.rejected)
    NVMDB_TRY(sink_.rejected(variable.where, variable.why));
  for (const std::string& name : source_.left_out())
    NVMDB_TRY(sink_.rejected(name, Status::invalid_argument("only variables of the root group are stored")));
  return Status::ok();
}

Result<KnownGrid> FileDecoder::grid_of(const FieldPlan& plan, std::uint64_t frame) {
  if (!plan.horizontal) {
    const std::string key =
        std::to_string(plan.rows) + "x" + std::to_string(plan.columns) + " " + plan.unlocated;
    if (const auto known = unlocated_grids_.find(key); known != unlocated_grids_.end())
      return KnownGrid{known->second, false};
    const met::Grid grid =
        unlocated_grid(narrow<std::uint32_t>(plan.rows), narrow<std::uint32_t>(plan.columns), plan.unlocated);
    NVMDB_ASSIGN(const std::uint32_t number, sink_.grid(grid));
    unlocated_grids_.emplace(key, number);
    return KnownGrid{number, false};
  }
  const std::pair key{*plan.horizontal, grids_.is_fixed(*plan.horizontal) ? UINT64_MAX : frame};
  if (const auto known = known_grids_.find(key); known != known_grids_.end()) return known->second;
  NVMDB_ASSIGN(const PlacedGrid placed, grids_.make(*plan.horizontal, frame));
  NVMDB_ASSIGN(const std::uint32_t number, sink_.grid(placed.grid));
  const KnownGrid grid{number, placed.rows_reversed};
  known_grids_.emplace(key, grid);
  return grid;
}

Status FileDecoder::hand_over(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    NVMDB_ASSIGN(const std::span<std::byte> space, sink_.space(bytes.size()));
    std::size_t count = std::min(space.size(), bytes.size());
    if (count < bytes.size()) count -= count % 8;
    if (count == 0) return Status::io_error("the sink gives less than 8 bytes of space");
    std::memcpy(space.data(), bytes.data(), count);
    NVMDB_TRY(sink_.advance(count));
    bytes = bytes.subspan(count);
  }
  return Status::ok();
}

Status FileDecoder::read_converted(const FieldPlan& plan, std::uint64_t first, std::uint64_t count,
                                   std::byte* out, std::span<std::byte> bitmap, Statistics& statistics) {
  const std::uint64_t width = value_bytes(plan.conversion.from);
  if (const auto mapped = source_.view(plan.variable, first, count * width); mapped.size() == count * width) {
    convert_values(plan.conversion, mapped.data(), out, count, bitmap, statistics);
    return Status::ok();
  }
  if (plan.conversion.in_place()) {
    NVMDB_TRY(source_.read(plan.variable, first, {out, count * width}));
    convert_values(plan.conversion, out, out, count, bitmap, statistics);
    return Status::ok();
  }
  raw_.resize(count * width);
  NVMDB_TRY(source_.read(plan.variable, first, raw_));
  convert_values(plan.conversion, raw_.data(), out, count, bitmap, statistics);
  return Status::ok();
}

Status FileDecoder::transfer_range(const FieldPlan& plan, std::uint64_t first, std::uint64_t count,
                                   Statistics& statistics, Status& sink_status) {
  const std::uint64_t width = plan.conversion.encoding.width_bytes;
  while (count > 0) {
    const Result<std::span<std::byte>> space = sink_.space(count * width);
    sink_status = space.status();
    if (!space.is_ok()) return Status::ok();
    // Handed over are multiples of 8 bytes, which two values always are.
    std::uint64_t room = std::min<std::uint64_t>(space->size() / width, count);
    if (room < count) room -= room % 2;
    if (room == 0) {
      sink_status = Status::io_error("the sink gives less than two values of space");
      return Status::ok();
    }
    for (std::uint64_t done = 0; done < room;) {
      const std::uint64_t piece = std::min(room - done, kPieceBytes / width);
      NVMDB_TRY(read_converted(plan, first + done, piece, space->data() + done * width, {}, statistics));
      done += piece;
    }
    sink_status = sink_.advance(room * width);
    if (!sink_status.is_ok()) return Status::ok();
    first += room;
    count -= room;
  }
  return Status::ok();
}

/// For what cannot be streamed: reversed rows, and values with a bitmap behind them.
Status FileDecoder::transfer_whole(const FieldPlan& plan, std::uint64_t first, bool rows_reversed,
                                   Statistics& statistics, Status& sink_status) {
  const met::Encoding& encoding = plan.conversion.encoding;
  std::vector<std::byte> extent(encoding.extent_bytes(plan.points()));
  std::vector<std::byte> row_bits((plan.columns + 7) / 8);
  std::byte* bitmap = encoding.has_bitmap ? extent.data() + encoding.bitmap_offset(plan.points()) : nullptr;
  for (std::uint64_t row = 0; row < plan.rows; ++row) {
    const std::uint64_t from = rows_reversed ? plan.rows - 1 - row : row;
    std::fill(row_bits.begin(), row_bits.end(), std::byte{0});
    NVMDB_TRY(read_converted(plan, first + from * plan.columns, plan.columns,
                             extent.data() + row * plan.columns * encoding.width_bytes,
                             bitmap == nullptr ? std::span<std::byte>{} : std::span(row_bits), statistics));
    for (std::uint64_t i = 0; bitmap != nullptr && i < plan.columns; ++i) {
      const std::uint64_t point = row * plan.columns + i;
      bitmap[point / 8] |= (row_bits[i / 8] >> (i % 8) & std::byte{1}) << (point % 8);
    }
  }
  sink_status = hand_over(extent);
  return Status::ok();
}

Status FileDecoder::transfer(const FieldPlan& plan, std::uint64_t first, bool rows_reversed,
                             Statistics& statistics, Status& sink_status) {
  if (rows_reversed || plan.conversion.encoding.has_bitmap)
    return transfer_whole(plan, first, rows_reversed, statistics, sink_status);
  return transfer_range(plan, first, plan.points(), statistics, sink_status);
}

Status FileDecoder::decode_field(const FieldPlan& plan, const Frame& frame, std::uint64_t level) {
  if (++fields_ > limits_.fields_max)
    return Status::invalid_argument("the file has more than " + std::to_string(limits_.fields_max) +
                                    " fields");
  const std::uint64_t first = ((plan.in_frames ? frame.index * plan.levels : 0) + level) * plan.points();
  if (const Status present = source_.check_present(plan.variable, first, plan.points()); !present.is_ok())
    return sink_.rejected(where(plan, frame, level), present);
  const Result<KnownGrid> grid = grid_of(plan, frame.index);
  if (!grid.is_ok()) return sink_.rejected(where(plan, frame, level), grid.status());
  DecodedField field;
  field.run = run_number_;
  field.grid = grid->number;
  field.parameter = plan.parameter;
  const double number = plan.level_numbered ? static_cast<double>(level + 1) : 0;
  field.level = {plan.level_type, number, number};
  field.step = met::Step::instant(step_of(frame));
  field.encoding = plan.conversion.encoding;
  field.points = plan.points();
  field.where = where(plan, frame, level);
  NVMDB_TRY(sink_.begin_field(field));
  Statistics statistics;
  Status sink_status;
  const Status read = transfer(plan, first, grid->rows_reversed, statistics, sink_status);
  NVMDB_TRY(sink_status);
  if (read.is_ok()) {
    steps_with_fields_.insert(field.step.end_seconds);
    return sink_.end_field(statistics.finish());
  }
  NVMDB_TRY(sink_.cancel_field());
  return sink_.rejected(field.where, read);
}

Status FileDecoder::decode_variable(const FieldPlan& plan, std::span<const Frame> block) {
  // Frames of one chunk follow one another, so that the chunk is still decoded.
  for (std::uint64_t level = 0; level < plan.levels; ++level) {
    for (const Frame& frame : block) NVMDB_TRY(decode_field(plan, frame, level));
  }
  return Status::ok();
}

Status FileDecoder::decode_block(std::span<const Frame> block, bool first) {
  for (const FieldPlan& plan : plan_.fields) {
    if (plan.in_frames) {
      NVMDB_TRY(decode_variable(plan, block));
    } else if (first) {
      NVMDB_TRY(decode_variable(plan, block.first(1)));
    }
  }
  for (const Frame& frame : block) {
    if (steps_with_fields_.contains(step_of(frame))) NVMDB_TRY(sink_.step_done(run_number_, step_of(frame)));
    std::erase_if(known_grids_, [&](const auto& grid) { return grid.first.second == frame.index; });
  }
  return Status::ok();
}

Status FileDecoder::decode() {
  if (limits_.part >= limits_.part_count) return Status::invalid_argument("no such part of the file");
  if (limits_.part == 0) NVMDB_TRY(reject_what_is_known());
  std::vector<Frame> frames = frames_.frames;
  if (frames.empty() && frames_.is_static && frames_.rejected.empty()) frames.push_back({0, 0});
  if (frames.empty() || plan_.fields.empty()) {
    if (!frames_.rejected.empty()) return frames_.rejected.front().why;
    if (!plan_.rejected.empty())
      return Status::invalid_argument(plan_.rejected.front().where + ": " +
                                      plan_.rejected.front().why.message());
    return Status::invalid_argument(
        "the NetCDF file has no numeric variables with values, so there is nothing to store");
  }
  NVMDB_ASSIGN(run_number_, sink_.run(run_));
  std::uint64_t together = 1;
  for (const FieldPlan& plan : plan_.fields) together = std::max(together, plan.frames_together);
  // A block is the frames that share chunks; it ends where the next row of chunks begins.
  const std::span<const Frame> all(frames);
  std::vector<std::span<const Frame>> blocks;
  for (std::size_t at = 0; at < all.size(); at += blocks.back().size()) {
    std::size_t end = at + 1;
    while (end < all.size() && all[end].index / together == all[at].index / together) ++end;
    blocks.push_back(all.subspan(at, end - at));
  }
  const std::size_t first = blocks.size() * limits_.part / limits_.part_count;
  const std::size_t last = blocks.size() * (limits_.part + 1) / limits_.part_count;
  for (std::size_t block = first; block < last; ++block) NVMDB_TRY(decode_block(blocks[block], block == 0));
  // Of a part its receiver sees whether the others have more.
  if (steps_with_fields_.empty() && limits_.part_count == 1) {
    return Status::corruption("no variable of the NetCDF file could be read");
  }
  return Status::ok();
}

Result<std::unique_ptr<ValueSource>> open_source(int fd, std::uint64_t file_bytes,
                                                 const DecodeLimits& limits) {
  constexpr unsigned char kHdf5[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};
  unsigned char magic[8] = {};
  if (file_bytes < sizeof(magic))
    return Status::invalid_argument("not a NetCDF file: it has only " + std::to_string(file_bytes) +
                                    " bytes");
  NVMDB_TRY(read_exactly(fd, 0, magic, sizeof(magic)));
  if (std::memcmp(magic, kHdf5, sizeof(kHdf5)) == 0) return open_hdf5(fd, file_bytes, limits);
  return open_classic(fd, file_bytes);
}

Status decode_file(int fd, const DecodeLimits& limits, FieldSink& sink) {
  struct stat info {};
  if (::fstat(fd, &info) != 0)
    return Status::io_error(std::string("the input cannot be examined: ") + std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return Status::invalid_argument("the input is not a regular file");
  const auto file_bytes = static_cast<std::uint64_t>(info.st_size);
  NVMDB_ASSIGN(const std::unique_ptr<ValueSource> source, open_source(fd, file_bytes, limits));
  NVMDB_TRY(check_declared_size(source->dataset(), file_bytes, limits));
  NVMDB_ASSIGN(FrameTable frames, read_frames(*source, limits));
  FilePlan plan = plan_fields(*source, frames, limits);
  return FileDecoder(*source, std::move(frames), std::move(plan), limits, sink).decode();
}

}  // namespace
}  // namespace netcdf

Status decode_netcdf(int fd, const DecodeLimits& limits, FieldSink& sink) {
  try {
    return netcdf::decode_file(fd, limits, sink);
  } catch (const std::bad_alloc&) {
    return Status::invalid_argument("the NetCDF file needs more memory than the decoder may use");
  } catch (const std::exception& error) {
    return Status::corruption(std::string("the NetCDF file cannot be decoded: ") + error.what());
  }
}

void warm_up_netcdf() {
  netcdf::set_up_hdf5();
}

}  // namespace nvmdb::ingest
