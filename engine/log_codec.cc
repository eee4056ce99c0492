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

}  // namespace

std::size_t encoded_bytes(LogAction action, const index::Key& key, std::size_t row_bytes) {
  const std::size_t bytes = kPrefixBytes + std::size_t{key.count} * 8;
  return action == LogAction::Put ? bytes + length_bytes(row_bytes) + row_bytes : bytes;
}

std::byte* encode_operation(std::byte* to, LogAction action, TableId table, const index::Key& key, ByteSpan row) {
  *to++ = static_cast<std::byte>((static_cast<unsigned>(action) << 4U) | key.count);
  std::memcpy(to, &table, sizeof(table));
  to += sizeof(table);
  if (action == LogAction::Put) {
    std::size_t length = row.size();
    for (; length >= 0x80; length >>= 7U) *to++ = static_cast<std::byte>((length & 0x7fU) | 0x80U);
    *to++ = static_cast<std::byte>(length);
  }
  std::memcpy(to, key.words.data(), std::size_t{key.count} * 8);
  to += std::size_t{key.count} * 8;
  if (action == LogAction::Put && !row.empty()) {
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
  if (action != static_cast<unsigned>(LogAction::Put) && action != static_cast<unsigned>(LogAction::Erase)) {
    return damaged("unknown action");
  }
  if (words != 1 && words != 2 && words != 4 && words != 6) return damaged("impossible key width");
  operation.action = static_cast<LogAction>(action);
  std::uint64_t row_bytes = 0;
  if (operation.action == LogAction::Put && !take_length(row_bytes)) return damaged("impossible row length");
  operation.key = {};
  operation.key.count = words;
  if (!take(operation.key.words.data(), std::size_t{words} * 8)) return damaged("cut off in a key");
  if (row_bytes > bytes_.size() - at_) return damaged("cut off in a row");
  operation.row = bytes_.subspan(at_, static_cast<std::size_t>(row_bytes));
  at_ += static_cast<std::size_t>(row_bytes);
  return Status::ok();
}

}  // namespace nvmdb::engine
