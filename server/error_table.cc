#include "server/error_table.h"

#include <array>

#include "storage/base/check.h"

namespace nvmdb::server {
namespace {

// Canonical codes by number, so that this table needs no gRPC header.
constexpr int kOk = 0;
constexpr int kInvalidArgument = 3;
constexpr int kDeadlineExceeded = 4;
constexpr int kNotFound = 5;
constexpr int kAlreadyExists = 6;
constexpr int kPermissionDenied = 7;
constexpr int kResourceExhausted = 8;
constexpr int kFailedPrecondition = 9;
constexpr int kAborted = 10;
constexpr int kOutOfRange = 11;
constexpr int kUnimplemented = 12;
constexpr int kInternal = 13;
constexpr int kUnavailable = 14;
constexpr int kDataLoss = 15;
constexpr int kUnauthenticated = 16;

constexpr std::array<ErrorRow, 11> kRows = {{
    {Code::Ok, kOk, "OK"},
    {Code::NotFound, kNotFound, "NOT_FOUND"},
    {Code::InvalidArgument, kInvalidArgument, "INVALID_ARGUMENT"},
    {Code::Conflict, kAborted, "CONFLICT"},
    {Code::Corruption, kDataLoss, "CORRUPTION"},
    {Code::IoError, kInternal, "IO_ERROR"},
    {Code::OutOfSpace, kResourceExhausted, "OUT_OF_SPACE"},
    {Code::Overloaded, kUnavailable, "OVERLOADED"},
    {Code::DeadlineExceeded, kDeadlineExceeded, "DEADLINE_EXCEEDED"},
    {Code::PermissionDenied, kPermissionDenied, "PERMISSION_DENIED"},
    {Code::AlreadyExists, kAlreadyExists, "ALREADY_EXISTS"},
}};

}  // namespace

const ErrorRow& error_row(Code code) {
  for (const ErrorRow& row : kRows) {
    if (row.code == code) return row;
  }
  check_failed("code in kRows", "a Code has no row in the error table");
}

std::optional<Code> code_of_reason(std::string_view reason) {
  for (const ErrorRow& row : kRows) {
    if (row.reason == reason) return row.code;
  }
  return std::nullopt;
}

Code code_of_grpc(int grpc_code) {
  for (const ErrorRow& row : kRows) {
    if (row.grpc_code == grpc_code) return row.code;
  }
  switch (grpc_code) {
    case kFailedPrecondition:
      return Code::Conflict;
    case kOutOfRange:
    case kUnimplemented:
      return Code::InvalidArgument;
    case kUnauthenticated:
      return Code::PermissionDenied;
    default:
      return Code::IoError;
  }
}

}  // namespace nvmdb::server
