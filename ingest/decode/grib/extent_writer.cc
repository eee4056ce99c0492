#include "ingest/decode/grib/extent_writer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace nvmdb::ingest::grib {
namespace {

constexpr std::uint64_t kChunk = 4096;

/// Bytes into the sink's spaces, handed over in multiples of 8.
class SinkWriter {
 public:
  SinkWriter(FieldSink& sink, std::uint64_t total) : sink_(sink), left_(total) {}

  Status write(ByteSpan bytes) {
    while (!bytes.empty()) {
      if (used_ == space_.size()) NVMDB_TRY(renew());
      const std::size_t count = std::min(bytes.size(), space_.size() - used_);
      std::memcpy(space_.data() + used_, bytes.data(), count);
      used_ += count;
      bytes = bytes.subspan(count);
    }
    return Status::ok();
  }
  /// Space for bytes that the caller writes itself, then takes(); never empty.
  Result<std::span<std::byte>> room() {
    if (used_ == space_.size()) NVMDB_TRY(renew());
    return space_.subspan(used_);
  }
  void take(std::size_t bytes) { used_ += bytes; }
  Status finish() {
    NVMDB_TRY(hand_over());
    NVMDB_CHECK(left_ == 0, "a field was not written whole");
    return Status::ok();
  }

 private:
  Status hand_over() {
    if (used_ == 0) return Status::ok();
    left_ -= used_;
    const std::size_t used = std::exchange(used_, 0);
    space_ = {};
    return sink_.advance(used);
  }
  Status renew() {
    NVMDB_TRY(hand_over());
    NVMDB_CHECK(left_ > 0, "a field has more bytes than its extent");
    NVMDB_ASSIGN(space_, sink_.space(left_));
    if (space_.size() > left_) space_ = space_.first(left_);
    if (space_.size() < left_) space_ = space_.first(space_.size() / 8 * 8);
    NVMDB_CHECK(!space_.empty(), "the sink gave no space");
    return Status::ok();
  }

  FieldSink& sink_;
  std::uint64_t left_;
  std::span<std::byte> space_;
  std::size_t used_ = 0;
};

/// Minimum, maximum and mean over words: of packed integers exactly, then decoded, else of floats.
class WordStatistics {
 public:
  explicit WordStatistics(const met::Encoding& encoding) : encoding_(encoding) {}

  void add(std::span<const std::uint32_t> words, std::span<const std::uint8_t> present) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!present.empty() && present[i] == 0) continue;
      if (encoding_.kind == met::EncodingKind::Float32) {
        const float value = std::bit_cast<float>(words[i]);
        if (!std::isnan(value)) add_value(value);
      } else {
        least_ = std::min(least_, words[i]);
        most_ = std::max(most_, words[i]);
        word_sum_ += words[i];
        ++count_;
      }
    }
  }
  /// Packed integers that were looked at already.
  void add_words(std::uint32_t least, std::uint32_t most, std::uint64_t sum, std::uint64_t count) {
    least_ = std::min(least_, least);
    most_ = std::max(most_, most);
    word_sum_ += sum;
    count_ += count;
  }
  /// Constant fields: how many points have the value.
  void add_constant(std::uint64_t count) { count_ += count; }

  [[nodiscard]] DecodedStatistics result(std::uint64_t points) const {
    DecodedStatistics out;
    out.missing_count = points - count_;
    out.minimum = out.maximum = out.mean = std::numeric_limits<double>::quiet_NaN();
    if (count_ == 0) return out;
    const auto count = static_cast<double>(count_);
    switch (encoding_.kind) {
      case met::EncodingKind::Constant:
        out.minimum = out.maximum = static_cast<float>(encoding_.reference);
        out.mean = encoding_.reference;
        break;
      case met::EncodingKind::Packed:
        out.minimum = static_cast<float>(decode(least_));
        out.maximum = static_cast<float>(decode(most_));
        out.mean = decode(static_cast<double>(word_sum_) / count);
        break;
      default:
        out.minimum = minimum_;
        out.maximum = maximum_;
        out.mean = sum_ / count;
    }
    return out;
  }

 private:
  void add_value(float value) {
    minimum_ = std::min(minimum_, static_cast<double>(value));
    maximum_ = std::max(maximum_, static_cast<double>(value));
    sum_ += value;
    ++count_;
  }
  [[nodiscard]] double decode(double word) const {
    return (word * std::ldexp(1.0, encoding_.binary_scale) + encoding_.reference) *
           met::decimal_factor(encoding_.decimal_scale);
  }

  met::Encoding encoding_;
  std::uint64_t count_ = 0;
  std::uint32_t least_ = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t most_ = 0;
  std::uint64_t word_sum_ = 0;
  double minimum_ = std::numeric_limits<double>::infinity();
  double maximum_ = -std::numeric_limits<double>::infinity();
  double sum_ = 0;
};

