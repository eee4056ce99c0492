#include "ingest/decode/netcdf/chunk_filters.h"

#include <immintrin.h>
#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace nvmdb::ingest::netcdf {
namespace {

/// 32 values of 4 bytes at a time: interleaves the four byte planes.
std::size_t unshuffle_words(const std::byte* in, std::byte* out, std::size_t values) {
  const auto plane = [&](std::size_t k, std::size_t i) {
    __m256i bytes;
    std::memcpy(&bytes, in + k * values + i, sizeof(bytes));
    return bytes;
  };
  std::size_t i = 0;
  for (; i + 32 <= values; i += 32) {
    const __m256i b0 = plane(0, i);
    const __m256i b1 = plane(1, i);
    const __m256i b2 = plane(2, i);
    const __m256i b3 = plane(3, i);
    const __m256i low01 = _mm256_unpacklo_epi8(b0, b1);
    const __m256i high01 = _mm256_unpackhi_epi8(b0, b1);
    const __m256i low23 = _mm256_unpacklo_epi8(b2, b3);
    const __m256i high23 = _mm256_unpackhi_epi8(b2, b3);
    // Each holds 4 values of the lower and 4 of the upper half of the 32.
    const __m256i q0 = _mm256_unpacklo_epi16(low01, low23);
    const __m256i q1 = _mm256_unpackhi_epi16(low01, low23);
    const __m256i q2 = _mm256_unpacklo_epi16(high01, high23);
    const __m256i q3 = _mm256_unpackhi_epi16(high01, high23);
    const __m256i ordered[4] = {
        _mm256_permute2x128_si256(q0, q1, 0x20), _mm256_permute2x128_si256(q2, q3, 0x20),
        _mm256_permute2x128_si256(q0, q1, 0x31), _mm256_permute2x128_si256(q2, q3, 0x31)};
    std::memcpy(out + i * 4, ordered, sizeof(ordered));
  }
  return i;
}

}  // namespace

ChunkDecoder::ChunkDecoder() : decompressor_(libdeflate_alloc_decompressor()) {}
ChunkDecoder::~ChunkDecoder() {
  libdeflate_free_decompressor(decompressor_);
}

std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  std::uint32_t sum1 = 0;
  std::uint32_t sum2 = 0;
  std::size_t at = 0;
  std::size_t words = bytes.size() / 2;
  while (words > 0) {
    // 360 words cannot overflow the 32-bit sums.
    for (std::size_t i = std::min<std::size_t>(words, 360); i > 0; --i, --words, at += 2) {
      sum1 += static_cast<std::uint32_t>(bytes[at]) << 8U | static_cast<std::uint32_t>(bytes[at + 1]);
      sum2 += sum1;
    }
    sum1 = (sum1 & 0xFFFFU) + (sum1 >> 16U);
    sum2 = (sum2 & 0xFFFFU) + (sum2 >> 16U);
  }
  if (bytes.size() % 2 != 0) {
    sum1 += static_cast<std::uint32_t>(bytes.back()) << 8U;
    sum2 += sum1;
    sum1 = (sum1 & 0xFFFFU) + (sum1 >> 16U);
    sum2 = (sum2 & 0xFFFFU) + (sum2 >> 16U);
  }
  sum1 = (sum1 & 0xFFFFU) + (sum1 >> 16U);
  sum2 = (sum2 & 0xFFFFU) + (sum2 >> 16U);
  return sum2 << 16U | sum1;
}

void unshuffle(std::span<const std::byte> in, std::span<std::byte> out, std::uint32_t value_bytes) {
  const std::size_t values = value_bytes == 0 ? 0 : in.size() / value_bytes;
  std::size_t done = 0;
  if (value_bytes == 4) done = unshuffle_words(in.data(), out.data(), values);
  for (std::size_t i = done; i < values; ++i) {
    for (std::size_t k = 0; k < value_bytes; ++k) out[i * value_bytes + k] = in[k * values + i];
  }
  std::copy(in.begin() + static_cast<std::ptrdiff_t>(values * value_bytes), in.end(),
            out.begin() + static_cast<std::ptrdiff_t>(values * value_bytes));
}

Status ChunkDecoder::inflate(std::span<const std::byte> in, std::span<std::byte> out) {
  if (decompressor_ == nullptr) return Status::out_of_space("no memory for a decompressor");
  std::size_t actual = 0;
  const libdeflate_result result =
      libdeflate_zlib_decompress(decompressor_, in.data(), in.size(), out.data(), out.size(), &actual);
  if (result == LIBDEFLATE_SUCCESS && actual == out.size()) return Status::ok();
  if (result == LIBDEFLATE_SUCCESS || result == LIBDEFLATE_INSUFFICIENT_SPACE)
    return Status::corruption("a compressed chunk does not expand to " + std::to_string(out.size()) +
                              " bytes");
  return Status::corruption("a compressed chunk of " + std::to_string(in.size()) + " bytes is damaged");
}

Status ChunkDecoder::decode(std::span<const ChunkFilter> filters, std::uint32_t skipped,
                            std::uint32_t value_bytes, std::uint64_t decoded_bytes,
                            std::vector<std::byte>& chunk) {
  std::size_t checksums_left = 0;
  for (std::size_t i = 0; i < filters.size(); ++i) {
    if (filters[i] == ChunkFilter::Fletcher32 && (skipped >> i & 1U) == 0) ++checksums_left;
  }
  for (std::size_t i = filters.size(); i-- > 0;) {
    if ((skipped >> i & 1U) != 0) continue;
    switch (filters[i]) {
      case ChunkFilter::Fletcher32: {
        if (chunk.size() < 4) return Status::corruption("a chunk is too short for its checksum");
        --checksums_left;
        std::uint32_t expected = 0;
        std::memcpy(&expected, chunk.data() + chunk.size() - 4, 4);
        chunk.resize(chunk.size() - 4);
        if (fletcher32(chunk) != expected) return Status::corruption("the checksum of a chunk is wrong");
        break;
      }
      case ChunkFilter::Deflate:
        // Checksums of filters that were applied before compression are inside.
        scratch_.resize(decoded_bytes + 4 * checksums_left);
        NVMDB_TRY(inflate(chunk, scratch_));
        chunk.swap(scratch_);
        break;
      case ChunkFilter::Shuffle:
        scratch_.resize(chunk.size());
        unshuffle(chunk, scratch_, value_bytes);
        chunk.swap(scratch_);
        break;
    }
  }
  if (chunk.size() != decoded_bytes)
    return Status::corruption("a chunk has " + std::to_string(chunk.size()) + " bytes, expected " +
                              std::to_string(decoded_bytes));
  return Status::ok();
}

}  // namespace nvmdb::ingest::netcdf
