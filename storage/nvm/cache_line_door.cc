#include "storage/nvm/cache_line_door.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "storage/base/check.h"

namespace nvmdb::storage {
namespace {

constexpr std::uint64_t kVectorBytes = 32;

std::uint64_t misalignment(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address) % kVectorBytes;
}

__m256i load(const std::byte* source) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
}
void stream(std::byte* target, __m256i value) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(target), value);
}

}  // namespace

CacheLineDoor::CacheLineDoor(std::byte* memory, std::uint64_t bytes, FlushFunction flush_lines,
                             DrainFunction drain)
    : memory_(memory), flush_(flush_lines), drain_(drain) {
  data_ = memory;
  size_ = bytes;
}

std::byte* CacheLineDoor::place(std::uint64_t offset, std::uint64_t bytes) const {
  NVMDB_CHECK(offset <= size_ && bytes <= size_ - offset, "store outside the mapped area");
  return memory_ + offset;
}

void CacheLineDoor::store8(std::uint64_t offset, std::uint64_t value, Site /*site*/) {
  NVMDB_CHECK(offset % 8 == 0, "store8 must be aligned");
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(place(offset, 8)), value, __ATOMIC_RELEASE);
}

void CacheLineDoor::copy(std::uint64_t offset, ByteSpan source, Site /*site*/) {
  if (!source.empty()) std::memcpy(place(offset, source.size()), source.data(), source.size());
}

void CacheLineDoor::copy_nontemporal(std::uint64_t offset, ByteSpan source, Site /*site*/) {
  std::byte* target = place(offset, source.size());
  const std::byte* from = source.data();
  std::uint64_t left = source.size();
  const auto cached = [&](std::uint64_t count) {
    // Ends that fill no vector go through the cache; flushed at once, the same fence makes them durable.
    if (count == 0) return;
    std::memcpy(target, from, count);
    flush_(target, count);
    target += count;
    from += count;
    left -= count;
  };
  cached(std::min(left, (kVectorBytes - misalignment(target)) % kVectorBytes));
  for (; left >= 4 * kVectorBytes;
       left -= 4 * kVectorBytes, target += 4 * kVectorBytes, from += 4 * kVectorBytes) {
    const __m256i a = load(from);
    const __m256i b = load(from + kVectorBytes);
    const __m256i c = load(from + 2 * kVectorBytes);
    const __m256i d = load(from + 3 * kVectorBytes);
    stream(target, a);
    stream(target + kVectorBytes, b);
    stream(target + 2 * kVectorBytes, c);
    stream(target + 3 * kVectorBytes, d);
  }
  for (; left >= kVectorBytes; left -= kVectorBytes, target += kVectorBytes, from += kVectorBytes) {
    stream(target, load(from));
  }
  cached(left);
}

void CacheLineDoor::fill(std::uint64_t offset, std::uint64_t bytes, std::byte value, Site /*site*/) {
  std::byte* target = place(offset, bytes);
  std::uint64_t left = bytes;
  const auto cached = [&](std::uint64_t count) {
    if (count == 0) return;
    std::memset(target, static_cast<int>(value), count);
    flush_(target, count);
    target += count;
    left -= count;
  };
  cached(std::min(left, (kVectorBytes - misalignment(target)) % kVectorBytes));
  const __m256i pattern = _mm256_set1_epi8(static_cast<char>(value));
  for (; left >= kVectorBytes; left -= kVectorBytes, target += kVectorBytes) stream(target, pattern);
  cached(left);
}

void CacheLineDoor::flush(std::uint64_t offset, std::uint64_t bytes, Site /*site*/) {
  if (bytes > 0) flush_(place(offset, bytes), bytes);
}

Status CacheLineDoor::fence(Site /*site*/) {
  drain_();
  return Status::ok();
}

}  // namespace nvmdb::storage