/// Low `width` bytes of each word, little-endian.
void narrow_words(std::span<const std::uint32_t> words, unsigned width, std::vector<std::byte>& out) {
  out.resize(words.size() * width);
  std::byte* to = out.data();
  const auto copy = [&]<unsigned Width>() {
    for (const std::uint32_t word : words) {
      std::memcpy(to, &word, Width);
      to += Width;
    }
  };
  switch (width) {
    case 1:
      copy.operator()<1>();
      break;
    case 2:
      copy.operator()<2>();
      break;
    case 3:
      copy.operator()<3>();
      break;
    default:
      copy.operator()<4>();
  }
}

template <class Word>
Word from_big_endian(Word word) {
  if constexpr (sizeof(Word) == 1) return word;
  if constexpr (sizeof(Word) == 2) return __builtin_bswap16(word);
  if constexpr (sizeof(Word) == 4) return __builtin_bswap32(word);
}

/// Turns big-endian integers round and looks at them, in one pass that the compiler makes vectors of.
template <class Word>
void turn_words(const std::byte* from, std::byte* to, std::size_t count, WordStatistics& statistics) {
  // So few that their sum fits 32 bits where they have 16: narrow sums are twice as fast.
  using Sum = std::conditional_t<sizeof(Word) == 4, std::uint64_t, std::uint32_t>;
  NVMDB_CHECK(count <= kChunk, "too many for one pass");
  Word least = std::numeric_limits<Word>::max();
  Word most = 0;
  Sum sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, from + i * sizeof(Word), sizeof(Word));
    word = from_big_endian(word);
    std::memcpy(to + i * sizeof(Word), &word, sizeof(Word));
    least = std::min(least, word);
    most = std::max(most, word);
    sum += word;
  }
  statistics.add_words(least, most, sum, count);
}

/// Rows of integers of whole bytes go from the message to the sink without words between.
template <class Word>
Status write_turned(ByteSpan message, const PointOrder& order, SinkWriter& writer,
                    WordStatistics& statistics) {
  for (std::uint64_t row = 0; row < order.rows(); ++row) {
    ByteSpan left =
        message.subspan(*order.run_start(row) * sizeof(Word), order.row_length(row) * sizeof(Word));
    while (!left.empty()) {
      NVMDB_ASSIGN(const std::span<std::byte> room, writer.room());
      const std::size_t count =
          std::min({left.size() / sizeof(Word), room.size() / sizeof(Word), std::size_t{kChunk}});
      turn_words<Word>(left.data(), room.data(), count, statistics);
      writer.take(count * sizeof(Word));
      left = left.subspan(count * sizeof(Word));
    }
  }
  return Status::ok();
}

/// Whether write_turned() can do it: all points present, rows without gaps, and a width that divides every
/// space.
bool can_be_turned(const FieldValues& values, const PointOrder& order) {
  const std::uint64_t width = values.encoding.width_bytes;
  if (values.encoding.kind != met::EncodingKind::Packed || values.encoding.has_bitmap ||
      !values.words.empty())
    return false;
  if (values.packed.whole_bytes().empty() || values.packed.bits() != 8 * width || width == 3) return false;
  for (std::uint64_t row = 0; row < order.rows(); ++row) {
    if (!order.run_start(row)) return false;
  }
  return true;
}

