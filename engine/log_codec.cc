#include "engine/log_codec.h"

#include <cstring>

namespace nvmdb::engine {

namespace {

constexpr std::size_t kPrefixBytes = 3;
constexpr unsigned kLengthBytesMax = 5;

std::size_t length_bytes(std::size_t length) {
  std::size_t count = 1;
  for (; length >= 0x80; length >>= 7U) ++count;
  return count;
}

std::byte* put_length(std::byte* to, std::size_t length) {
  for (; length >= 0x80; length >>= 7U) *to++ = static_cast<std::byte>((length & 0x7fU) | 0x80U);
  *to++ = static_cast<std::byte>(length);
  return to;
}

}  // namespace

std::size_t encoded_bytes(LogAction action, const index::Key& key, std::size_t row_bytes, std::size_t offset) {
  const std::size_t bytes = kPrefixBytes + std::size_t{key.count} * 8;
  if (action == LogAction::Erase) return bytes;
  return bytes + length_bytes(row_bytes) + row_bytes + (action == LogAction::Patch ? length_bytes(offset) : 0);
}

std::byte* encode_operation(std::byte* to, LogAction action, TableId table, const index::Key& key, ByteSpan row, std::size_t offset) {
  *to++ = static_cast<std::byte>((static_cast<unsigned>(action) << 4U) | key.count);
  std::memcpy(to, &table, sizeof(table));
  to += sizeof(table);
  if (action != LogAction::Erase) to = put_length(to, row.size());
  if (action == LogAction::Patch) to = put_length(to, offset);
  std::memcpy(to, key.words.data(), std::size_t{key.count} * 8);
  to += std::size_t{key.count} * 8;
  if (action != LogAction::Erase && !row.empty()) {
    std::memcpy(to, row.data(), row.size());
    to += row.size();
  }
  return to;
}

bool LogOperationReader::take(void* to, std::size_t count) {
  if (count > bytes_.size() - at_) return false;
  std::memcpy(to, bytes_.data() + at_, count);
  at_ += count;
  return true;
}

bool LogOperationReader::take_length(std::uint64_t& length) {
  length = 0;
  for (unsigned i = 0; i < kLengthBytesMax; ++i) {
    std::uint8_t byte = 0;
    if (!take(&byte, 1)) return false;
    length |= std::uint64_t{byte & 0x7fU} << (7 * i);
    if ((byte & 0x80U) == 0) return true;
  }
  return false;
}

Status LogOperationReader::damaged(const char* what) const {
  return Status::corruption(std::string("log record: ") + what + " at offset " + std::to_string(at_) + " of " +
                            std::to_string(bytes_.size()));
}

Status LogOperationReader::next(LogOperation& operation) {
  std::uint8_t first = 0;
  if (!take(&first, 1) || !take(&operation.table, sizeof(operation.table))) return damaged("cut off");
  const unsigned action = first >> 4U;
  const std::uint32_t words = first & 0x0fU;
  if (action < static_cast<unsigned>(LogAction::Put) || action > static_cast<unsigned>(LogAction::Patch)) {
    return damaged("unknown action");
  }
  if (words != 1 && words != 2 && words != 4 && words != 6) return damaged("impossible key width");
  operation.action = static_cast<LogAction>(action);
  std::uint64_t row_bytes = 0;
  if (operation.action != LogAction::Erase && !take_length(row_bytes)) return damaged("impossible row length");
  std::uint64_t offset = 0;
  if (operation.action == LogAction::Patch && (!take_length(offset) || offset > ~std::uint32_t{0})) {
    return damaged("impossible offset in a row");
  }
  operation.offset = static_cast<std::uint32_t>(offset);
  operation.key = {};
  operation.key.count = words;
  if (!take(operation.key.words.data(), std::size_t{words} * 8)) return damaged("cut off in a key");
  if (row_bytes > bytes_.size() - at_) return damaged("cut off in a row");
  operation.row = bytes_.subspan(at_, static_cast<std::size_t>(row_bytes));
  at_ += static_cast<std::size_t>(row_bytes);
  return Status::ok();
}

}  // namespace nvmdb::engine
