#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/met/encoding.h"
#include "engine/met/grid.h"
#include "engine/met/level.h"
#include "engine/met/parameter.h"
#include "engine/met/step.h"
#include "engine/met/time.h"
#include "storage/base/result.h"

namespace nvmdb::ingest {

/// What a decoder says of the run that fields belong to.
struct DecodedRun {
  std::string format;   ///< "grib" or "wrf"
  std::string model;    ///< a default that the user may override: GRIB centre ("ecmf", "kwbc"), "wrf"
  std::string domain;   ///< a default: "d01" (GRID_ID), or for GRIB the grid ("regular_ll_144x73")
  std::string version;  ///< MARS expver when a local definition has it, else empty
  met::UnixSeconds reference_time = 0;
  met::ReferenceSignificance significance = met::ReferenceSignificance::StartOfForecast;
  std::string attributes = "{}";  ///< JSON object of global attributes
  bool operator==(const DecodedRun&) const = default;
};

struct DecodedField {
  std::uint32_t run = 0;   ///< number that FieldSink::run() gave
  std::uint32_t grid = 0;  ///< number that FieldSink::grid() gave
  std::uint32_t member = 0;
  met::Parameter parameter;
  met::Level level;
  met::Step step;
  met::Encoding encoding;
  std::uint64_t points = 0;
  std::string where;  ///< for messages: "message 12 at byte 34567", "variable T2, frame 3"
};

struct DecodedStatistics {
  double minimum = 0;  ///< of the values that are not missing; NaN when all are
  double maximum = 0;
  double mean = 0;
  std::uint64_t missing_count = 0;
};

/// Where a decoder puts what it finds. The worker's sink hands it to the server through shared memory; tests
/// have sinks that keep it. A failed Status from any method means: stop, and return that Status. Threads:
/// one.
class FieldSink {
 public:
  virtual ~FieldSink() = default;

  /// Announces a run (again: same number). At most a few per file.
  [[nodiscard]] virtual Result<std::uint32_t> run(const DecodedRun& run) = 0;
  /// Announces a grid (again: same number).
  [[nodiscard]] virtual Result<std::uint32_t> grid(const met::Grid& grid) = 0;

  /// A field: header, then all bytes of its extent in order (layout: met/encoding.h), then statistics.
  [[nodiscard]] virtual Status begin_field(const DecodedField& field) = 0;
  /// Writable memory for the next bytes of the extent: at least 1, at most `wanted`, 64-byte aligned, and at
  /// least 256 KiB when so much is wanted. Filled bytes are handed over with advance(); sizes handed over
  /// must be multiples of 8 except for the last.
  [[nodiscard]] virtual Result<std::span<std::byte>> space(std::uint64_t wanted) = 0;
  [[nodiscard]] virtual Status advance(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual Status end_field(const DecodedStatistics& statistics) = 0;
  /// The field begun turned out to be unreadable: forget it.
  [[nodiscard]] virtual Status cancel_field() = 0;

  /// A message or variable that was not stored, and why; ingest goes on.
  [[nodiscard]] virtual Status rejected(const std::string& where, const Status& why) = 0;
  /// The file adds nothing more to the step that ends at `end_seconds` of this run: it may become visible
  /// now. A step that was not named is committed at the end of the file.
  [[nodiscard]] virtual Status step_done(std::uint32_t run, std::int64_t end_seconds) = 0;
};

/// Limits on what a file may ask for, against bombs.
struct DecodeLimits {
  std::uint64_t field_bytes_max = 4ULL << 30U;  ///< declared size of one field, as float32
  std::uint64_t declared_ratio_max = 1000;      ///< declared bytes per byte of file, above 64 MiB declared
  std::uint64_t fields_max = 1'000'000;
  // Which share of the file's steps is wanted: several workers may decode one file side by side. Steps are never parted.
  // NetCDF only.
  std::uint32_t part = 0;
  std::uint32_t part_count = 1;
};

/// Decodes a whole file into `sink`. Runs in the worker process only: the libraries behind it may crash on
/// bad input. `fd` is an open regular file; the decoder uses this descriptor alone. It can open no path,
/// /proc/self/fd/N neither: libnetcdf and HDF5 read a FileImage (file_image.h). Errors: InvalidArgument (not
/// such a file, refused construct, limits), Corruption (truncated, damaged), IoError;
///         what can be told per message or variable goes to sink.rejected() instead.
[[nodiscard]] Status decode_grib(int fd, const DecodeLimits& limits, FieldSink& sink);
[[nodiscard]] Status decode_netcdf(int fd, const DecodeLimits& limits, FieldSink& sink);

/// Loads what the libraries load lazily (ecCodes definitions), so that the first file is not slower, and so
/// that later loads need no file outside the sandbox where that can be helped. GRIB does so in parts of some
/// 50 ms, numbered from 0, so that a file need not wait for all of them; false when there is no such part.
[[nodiscard]] bool warm_up_grib(std::size_t part);
void warm_up_netcdf();

enum class FileFormat : std::uint8_t { Unknown, Grib, NetcdfClassic, Netcdf64BitOffset, NetcdfCdf5, Netcdf4 };
/// By content: "CDF\1", "CDF\2", "CDF\5", "\211HDF\r\n\032\n" at 0, "GRIB" within the first 64 KiB (bulletin
/// headers and padding may come before).
[[nodiscard]] Result<FileFormat> detect_format(int fd);
[[nodiscard]] std::string format_name(FileFormat format);

}  // namespace nvmdb::ingest
