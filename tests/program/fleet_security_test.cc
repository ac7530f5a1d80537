#include "python_free_cli/arguments/fleet_security.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::cli {
namespace {

TEST(FleetSafety, KnowsWhatStaysOnThisMachine) {
  for (const char* url : {"nats://localhost:4222", "nats://127.0.0.1:4222", "nats://127.8.9.1",
                          "nats://[::1]:4222", "tls://localhost:4222/", "nats://u:p@127.0.0.1:1",
                          "nats://127.0.0.1:1, nats://localhost:2", "::1", "[::1]"}) {
    EXPECT_TRUE(IsLoopbackUrl(url)) << url;
  }
  for (const char* url :
       {"nats://lab:4222", "nats://192.0.2.1:4222", "nats://0.0.0.0:4222", "nats://[::]:4222",
        "nats://127.0.0.1.example.org:4222", "nats://localhost.example.org:4222",
        "nats://127.0.0.1@example.org:4222", "nats://127.0.0.1:4222@example.org",
        "nats://localhost:1,nats://lab:2", "nats://127.1:4222", "nats://::1:4222", "nats://", "",
        "::2", "::1:4222", "nats://example.org/127.0.0.1", "nats://example.org#@127.0.0.1"}) {
    EXPECT_FALSE(IsLoopbackUrl(url)) << url;
  }
}

TEST(FleetSafety, ALoopbackAddressIsListenedOnAsItIsWritten) {
  EXPECT_EQ(LoopbackAddress("127.0.0.2"), "127.0.0.2");
  EXPECT_EQ(LoopbackAddress("::1"), "[::1]");
  EXPECT_EQ(LoopbackAddress("[::1]"), "[::1]");
  for (const char* host : {"localhost", "lab", "", "::", "192.0.2.1"}) {
    EXPECT_FALSE(LoopbackAddress(host).has_value()) << host;
  }
}

TEST(FleetSafety, ABrokerElsewhereHasTlsAndKeys) {
  measure::fleet::Address address;
  address.url = "nats://lab:4222";
  EXPECT_EQ(CheckBroker(address, false).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(
      CheckBroker(address, false).message(),
      testing::AllOf(testing::HasSubstr("nats://lab:4222 is not on this machine"),
                     testing::HasSubstr("neither TLS nor keys"), testing::HasSubstr("--insecure")));
  EXPECT_TRUE(CheckBroker(address, true).ok());
  address.seed_file = "alice.seed";
  EXPECT_THAT(CheckBroker(address, false).message(), testing::HasSubstr("has no TLS"));
  address.ca_file = "ca.pem";
  EXPECT_TRUE(CheckBroker(address, false).ok());
  address.seed_file.clear();
  EXPECT_THAT(CheckBroker(address, false).message(), testing::HasSubstr("has no key"));
  address.url = "nats://127.0.0.1:4222";
  address.ca_file.clear();
  EXPECT_TRUE(CheckBroker(address, false).ok());
}

}  // namespace
}  // namespace tilewright::cli
