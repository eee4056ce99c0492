#include "storage/base/status.h"

namespace nvmdb {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::Ok: return "Ok";
    case Code::NotFound: return "NotFound";
    case Code::InvalidArgument: return "InvalidArgument";
    case Code::Conflict: return "Conflict";
    case Code::Corruption: return "Corruption";
    case Code::IoError: return "IoError";
    case Code::OutOfSpace: return "OutOfSpace";
    case Code::Overloaded: return "Overloaded";
    case Code::DeadlineExceeded: return "DeadlineExceeded";
    case Code::PermissionDenied: return "PermissionDenied";
    case Code::AlreadyExists: return "AlreadyExists";
  }
  return "Unknown";
}

std::string Status::to_string() const {
  if (is_ok()) return "Ok";
  return std::string(code_name(code_)) + ": " + message_;
}

}  // namespace nvmdb
