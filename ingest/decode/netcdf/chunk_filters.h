#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "storage/base/result.h"

struct libdeflate_decompressor;

namespace nvmdb::ingest::netcdf {

enum class ChunkFilter : std::uint8_t { Deflate, Shuffle, Fletcher32 };

/// Undoes the filters of HDF5 chunks. Safe on hostile input.
/// Source: HDF5 File Format Specification 3.0, IV.A.2.l (filter pipeline message).
/// Threads: one.
class ChunkDecoder {
 public:
  ChunkDecoder();
  ~ChunkDecoder();
  ChunkDecoder(const ChunkDecoder&) = delete;
  ChunkDecoder& operator=(const ChunkDecoder&) = delete;

  /// Turns the stored bytes of a chunk into its `decoded_bytes` bytes of values. `filters` are in the order
  /// of writing; bit i of `skipped` says that filter i was left out for this chunk. Errors: Corruption
  /// (checksum, damaged stream, wrong size).
  [[nodiscard]] Status decode(std::span<const ChunkFilter> filters, std::uint32_t skipped,
                              std::uint32_t value_bytes, std::uint64_t decoded_bytes,
                              std::vector<std::byte>& chunk);

 private:
  [[nodiscard]] Status inflate(std::span<const std::byte> in, std::span<std::byte> out);

  libdeflate_decompressor* decompressor_;
  std::vector<std::byte> scratch_;
};

/// Checksum of HDF5's fletcher32 filter. Source: HDF5 library, Fletcher's checksum over 16-bit big-endian
/// words.
[[nodiscard]] std::uint32_t fletcher32(std::span<const std::byte> bytes);

/// Undoes byte shuffling: plane k of `in` holds byte k of every value. Bytes beyond whole values are copied.
void unshuffle(std::span<const std::byte> in, std::span<std::byte> out, std::uint32_t value_bytes);

}  // namespace nvmdb::ingest::netcdf
