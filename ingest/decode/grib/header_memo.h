#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "engine/met/level.h"
#include "engine/met/parameter.h"
#include "ingest/decode/grib/sections.h"

namespace nvmdb::ingest::grib {

/// What ecCodes said of a message but for its times, its grid and its values.
struct KnownHeader {
  met::Parameter parameter;
  met::Level level;
  std::uint32_t member = 0;
  std::string centre;
  std::string attributes;  ///< of the run
  std::string version;     ///< of the run
};

/// Remembers headers: ecCodes takes about a millisecond for one, and the files of a run differ in the
/// forecast time only. Two messages have the same header when the sections that say what the values are of
/// are the same octets, the forecast time left aside, and only products at a point in time are remembered
/// (templates 4.0 and 4.1), where nothing but the step depends on it. Threads: one.
class HeaderMemo {
 public:
  /// Nothing when this kind of message is not remembered.
  [[nodiscard]] static std::optional<std::string> key(const FieldSections& sections);
  [[nodiscard]] const KnownHeader* find(const std::string& key) const;
  /// The pointer holds until the next call.
  const KnownHeader* remember(const std::string& key, KnownHeader header);

 private:
  std::unordered_map<std::string, KnownHeader> headers_;
  std::size_t key_bytes_ = 0;
};

}  // namespace nvmdb::ingest::grib
