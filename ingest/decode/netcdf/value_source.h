#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ingest/decode/field_sink.h"
#include "ingest/decode/netcdf/dataset.h"
#include "storage/base/result.h"

namespace nvmdb::ingest::netcdf {

/// An open NetCDF file of any format: its header, and its values by position.
/// Threads: one.
class ValueSource {
 public:
  virtual ~ValueSource() = default;

  [[nodiscard]] const Dataset& dataset() const { return dataset_; }

  /// Reads values as they lie in the file. `first` counts values of the variable in C order; `out` holds a
  /// whole number of values. Errors: Corruption (not all there, damaged), IoError.
  [[nodiscard]] virtual Status read(std::uint32_t variable, std::uint64_t first,
                                    std::span<std::byte> out) = 0;
  /// The same bytes without a copy, where the source has them in memory; shorter than asked, or empty, where not.
  /// Valid until the next call.
  [[nodiscard]] virtual std::span<const std::byte> view(std::uint32_t variable, std::uint64_t first,
                                                        std::uint64_t bytes) {
    (void)variable, (void)first, (void)bytes;
    return {};
  }
  [[nodiscard]] virtual bool is_big_endian(std::uint32_t variable) const = 0;
  /// Ok when the file holds all these values. Errors: Corruption (where the file ends).
  [[nodiscard]] virtual Status check_present(std::uint32_t variable, std::uint64_t first,
                                             std::uint64_t count) const = 0;
  /// How many frames of a variable are decompressed together; 1 when reading one costs one.
  [[nodiscard]] virtual std::uint64_t frames_together(std::uint32_t variable) const = 0;
  /// Texts of a String variable. Errors: InvalidArgument, Corruption.
  [[nodiscard]] virtual Result<std::vector<std::string>> read_strings(std::uint32_t variable) = 0;
  /// Frames that a file of this size can hold at all; more are not looked at.
  [[nodiscard]] virtual std::uint64_t frames_max() const = 0;
  /// What the file holds that is not stored, such as groups.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

 protected:
  Dataset dataset_;
  std::vector<std::string> left_out_;
};

/// Checks sizes that the header declares against the limits. Errors: InvalidArgument.
[[nodiscard]] Status check_declared_size(const Dataset& dataset, std::uint64_t file_bytes,
                                         const DecodeLimits& limits);

/// Opens CDF-1, CDF-2 and CDF-5. Errors: InvalidArgument, Corruption (names the offset and the item),
/// IoError. Source: "NetCDF Classic Format Specification" and "CDF-5 Format Specification".
[[nodiscard]] Result<std::unique_ptr<ValueSource>> open_classic(int fd, std::uint64_t file_bytes);

/// Opens NetCDF-4 (HDF5), after a look for constructs that are refused: external storage, links that are not
/// hard, virtual datasets, driver information of split files. Errors: InvalidArgument, Corruption, IoError.
[[nodiscard]] Result<std::unique_ptr<ValueSource>> open_hdf5(int fd, std::uint64_t file_bytes,
                                                             const DecodeLimits& limits);

}  // namespace nvmdb::ingest::netcdf