Status turn(const FieldValues& values, const PointOrder& order, SinkWriter& writer,
            WordStatistics& statistics) {
  const ByteSpan message = values.packed.whole_bytes();
  if (values.encoding.width_bytes == 1) return write_turned<std::uint8_t>(message, order, writer, statistics);
  if (values.encoding.width_bytes == 2)
    return write_turned<std::uint16_t>(message, order, writer, statistics);
  return write_turned<std::uint32_t>(message, order, writer, statistics);
}

/// Walks the canonical order in chunks: calls `use(words, present)` for each; words are empty for constant
/// fields.
template <class Use>
Status walk(const FieldValues& values, const PointOrder& order, Use use) {
  const bool constant = values.encoding.kind == met::EncodingKind::Constant;
  std::vector<std::uint32_t> words(constant ? 0 : kChunk);
  std::vector<std::uint8_t> present(values.present.empty() ? 0 : kChunk);
  std::vector<std::uint64_t> indices(kChunk);
  for (std::uint64_t row = 0; row < order.rows(); ++row) {
    const std::uint64_t length = order.row_length(row);
    const auto run = order.run_start(row);
    for (std::uint64_t first = 0; first < length; first += kChunk) {
      const std::uint64_t count = std::min(kChunk, length - first);
      const std::span<std::uint32_t> word_part(words.data(), constant ? 0 : count);
      const std::span<std::uint8_t> present_part(present.data(), values.present.empty() ? 0 : count);
      if (run) {
        if (!constant) values.run(*run + first, word_part);
        if (!present_part.empty())
          std::copy_n(values.present.data() + *run + first, count, present_part.begin());
      } else {
        order.indices(row, first, std::span(indices.data(), count));
        for (std::uint64_t i = 0; i < word_part.size(); ++i) word_part[i] = values.at(indices[i]);
        for (std::uint64_t i = 0; i < present_part.size(); ++i) present_part[i] = values.present[indices[i]];
      }
      NVMDB_TRY(use(std::span<const std::uint32_t>(word_part), std::span<const std::uint8_t>(present_part)));
    }
  }
  return Status::ok();
}

}  // namespace

Result<DecodedStatistics> write_extent(const FieldValues& values, const PointOrder& order, FieldSink& sink) {
  const met::Encoding& encoding = values.encoding;
  SinkWriter writer(sink, encoding.extent_bytes(values.points));
  WordStatistics statistics(encoding);
  Bytes bitmap(encoding.has_bitmap ? (values.points + 7) / 8 : 0);
  std::uint64_t point = 0;
  std::uint64_t present_count = 0;
  Bytes narrowed;
  const bool all_alike = encoding.kind == met::EncodingKind::Constant && !encoding.has_bitmap;
  const bool turned = can_be_turned(values, order);
  if (turned) NVMDB_TRY(turn(values, order, writer, statistics));
  if (!all_alike && !turned)
    NVMDB_TRY(
        walk(values, order, [&](std::span<const std::uint32_t> words, std::span<const std::uint8_t> present) {
          for (const std::uint8_t bit : present) {
            bitmap[point / 8] |= static_cast<std::byte>(unsigned{bit} << (point % 8));
            ++point;
            present_count += bit;
          }
          if (words.empty()) return Status::ok();
          statistics.add(words, present);
          narrow_words(words, encoding.width_bytes, narrowed);
          return writer.write(narrowed);
        }));
  if (encoding.kind == met::EncodingKind::Constant) {
    statistics.add_constant(all_alike ? values.points : present_count);
  }
  if (encoding.has_bitmap) {
    const std::array<std::byte, 64> padding{};
    const std::uint64_t gap = encoding.bitmap_offset(values.points) - values.points * encoding.width_bytes;
    NVMDB_TRY(writer.write(ByteSpan(padding).first(gap)));
    NVMDB_TRY(writer.write(bitmap));
  }
  NVMDB_TRY(writer.finish());
  return statistics.result(values.points);
}

}  // namespace nvmdb::ingest::grib
