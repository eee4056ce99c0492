#include "ingest/decode/grib/header_memo.h"

#include <utility>

#include "ingest/decode/grib/octets.h"

namespace nvmdb::ingest::grib {
namespace {

constexpr std::size_t kKeyBytesMax = 16U << 10U;  // a reduced grid has the length of each row in its section
constexpr std::size_t kMemoBytesMax = 16U << 20U;
constexpr std::size_t kTemplateAt = 7;
constexpr std::size_t kForecastTimeAt = 18;
constexpr std::size_t kForecastTimeEnd = 22;

void append(std::string& key, ByteSpan octets) {
  key += std::to_string(octets.size());
  key += ':';
  key.append(reinterpret_cast<const char*>(octets.data()), octets.size());
}

}  // namespace

std::optional<std::string> HeaderMemo::key(const FieldSections& s) {
  constexpr std::uint32_t kEnsembleMember = 1;
  constexpr std::size_t kIndicatorBytes = 8;  // discipline and edition among them; the length comes behind
  if (s.edition != 2 || s.product.size() < kForecastTimeEnd || s.message.size() < kIndicatorBytes)
    return std::nullopt;
  if (octet2(s.product, kTemplateAt) > kEnsembleMember) return std::nullopt;
  if (s.local.size() + s.grid.size() + s.product.size() > kKeyBytesMax) return std::nullopt;
  std::string key;
  append(key, s.message.first(kIndicatorBytes));
  append(key, s.identification);
  append(key, s.local);
  append(key, s.grid);
  append(key, s.product.first(kForecastTimeAt));
  append(key, s.product.subspan(kForecastTimeEnd));
  return key;
}

const KnownHeader* HeaderMemo::find(const std::string& key) const {
  const auto known = headers_.find(key);
  return known == headers_.end() ? nullptr : &known->second;
}

const KnownHeader* HeaderMemo::remember(const std::string& key, KnownHeader header) {
  if (key_bytes_ + key.size() > kMemoBytesMax) {
    headers_.clear();
    key_bytes_ = 0;
  }
  key_bytes_ += key.size();
  return &headers_.insert_or_assign(key, std::move(header)).first->second;
}

}  // namespace nvmdb::ingest::grib
