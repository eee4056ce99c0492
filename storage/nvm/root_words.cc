#include "storage/nvm/root_words.h"

#include <array>
#include <span>
#include <string>

#include "storage/base/crc32c.h"

namespace nvmdb::storage {
namespace {

constexpr unsigned kCheckShift = 48;
constexpr std::uint64_t kNumberMask = (1ULL << kCheckShift) - 1;

}  // namespace

std::uint64_t encode_root_number(std::uint64_t word, std::uint64_t number) {
  NVMDB_CHECK(number <= kNumberMask, "a root number is too large");
  if (number == 0) return 0;
  const std::array<std::uint64_t, 2> content{word, number};
  return number | std::uint64_t{crc32c(std::as_bytes(std::span(content)))} << kCheckShift;
}

Result<std::uint64_t> load_root_number(const Door& root, std::uint64_t word) {
  const std::uint64_t raw = root.load8(word * 8);
  const std::uint64_t number = raw & kNumberMask;
  if (encode_root_number(word, number) == raw) return number;
  return Status::corruption("root word " + std::to_string(word) + " is damaged: " + std::to_string(raw) +
                            " does not match its check bits");
}

void store_root_number(Door& root, std::uint64_t word, std::uint64_t number, Door::Site site) {
  root.store8(word * 8, encode_root_number(word, number), site);
}

}  // namespace nvmdb::storage
