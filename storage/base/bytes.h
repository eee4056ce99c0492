#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace nvmdb {

using ByteSpan = std::span<const std::byte>;
using Bytes = std::vector<std::byte>;

static_assert(std::endian::native == std::endian::little, "pool formats are little-endian");

[[nodiscard]] constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Appends fixed-width little-endian values and length-prefixed strings to a byte vector.
class ByteWriter {
 public:
  template <class T>
  void put(T value) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    const std::size_t at = out_.size();
    out_.resize(at + sizeof(T));
    std::memcpy(out_.data() + at, &value, sizeof(T));
  }
  void put_bytes(ByteSpan bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void put_string(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(std::as_bytes(std::span(text)));
  }
  [[nodiscard]] ByteSpan bytes() const { return out_; }
  [[nodiscard]] Bytes take() { return std::move(out_); }
  [[nodiscard]] std::size_t size() const { return out_.size(); }

 private:
  Bytes out_;
};

/// Reads what ByteWriter wrote. Reading past the end yields zeros and makes ok() false: check once at the end.
/// Safe on hostile input.
class ByteReader {
 public:
  explicit ByteReader(ByteSpan bytes) : bytes_(bytes) {}

  template <class T>
  [[nodiscard]] T get() {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    T value{};
    if (const ByteSpan part = get_bytes(sizeof(T)); part.size() == sizeof(T)) std::memcpy(&value, part.data(), sizeof(T));
    return value;
  }
  [[nodiscard]] ByteSpan get_bytes(std::size_t count) {
    if (!ok_ || count > bytes_.size() - at_) {
      ok_ = false;
      return {};
    }
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }
  [[nodiscard]] std::string get_string() {
    const auto length = get<std::uint32_t>();
    const ByteSpan part = get_bytes(length);
    std::string text(part.size(), '\0');
    if (!part.empty()) std::memcpy(text.data(), part.data(), part.size());
    return text;
  }
  [[nodiscard]] std::size_t remaining() const { return ok_ ? bytes_.size() - at_ : 0; }
  /// True when nothing was read past the end.
  [[nodiscard]] bool ok() const { return ok_; }
  /// True when exactly everything was read.
  [[nodiscard]] bool complete() const { return ok_ && at_ == bytes_.size(); }

 private:
  ByteSpan bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace nvmdb
