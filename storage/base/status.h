#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace nvmdb {

/// What kind of failure a Status carries. The names are also the words that users see.
enum class Code : unsigned char {
  Ok,
  NotFound,
  InvalidArgument,
  Conflict,
  Corruption,
  IoError,
  OutOfSpace,
  Overloaded,
  DeadlineExceeded,
  PermissionDenied,
  AlreadyExists,
};

/// Name of `code` as shown to users, e.g. "InvalidArgument".
[[nodiscard]] std::string_view code_name(Code code);

/// Outcome of an operation that can fail. Cheap when ok. A message says what, where (file, offset, key),
/// expected and found, in one line.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] static Status ok() { return {}; }
  [[nodiscard]] static Status not_found(std::string m) { return {Code::NotFound, std::move(m)}; }
  [[nodiscard]] static Status invalid_argument(std::string m) { return {Code::InvalidArgument, std::move(m)}; }
  [[nodiscard]] static Status conflict(std::string m) { return {Code::Conflict, std::move(m)}; }
  [[nodiscard]] static Status corruption(std::string m) { return {Code::Corruption, std::move(m)}; }
  [[nodiscard]] static Status io_error(std::string m) { return {Code::IoError, std::move(m)}; }
  [[nodiscard]] static Status out_of_space(std::string m) { return {Code::OutOfSpace, std::move(m)}; }
  [[nodiscard]] static Status overloaded(std::string m) { return {Code::Overloaded, std::move(m)}; }
  [[nodiscard]] static Status deadline_exceeded(std::string m) { return {Code::DeadlineExceeded, std::move(m)}; }
  [[nodiscard]] static Status already_exists(std::string m) { return {Code::AlreadyExists, std::move(m)}; }
  [[nodiscard]] static Status permission_denied(std::string m) { return {Code::PermissionDenied, std::move(m)}; }

  [[nodiscard]] bool is_ok() const { return code_ == Code::Ok; }
  [[nodiscard]] Code code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  /// "NotFound: no run ..." or "Ok".
  [[nodiscard]] std::string to_string() const;

 private:
  Code code_ = Code::Ok;
  std::string message_;
};

}  // namespace nvmdb

#define NVMDB_CONCAT_INNER(a, b) a##b
#define NVMDB_CONCAT(a, b) NVMDB_CONCAT_INNER(a, b)
#define NVMDB_TRY_INNER(status, expression)              \
  do {                                                   \
    if (::nvmdb::Status status = (expression); !status.is_ok()) return status; \
  } while (false)
/// Returns from the enclosing function when `expression` (a Status) is not ok. May be nested through lambdas.
#define NVMDB_TRY(expression) NVMDB_TRY_INNER(NVMDB_CONCAT(nvmdb_try_, __COUNTER__), expression)
