#include "python_free_cli/arguments/fleet_security.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright::cli {
namespace {

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
