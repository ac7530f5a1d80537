#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/fleet/admin/address.h"
#include "measure/fleet/admin/status.h"
#include "src/base/files/file.h"

namespace tilewright::measure::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ReadAddressTest, AFileNamesItsOtherFilesRelativeToItself) {
  const auto folder = ScopedTempDir::Create("tilewright-address");
  ASSERT_TRUE(folder.ok());
  const std::string file = folder->path() + "/alice.fleet";
  ASSERT_TRUE(WriteFile(file, R"({"url":"tls://lab:4222","user":"alice","role":"tuner",
                                  "seed_file":"alice.seed","ca_file":"/etc/ca.pem"})")
                  .ok());
  const auto address = ReadAddress(file);
  ASSERT_TRUE(address.ok()) << address.status().message();
  EXPECT_EQ(address->url, "tls://lab:4222");
  EXPECT_EQ(address->user, "alice");
  EXPECT_EQ(address->seed_file, folder->path() + "/alice.seed");
  EXPECT_EQ(address->ca_file, "/etc/ca.pem");
  EXPECT_EQ(MissingProtection(*address), "");
}

TEST(ReadAddressTest, ErrorsNameTheFileAndTheMember) {
  const auto folder = ScopedTempDir::Create("tilewright-address");
  ASSERT_TRUE(folder.ok());
  const std::string file = folder->path() + "/alice.fleet";
  const auto error_of = [&file](const std::string& text) {
    EXPECT_TRUE(WriteFile(file, text).ok());
    return ReadAddress(file).status().message();
  };
  EXPECT_THAT(error_of("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(error_of(R"({"url":"nats://lab","usr":"a"})"), HasSubstr("usr: unknown key"));
  EXPECT_THAT(error_of(R"({"url":1,"user":"a"})"), HasSubstr("url: unknown key or no text"));
  EXPECT_THAT(error_of(R"({"user":"a"})"), HasSubstr("url: missing"));
  EXPECT_THAT(error_of(R"({"url":"nats://lab","user":"a b"})"), HasSubstr("user"));
  EXPECT_THAT(ReadAddress(folder->path() + "/missing.fleet").status().message(),
              HasSubstr("neither an address"));
}

TEST(FleetStatusTest, AClassThatOnlyMeasuresNeedsABuilder) {
  FleetStatus status;
  auto& device = status.devices["bench7.d0"];
  device.device_class = "cpu-1";
  device.last.measures = true;
  status.jobs["alice.1"].device_class = "cpu-1";
  status.jobs["bob.2"].device_class = "cpu-2";
  EXPECT_THAT(status.ClassesWithoutBuilder(),
              ElementsAre(testing::AllOf(HasSubstr("class cpu-1: 1 device only measures"),
                                         testing::EndsWith("; waiting: job alice.1"))));
  device.last.builds = true;
  EXPECT_THAT(status.ClassesWithoutBuilder(), IsEmpty());
  device.last.builds = false;
  status.builders = true;
  EXPECT_THAT(status.ClassesWithoutBuilder(), IsEmpty());
}

}  // namespace
}  // namespace tilewright::measure::fleet
