#pragma once

#include <eccodes.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/result.h"

namespace nvmdb::ingest::grib {

/// A message opened by ecCodes: the only way here to its keys. ecCodes may abort the process on bad input.
class Handle {
 public:
  /// `message` must outlive the handle. Errors: Corruption.
  [[nodiscard]] static Result<Handle> open(ByteSpan message);

  /// Nothing when the message has no such key.
  [[nodiscard]] std::optional<std::int64_t> integer(const char* key) const;
  [[nodiscard]] std::optional<double> real(const char* key) const;
  [[nodiscard]] std::optional<std::string> text(const char* key) const;
  /// Errors: Corruption (no such key, or it cannot be decoded).
  [[nodiscard]] Result<std::vector<std::int64_t>> integers(const char* key) const;
  /// All values of the field, in the order of the message; missing ones are `missing`, a value that none has.
  /// Errors: Corruption (cannot be decoded, or not `points` values; points == 0: any number).
  [[nodiscard]] Result<std::vector<double>> values(std::uint64_t points, double missing);

 private:
  struct Delete {
    void operator()(codes_handle* handle) const { codes_handle_delete(handle); }
  };
  explicit Handle(codes_handle* handle) : handle_(handle) {}
  std::unique_ptr<codes_handle, Delete> handle_;
};

/// ecCodes writes its complaints to stderr otherwise; what matters comes back as a Status.
void silence_eccodes();

}  // namespace nvmdb::ingest::grib
