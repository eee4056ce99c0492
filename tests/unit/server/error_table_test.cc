#include "server/error_table.h"

#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <set>

#include "nvmdb/v1/common.pb.h"
#include "server/grpc_status.h"

namespace nvmdb::server {
namespace {

constexpr Code kFailures[] = {Code::NotFound,   Code::InvalidArgument,  Code::Conflict,
                              Code::Corruption, Code::IoError,          Code::OutOfSpace,
                              Code::Overloaded, Code::DeadlineExceeded, Code::PermissionDenied};

TEST(ErrorTable, UsesTheCanonicalCodes) {
  // Source: the canonical codes of google.rpc.Code.
  EXPECT_EQ(error_row(Code::NotFound).grpc_code, grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(error_row(Code::InvalidArgument).grpc_code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error_row(Code::Conflict).grpc_code, grpc::StatusCode::ABORTED);
  EXPECT_EQ(error_row(Code::Corruption).grpc_code, grpc::StatusCode::DATA_LOSS);
  EXPECT_EQ(error_row(Code::IoError).grpc_code, grpc::StatusCode::INTERNAL);
  EXPECT_EQ(error_row(Code::OutOfSpace).grpc_code, grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(error_row(Code::Overloaded).grpc_code, grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(error_row(Code::DeadlineExceeded).grpc_code, grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(error_row(Code::PermissionDenied).grpc_code, grpc::StatusCode::PERMISSION_DENIED);
}

TEST(ErrorTable, IsExactBothWays) {
  std::set<int> used;
  for (const Code code : kFailures) {
    EXPECT_EQ(code_of_grpc(error_row(code).grpc_code), code);
    EXPECT_EQ(code_of_reason(error_row(code).reason), code);
    EXPECT_TRUE(used.insert(error_row(code).grpc_code).second);
  }
  EXPECT_EQ(code_of_reason("SOMETHING_ELSE"), std::nullopt);
}

TEST(GrpcStatus, ComesBackAsItWent) {
  for (const Code code : kFailures) {
    const ReceivedStatus back = from_grpc(to_grpc(Status(code, "run x: not there")));
    EXPECT_TRUE(back.own);
    EXPECT_EQ(back.status.code(), code);
    EXPECT_EQ(back.status.message(), "run x: not there");
  }
  EXPECT_TRUE(to_grpc(Status::ok()).ok());
}

TEST(GrpcStatus, TellsErrorsOfTheTransportApart) {
  const ReceivedStatus back = from_grpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, "connection refused"));
  EXPECT_FALSE(back.own);
  EXPECT_EQ(back.status.code(), Code::Overloaded);
  EXPECT_EQ(from_grpc(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no")).status.code(),
            Code::InvalidArgument);
}

TEST(GrpcStatus, CutsALongMessageAtACharacter) {
  std::string text(1999, 'a');
  text += "\u00e9 and more";
  const grpc::Status status = to_grpc(Status::not_found(text));
  EXPECT_EQ(status.error_message(), std::string(1999, 'a') + "...");
}

TEST(GrpcStatus, CarriesAnErrorInfoInTheDetails) {
  v1::ErrorStatus details;
  ASSERT_TRUE(details.ParseFromString(to_grpc(Status::not_found("x")).error_details()));
  EXPECT_EQ(details.code(), 5);
  ASSERT_EQ(details.details_size(), 1);
  EXPECT_EQ(details.details(0).type_url(), "type.googleapis.com/google.rpc.ErrorInfo");
}

}  // namespace
}  // namespace nvmdb::server
