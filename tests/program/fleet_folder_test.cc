#include "python_free_cli/fleet_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "measure/fleet/memory_broker.h"
#include "measure/fleet/subjects.h"

namespace tilewright::cli {
namespace {

namespace fleet = measure::fleet;

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

TEST(FleetPermissionsTest, AWorkerSaysAndHearsWhatIsItsOwn) {
  const FleetPermissions may = PermissionsOf({"w1", "worker", kClass, ""});
  for (const std::string& subject :
       {fleet::HereSubject(kClass, kOne), fleet::BeatSubject(kAlices, kOne),
        fleet::ResultSubject(kBobs, kOne), Next(fleet::MeasureQueue(kClass, kAlices)),
        std::string("$JS.API.DIRECT.GET.TWARTIFACT.") + fleet::ArtifactObject(kAlices, "ab", 0)}) {
    EXPECT_TRUE(May(may.publish, subject)) << subject;
  }
  for (const std::string& subject : {fleet::HereSubject(kOther, kOne),
                                     fleet::HereSubject(kClass, kTwo),
                                     fleet::HereSubject(fleet::kBuilders, kOne),
                                     fleet::BeatSubject(kAlices, kTwo),
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
                                     std::string("$JS.ACK.TWRUN_x.alice_j.1.1.1.1.1"),
                                     std::string("_INBOX.alice.x")}) {
    EXPECT_FALSE(May(may.publish, subject)) << subject;
  }
  EXPECT_TRUE(May(may.subscribe, fleet::JobSubject(kClass, kAlices)));
  EXPECT_TRUE(May(may.subscribe, fleet::DirectSubject(kClass, kOne, kAlices)));
  EXPECT_TRUE(May(may.subscribe, "_INBOX.w1.abc.f.1"));
  for (const std::string& subject :
       {fleet::JobSubject(kOther, kAlices), fleet::DirectSubject(kClass, kTwo, kAlices),
        fleet::ResultSubject(kAlices, kTwo), fleet::BeatSubject(kAlices, kOne),
        fleet::MeasureQueue(kClass, kAlices).subject, fleet::HereSubject(kClass, kTwo),
        std::string("_INBOX.alice.abc.p"), std::string("$SYS.x"),
        fleet::DeviceControlSubject(kTwo)}) {
    EXPECT_FALSE(May(may.subscribe, subject)) << subject;
  }
}

TEST(FleetPermissionsTest, ATunerCannotPoseAsAWorkerOrReadOthersJobs) {
  const FleetPermissions may = PermissionsOf({"alice", "tuner", "", ""});
  for (const std::string& subject :
       {fleet::MeasureQueue(kClass, kAlices).subject, fleet::BuildQueue(kAlices).subject,
        fleet::JobSubject(kClass, kAlices), fleet::DirectSubject(kClass, kOne, kAlices),
        Create(fleet::MeasureQueue(kClass, kAlices)), Create(fleet::BuildQueue(kAlices))}) {
    EXPECT_TRUE(May(may.publish, subject)) << subject;
  }
  for (const std::string& subject :
       {fleet::MeasureQueue(kClass, kBobs).subject, fleet::BuildQueue(kBobs).subject,
        fleet::JobSubject(kClass, kBobs), fleet::DirectSubject(kClass, kOne, kBobs),
        Create(fleet::MeasureQueue(kClass, kBobs)), fleet::HereSubject(kClass, kOne),
        fleet::BeatSubject(kAlices, kOne), fleet::ResultSubject(kAlices, kOne),
        fleet::DeviceControlSubject(kOne), fleet::JobControlSubject(kBobs),
        Next(fleet::MeasureQueue(kClass, kBobs)), fleet::ArtifactObject(kAlices, "ab", 0),
        std::string("$JS.API.STREAM.CREATE.X"), std::string("$JS.API.STREAM.MSG.GET.X")}) {
    EXPECT_FALSE(May(may.publish, subject)) << subject;
  }
  EXPECT_TRUE(May(may.subscribe, fleet::ResultSubject(kAlices, kOne)));
  for (const std::string& subject :
       {fleet::ResultSubject(kBobs, kOne), fleet::MeasureQueue(kClass, kBobs).subject,
        fleet::JobControlSubject(kBobs), fleet::DirectSubject(kClass, kOne, kBobs),
        std::string("_INBOX.bob.abc.f.1")}) {
    EXPECT_FALSE(May(may.subscribe, subject)) << subject;
  }
}

TEST(FleetPermissionsTest, ABuilderAlsoTakesBuildsOfAll) {
  const FleetPermissions may = PermissionsOf({"w1", "builder", kClass, ""});
  EXPECT_TRUE(May(may.publish, Next(fleet::BuildQueue(kBobs))));
  EXPECT_TRUE(May(may.publish, fleet::ArtifactObject(kBobs, "ab", 0)));
  EXPECT_TRUE(May(may.subscribe, fleet::JobSubject(fleet::kBuilders, kBobs)));
  EXPECT_FALSE(May(may.publish, fleet::BuildQueue(kBobs).subject));
  EXPECT_FALSE(May(may.publish, fleet::HereSubject(fleet::kBuilders, kTwo)));
}

}  // namespace
}  // namespace tilewright::cli
