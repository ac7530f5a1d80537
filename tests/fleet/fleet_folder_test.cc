#include "measure/fleet/setup/fleet_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "measure/fleet/memory_broker.h"
#include "measure/fleet/subjects.h"
#include "src/base/files/file.h"

namespace tilewright::measure::fleet {
namespace {

bool May(const std::vector<std::string>& patterns, const std::string& subject) {
  return std::ranges::any_of(patterns,
                             [&](const std::string& one) { return fleet::Matches(one, subject); });
}

const fleet::JobName kAlices{"alice", "j"}, kBobs{"bob", "j"};
const fleet::DeviceName kOne{"w1", "d0"}, kTwo{"w2", "d0"};
const std::string kClass = "cpu-0123456789ab", kOther = "cpu-ba9876543210";

std::string Next(const fleet::Queue& queue) {
  return "$JS.API.CONSUMER.MSG.NEXT." + queue.stream + "." + queue.consumer;
}
std::string Create(const fleet::Queue& queue) {
  return "$JS.API.CONSUMER.CREATE." + queue.stream + "." + queue.consumer + "." + queue.subject;
}

const std::vector<FleetUser> kUsers = {{"alice", "tuner", "", ""}, {"bob", "tuner", "", ""}};
FleetPermissions PermissionsIn(const FleetUser& user) {
  return PermissionsOf(user, kUsers, {kClass, kOther});
}
/// The server's permission rule.
bool MayPublish(const FleetPermissions& may, const std::string& subject) {
  return May(may.publish, subject) && !May(may.not_publish, subject);
}
std::string Acknowledge(const fleet::Queue& queue) {
  return "$JS.ACK." + queue.stream + "." + queue.consumer + ".1.2.3.4.5";
}

TEST(FleetPermissionsTest, AWorkerSaysAndHearsWhatIsItsOwn) {
  const FleetPermissions may = PermissionsIn({"w1", "worker", kClass, ""});
  for (const std::string& subject :
       {fleet::AnnouncementSubject(kClass, kOne), fleet::HeartbeatSubject(kAlices, kOne),
        fleet::ResultSubject(kBobs, kOne), Next(fleet::MeasureQueue(kClass, kAlices)),
        std::string("$JS.API.DIRECT.GET.TWARTIFACT.") + fleet::ArtifactObject(kAlices, "ab", 0)}) {
    EXPECT_TRUE(MayPublish(may, subject)) << subject;
  }
  for (const std::string& subject : {fleet::AnnouncementSubject(kOther, kOne),
                                     fleet::AnnouncementSubject(kClass, kTwo),
                                     fleet::AnnouncementSubject(fleet::kBuilders, kOne),
                                     fleet::HeartbeatSubject(kAlices, kTwo),
                                     fleet::ResultSubject(kAlices, kTwo),
                                     Next(fleet::MeasureQueue(kOther, kAlices)),
                                     Next(fleet::BuildQueue(kAlices)),
                                     fleet::MeasureQueue(kClass, kAlices).subject,
                                     fleet::BuildQueue(kAlices).subject,
                                     fleet::JobSubject(kClass, kAlices),
                                     fleet::DirectSubject(kClass, kOne, kAlices),
                                     fleet::DeviceControlSubject(kOne),
                                     fleet::JobControlSubject(kAlices),
                                     fleet::ArtifactObject(kAlices, "ab", 0),
                                     Create(fleet::MeasureQueue(kClass, kAlices)),
                                     std::string("$JS.API.STREAM.CREATE.X"),
                                     std::string("$JS.API.STREAM.DELETE.X"),
                                     std::string("$JS.API.STREAM.INFO.X"),
                                     Acknowledge(fleet::MeasureQueue(kClass, kAlices)),
                                     Acknowledge(fleet::BuildQueue(kAlices)),
                                     std::string("_INBOX.alice.x")}) {
    EXPECT_FALSE(MayPublish(may, subject)) << subject;
  }
  EXPECT_TRUE(May(may.subscribe, fleet::JobSubject(kClass, kAlices)));
  EXPECT_TRUE(May(may.subscribe, fleet::DirectSubject(kClass, kOne, kAlices)));
  EXPECT_TRUE(May(may.subscribe, "_INBOX.w1.abc.f.1"));
  for (const std::string& subject :
       {fleet::JobSubject(kOther, kAlices), fleet::DirectSubject(kClass, kTwo, kAlices),
        fleet::ResultSubject(kAlices, kTwo), fleet::HeartbeatSubject(kAlices, kOne),
        fleet::MeasureQueue(kClass, kAlices).subject, fleet::AnnouncementSubject(kClass, kTwo),
        std::string("_INBOX.alice.abc.p"), std::string("$SYS.x"),
        fleet::DeviceControlSubject(kTwo)}) {
    EXPECT_FALSE(May(may.subscribe, subject)) << subject;
  }
}

TEST(FleetPermissionsTest, ATunerCannotPoseAsAWorkerOrReadOthersJobs) {
  const FleetPermissions may = PermissionsIn({"alice", "tuner", "", ""});
  for (const std::string& subject :
       {fleet::MeasureQueue(kClass, kAlices).subject, fleet::BuildQueue(kAlices).subject,
        fleet::JobSubject(kClass, kAlices), fleet::DirectSubject(kClass, kOne, kAlices),
        Create(fleet::MeasureQueue(kClass, kAlices)), Create(fleet::BuildQueue(kAlices)),
        Acknowledge(fleet::MeasureQueue(kClass, kAlices)),
        Acknowledge(fleet::BuildQueue(kAlices))}) {
    EXPECT_TRUE(MayPublish(may, subject)) << subject;
  }
  for (const std::string& subject :
       {fleet::MeasureQueue(kClass, kBobs).subject, fleet::BuildQueue(kBobs).subject,
        fleet::JobSubject(kClass, kBobs), fleet::DirectSubject(kClass, kOne, kBobs),
        Create(fleet::MeasureQueue(kClass, kBobs)), fleet::AnnouncementSubject(kClass, kOne),
        fleet::HeartbeatSubject(kAlices, kOne), fleet::ResultSubject(kAlices, kOne),
        fleet::DeviceControlSubject(kOne), fleet::JobControlSubject(kBobs),
        Acknowledge(fleet::MeasureQueue(kClass, kBobs)), Acknowledge(fleet::BuildQueue(kBobs)),
        std::string("$JS.API.STREAM.INFO.") + fleet::MeasureStream(kClass, "bob"),
        std::string("$JS.API.STREAM.PURGE.") + fleet::MeasureStream(kClass, "bob"),
        std::string("$JS.API.CONSUMER.DELETE.") + fleet::BuildStream("bob") + ".j",
        Next(fleet::MeasureQueue(kClass, kBobs)), fleet::ArtifactObject(kAlices, "ab", 0),
        std::string("$JS.API.STREAM.CREATE.X"), std::string("$JS.API.STREAM.MSG.GET.X")}) {
    EXPECT_FALSE(MayPublish(may, subject)) << subject;
  }
  EXPECT_TRUE(May(may.subscribe, fleet::ResultSubject(kAlices, kOne)));
  for (const std::string& subject :
       {fleet::ResultSubject(kBobs, kOne), fleet::MeasureQueue(kClass, kBobs).subject,
        fleet::JobControlSubject(kBobs), fleet::DirectSubject(kClass, kOne, kBobs),
        std::string("_INBOX.bob.abc.f.1")}) {
    EXPECT_FALSE(May(may.subscribe, subject)) << subject;
  }
}

TEST(FleetPermissionsTest, AWorkerOfAnyClassDoesNotBuildForOthers) {
  const FleetPermissions may = PermissionsIn({"w1", "worker", "", ""});
  EXPECT_TRUE(MayPublish(may, Next(fleet::MeasureQueue(kClass, kAlices))));
  EXPECT_TRUE(MayPublish(may, Next(fleet::MeasureQueue(kOther, kBobs))));
  EXPECT_FALSE(MayPublish(may, Next(fleet::BuildQueue(kAlices))));
  EXPECT_FALSE(MayPublish(may, fleet::AnnouncementSubject(fleet::kBuilders, kOne)));
}

TEST(FleetPermissionsTest, ABuilderAlsoTakesBuildsOfAll) {
  const FleetPermissions may = PermissionsIn({"w1", "builder", kClass, ""});
  EXPECT_TRUE(MayPublish(may, Next(fleet::BuildQueue(kBobs))));
  EXPECT_TRUE(MayPublish(may, fleet::ArtifactObject(kBobs, "ab", 0)));
  EXPECT_TRUE(May(may.subscribe, fleet::JobSubject(fleet::kBuilders, kBobs)));
  EXPECT_FALSE(MayPublish(may, fleet::BuildQueue(kBobs).subject));
  EXPECT_FALSE(MayPublish(may, fleet::AnnouncementSubject(fleet::kBuilders, kTwo)));
}

TEST(FleetFolderTest, AServerListensOnTheLoopbackAddressThatItIsNamedBy) {
  const std::vector<std::pair<std::string, std::string>> listens = {
      {"localhost", "127.0.0.1"}, {"127.0.0.2", "127.0.0.2"}, {"::1", "[::1]"},
      {"[::1]", "[::1]"},         {"192.0.2.1", "0.0.0.0"},   {"127.0.0.2,192.0.2.1", "0.0.0.0"}};
  for (const auto& [host, listen] : listens) {
    const auto folder = ScopedTempDir::Create("fleet-folder");
    ASSERT_TRUE(folder.ok()) << folder.status().message();
    ASSERT_TRUE(WriteFile(folder->path() + "/fleet.json",
                          R"({"host": ")" + host + R"(", "port": 4222, "users": []})")
                    .ok());
    const auto fleet = FleetFolder::Open(folder->path());
    ASSERT_TRUE(fleet.ok()) << fleet.status().message();
    EXPECT_THAT(fleet->Configuration(), testing::HasSubstr("\nlisten: \"" + listen + ":4222\"\n"))
        << host;
    const bool six = host.find("::1") != std::string::npos;
    if (six) {
      EXPECT_EQ(fleet->url(), "tls://[::1]:4222");
    }
  }
}

}  // namespace
}  // namespace tilewright::measure::fleet
