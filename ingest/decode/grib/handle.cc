#include "ingest/decode/grib/handle.h"

#include <array>
#include <utility>

namespace nvmdb::ingest::grib {
namespace {

Status failed(const std::string& what, int error) {
  return Status::corruption(what + ": " + codes_get_error_message(error));
}

void ignore_log(const codes_context* /*context*/, int /*level*/, const char* /*text*/) {}

}  // namespace

Result<Handle> Handle::open(ByteSpan message) {
  codes_handle* handle = codes_handle_new_from_message(nullptr, message.data(), message.size());
  if (handle == nullptr) return Status::corruption("ecCodes cannot open the message");
  return Handle(handle);
}

std::optional<std::int64_t> Handle::integer(const char* key) const {
  long value = 0;
  if (codes_get_long(handle_.get(), key, &value) != CODES_SUCCESS) return std::nullopt;
  return value;
}

std::optional<double> Handle::real(const char* key) const {
  double value = 0;
  if (codes_get_double(handle_.get(), key, &value) != CODES_SUCCESS) return std::nullopt;
  return value;
}

std::optional<std::string> Handle::text(const char* key) const {
  std::array<char, 1024> buffer{};
  std::size_t length = buffer.size();
  if (codes_get_string(handle_.get(), key, buffer.data(), &length) != CODES_SUCCESS) return std::nullopt;
  buffer.back() = '\0';
  return std::string(buffer.data());
}

Result<std::vector<std::int64_t>> Handle::integers(const char* key) const {
  static_assert(sizeof(long) == sizeof(std::int64_t));
  std::size_t count = 0;
  if (const int error = codes_get_size(handle_.get(), key, &count); error != CODES_SUCCESS)
    return failed(key, error);
  std::vector<long> values(count);
  if (const int error = codes_get_long_array(handle_.get(), key, values.data(), &count);
      error != CODES_SUCCESS) {
    return failed(key, error);
  }
  return std::vector<std::int64_t>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
}

Result<std::vector<double>> Handle::values(std::uint64_t points, double missing) {
  if (const int error = codes_set_double(handle_.get(), "missingValue", missing); error != CODES_SUCCESS) {
    return failed("missingValue", error);
  }
  std::size_t count = 0;
  if (const int error = codes_get_size(handle_.get(), "values", &count); error != CODES_SUCCESS) {
    return failed("values", error);
  }
  if (count == 0 || (points != 0 && count != points)) {
    return Status::corruption("expected " + std::to_string(points) + " values, found " +
                              std::to_string(count));
  }
  std::vector<double> values(count);
  if (const int error = codes_get_double_array(handle_.get(), "values", values.data(), &count);
      error != CODES_SUCCESS) {
    return failed("values", error);
  }
  if (count != values.size()) {
    return Status::corruption("expected " + std::to_string(values.size()) + " values, decoded " +
                              std::to_string(count));
  }
  return values;
}

void silence_eccodes() {
  codes_context_set_logging_proc(codes_context_get_default(), ignore_log);
}

}  // namespace nvmdb::ingest::grib
