#include "server/grpc_status.h"

#include "nvmdb/v1/common.pb.h"
#include "server/error_table.h"

namespace nvmdb::server {
namespace {

constexpr const char* kDomain = "nvmdb";
constexpr const char* kErrorInfoType = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr std::size_t kMessageBytesMax = 2000;

std::string short_message(const std::string& message) {
  if (message.size() <= kMessageBytesMax) return message;
  std::size_t end = kMessageBytesMax;
  // Not in the middle of a UTF-8 character.
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80U) --end;
  return message.substr(0, end) + "...";
}

}  // namespace

grpc::Status to_grpc(const Status& status) {
  if (status.is_ok()) return grpc::Status::OK;
  const ErrorRow& row = error_row(status.code());
  v1::ErrorInfo info;
  info.set_reason(std::string(row.reason));
  info.set_domain(kDomain);
  v1::ErrorStatus details;
  details.set_code(row.grpc_code);
  google::protobuf::Any& any = *details.add_details();
  any.set_type_url(kErrorInfoType);
  any.set_value(info.SerializeAsString());
  return {static_cast<grpc::StatusCode>(row.grpc_code), short_message(status.message()),
          details.SerializeAsString()};
}

ReceivedStatus from_grpc(const grpc::Status& status) {
  if (status.ok()) return {Status::ok(), true};
  v1::ErrorStatus details;
  if (details.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& any : details.details()) {
      v1::ErrorInfo info;
      if (any.type_url() != kErrorInfoType || !info.ParseFromString(any.value()) || info.domain() != kDomain)
        continue;
      const std::optional<Code> code = code_of_reason(info.reason());
      if (code && *code != Code::Ok) return {Status(*code, status.error_message()), true};
    }
  }
  return {Status(code_of_grpc(status.error_code()), status.error_message()), false};
}

}  // namespace nvmdb::server
