#include "server/host_port.h"

#include <gtest/gtest.h>

namespace nvmdb::server {
namespace {

TEST(HostPort, ReadsNamesAndAddresses) {
  const auto name = parse_host_port("localhost:50051");
  ASSERT_TRUE(name.is_ok());
  EXPECT_EQ(name->host, "localhost");
  EXPECT_EQ(name->port, 50051);
  const auto six = parse_host_port("[::1]:80");
  ASSERT_TRUE(six.is_ok());
  EXPECT_EQ(six->host, "::1");
  EXPECT_EQ(six->port, 80);
}

TEST(HostPort, RefusesWhatIsNotOne) {
  for (const char* text : {"", "localhost", ":50051", "localhost:", "localhost:65536", "localhost:-1",
                           "localhost:x", "::1:80", "localhost:80 ", "[]:80"}) {
    EXPECT_EQ(parse_host_port(text).status().code(), Code::InvalidArgument) << text;
  }
}

}  // namespace
}  // namespace nvmdb::server
