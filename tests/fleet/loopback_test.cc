#include "measure/fleet/setup/loopback.h"

#include <gtest/gtest.h>

namespace tilewright::measure::fleet {
namespace {

TEST(LoopbackTest, KnowsWhatStaysOnThisMachine) {
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

TEST(LoopbackTest, ALoopbackAddressIsListenedOnAsItIsWritten) {
  EXPECT_EQ(LoopbackAddress("127.0.0.2"), "127.0.0.2");
  EXPECT_EQ(LoopbackAddress("::1"), "[::1]");
  EXPECT_EQ(LoopbackAddress("[::1]"), "[::1]");
  for (const char* host : {"localhost", "lab", "", "::", "192.0.2.1"}) {
    EXPECT_FALSE(LoopbackAddress(host).has_value()) << host;
  }
}

}  // namespace
}  // namespace tilewright::measure::fleet
