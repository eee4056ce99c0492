#include "ingest/decode/grib/message_scanner.h"

#include <cstring>
#include <string>

#include "ingest/decode/grib/octets.h"

namespace nvmdb::ingest::grib {
namespace {

constexpr std::size_t kHeader1 = 8;
constexpr std::size_t kHeader2 = 16;
constexpr std::size_t kSection1Max = 65536;
constexpr std::uint32_t kLargeFlag = 0x800000;
constexpr std::uint32_t kLargeUnit = 120;

/// Length of a GRIB1 message. Messages from 8 MiB on do not fit 24 bits: their length is coded in units of
/// 120 bytes with the top bit set, and the length of section 4 (below 120) says how many bytes of the last
/// unit are unused. Source: ecCodes and ECMWF's GRIBEX convention.
std::uint64_t length_grib1(ByteSpan from) {
  const std::uint32_t coded = octet3(from, 4);
  if ((coded & kLargeFlag) == 0 || from.size() < kHeader1 + 8) return coded;
  const std::uint32_t flags = octet1(from, kHeader1 + 7);
  std::size_t at = kHeader1 + octet3(from, kHeader1);
  for (const std::uint32_t flag : {0x80U, 0x40U}) {  // sections 2 and 3
    if ((flags & flag) == 0) continue;
    if (at + 3 > from.size()) return coded;
    at += octet3(from, at);
  }
  if (at + 3 > from.size()) return coded;
  const std::uint32_t section4 = octet3(from, at);
  if (section4 >= kLargeUnit) return coded;
  return std::uint64_t{coded & ~kLargeFlag} * kLargeUnit - section4 + 4;
}

/// Whether section 1 can be one: tells a message from the word GRIB in a text.
bool has_section1(ByteSpan from, unsigned edition) {
  const std::size_t at = edition == 1 ? kHeader1 : kHeader2;
  if (from.size() < at + 5) return false;
  if (edition == 1) {
    const std::uint32_t length = octet3(from, at);
    return length >= 28 && length <= kSection1Max;
  }
  const std::uint32_t length = octet4(from, at);
  return length >= 21 && length <= kSection1Max && octet1(from, at + 4) == 1;
}

bool ends_well(ByteSpan message) {
  return std::memcmp(message.data() + message.size() - 4, "7777", 4) == 0;
}

Status truncated(std::uint64_t expected, std::uint64_t found) {
  return Status::corruption("truncated message: expected " + std::to_string(expected) + " bytes, found " +
                            std::to_string(found));
}

}  // namespace

std::optional<std::variant<ScannedMessage, ScanProblem>> MessageScanner::next() {
  while (file_.size() - at_ >= kHeader1) {
    const void* hit = memmem(file_.data() + at_, file_.size() - at_, "GRIB", 4);
    if (hit == nullptr) break;
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(hit) - file_.data());
    const ByteSpan from = file_.subspan(offset);
    at_ = offset + 4;
    if (from.size() < kHeader1) break;
    const unsigned edition = octet1(from, 7);
    if (edition != 1 && edition != 2) continue;
    if (edition == 2 && from.size() < kHeader2) return ScanProblem{offset, truncated(kHeader2, from.size())};
    const std::uint64_t length = edition == 1 ? length_grib1(from) : read_octets<8>(from, 8);
    const std::size_t least = edition == 1 ? kHeader1 + 28 + 11 + 4 : kHeader2 + 21 + 4;
    const bool framed = length >= least && length <= from.size() && ends_well(from.first(length));
    if (framed) {
      at_ = offset + length;
      return ScannedMessage{offset, edition, from.first(length)};
    }
    if (!has_section1(from, edition)) continue;
    if (length > from.size()) return ScanProblem{offset, truncated(length, from.size())};
    return ScanProblem{offset, Status::corruption("wrong message length: no \"7777\" at the end of the " +
                                                  std::to_string(length) + " bytes that the header says")};
  }
  at_ = file_.size();
  return std::nullopt;
}

}  // namespace nvmdb::ingest::grib
