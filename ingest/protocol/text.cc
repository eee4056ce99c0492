#include "ingest/protocol/text.h"

namespace nvmdb::ingest::protocol {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

/// Bytes of the well-formed, printable character at `at`; 0 when there is none. Source: RFC 3629 section 4.
std::size_t character_size(std::string_view text, std::size_t at) {
  const unsigned first = byte_at(text, at);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte_at(text, at + i) & 0xc0U) != 0x80) return 0;
  }
  const unsigned second = byte_at(text, at + 1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool above_range = first == 0xf4 && second >= 0x90;
  const bool c1_control = first == 0xc2 && second < 0xa0;
  return overlong || surrogate || above_range || c1_control ? 0 : size;
}

}  // namespace

bool is_clean_text(std::string_view text, std::size_t size_max) {
  if (text.size() > size_max) return false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = character_size(text, at);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

std::string clean_text(std::string_view text, std::size_t size_max) {
  std::string clean;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = character_size(text, at);
    const std::size_t step = size == 0 ? 1 : size;
    if (clean.size() + step > size_max) break;
    if (size == 0) {
      clean += '?';
    } else {
      clean += text.substr(at, size);
    }
    at += step;
  }
  return clean;
}

}  // namespace nvmdb::ingest::protocol
