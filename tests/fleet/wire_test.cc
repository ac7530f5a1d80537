#include "measure/fleet/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "measure/fleet/keys.h"
#include "measure/fleet/memory_broker.h"
#include "src/base/json.h"
#include "tests/fleet/fake_fleet.h"

namespace tilewright::measure::fleet {
namespace {

using testing::HasSubstr;

Order SampleOrder() {
  Order order;
  order.job = {"alice", "j1"};
  order.epoch = 7;
  order.sequence = 3;
  order.generation = 2;
  order.token = "T";
  order.candidates = {FakeCandidate(5)};
  order.best_seconds = 0.25;
  order.alone = true;
  return order;
}

OrderResult SampleResult() {
  OrderResult result;
  result.epoch = 7;
  result.instance = "i1";
  result.lease = {3, {2, 1}, "$JS.ACK.s.c.1.2.3.4.5", true, "T"};
  Trial trial;
  trial.outcome = Outcome::kOk;
  trial.value = 0.001;
  trial.samples = {0.001, 0.0011};
  trial.verified = true;
  trial.device = FakeExecutor::Device();
  result.trials = {trial};
  return result;
}

Json Parsed(const std::string& text) { return *ParseJson(text); }

TEST(WireTest, MessagesComeBackAsTheyWere) {
  const auto order = DecodeOrder(Encode(SampleOrder()));
  ASSERT_TRUE(order.ok()) << order.status().message();
  EXPECT_EQ(Encode(*order), Encode(SampleOrder()));
  EXPECT_EQ(order->candidates[0].config.index, 5);
  Order race = SampleOrder();
  race.stage = Stage::kRace;
  race.candidates.push_back(FakeCandidate(6));
  race.known_seconds = {0.1, 0};
  race.anchor = 1;
  const auto raced = DecodeOrder(Encode(race));
  ASSERT_TRUE(raced.ok()) << raced.status().message();
  EXPECT_EQ(raced->anchor, 1u);
  EXPECT_EQ(raced->candidates.size(), 2u);
  const auto result = DecodeResult(Encode(SampleResult()));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(Encode(*result), Encode(SampleResult()));
  EXPECT_EQ(result->trials[0].device, FakeExecutor::Device());
  Announcement announcement;
  announcement.instance = "i";
  announcement.fingerprint = FakeExecutor::Device().ToString();
  announcement.state = DeviceState::kQuarantined;
  EXPECT_EQ(DecodeAnnouncement(Encode(announcement))->state, DeviceState::kQuarantined);
  EXPECT_EQ(DecodeAnnouncement(Encode(announcement))->probe_seconds, 0);
  announcement.probe_seconds = 30e-6;
  EXPECT_EQ(DecodeAnnouncement(Encode(announcement))->probe_seconds, 30e-6);
  JobAnnouncement state;
  state.excluded = {"w.d0"};
  EXPECT_EQ(DecodeJobAnnouncement(Encode(state))->excluded, state.excluded);
  EXPECT_EQ(DecodeJobAnnouncement(Encode(state))->remaining_seconds, std::nullopt);
  state.remaining_seconds = 90;
  EXPECT_EQ(DecodeJobAnnouncement(Encode(state))->remaining_seconds, 90);
  state.remaining_seconds = -1;
  EXPECT_EQ(DecodeJobAnnouncement(Encode(state))->remaining_seconds, 0);
  EXPECT_EQ(DecodeControl(Encode(Control{"drain", "why"}))->why, "why");
  Heartbeat heartbeat;
  heartbeat.instance = "i";
  heartbeat.leases = {SampleResult().lease};
  EXPECT_EQ(DecodeHeartbeat(Encode(heartbeat))->leases[0].fence, (Fence{2, 1}));
}

TEST(WireTest, WhatWasOnlyBuiltHasNoTime) {
  OrderResult result = SampleResult();
  result.trials[0].value = 0;
  EXPECT_FALSE(DecodeResult(Encode(result)).ok());
  Built built;
  built.kernel.workload = FakeCandidate(1).task.workload;
  built.kernel.target = FakeCandidate(1).task.target;
  built.hash = Sha256("code");
  built.size = 4;
  const std::vector<TensorType> types = {built.kernel.workload.data, built.kernel.workload.weight,
                                         *built.kernel.workload.OutputType()};
  const auto signature = SignatureOf(built.kernel.workload, {}, {}, types);
  ASSERT_TRUE(signature.ok()) << signature.status().message();
  built.kernel.signature = *signature;
  result.built = built;
  const auto read = DecodeResult(Encode(result));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->built->hash, built.hash);
}

TEST(WireTest, SaysWhatIsWrong) {
  const struct {
    const char* field;
    Json value;
    const char* said;
  } orders[] = {
      {"v", 1, "version 1 of a fleet's messages, expected 6"},
      {"type", "beat", "field type is not order"},
      {"user", "a.b", "field user is not a name"},
      {"job", "*", "field job is not a name"},
      {"sequence", -1, "field sequence is out of range"},
      {"stage", "fly", "field stage is not known"},
      {"stage", "run", "built does not go with its stage"},
      {"candidates", Json::array(), "0 candidates"},
      {"best", -1, "field best is negative"},
      {"task", 3, "field task is of the wrong type"},
  };
  for (const auto& one : orders) {
    Json json = Parsed(Encode(SampleOrder()));
    json[one.field] = one.value;
    const auto order = DecodeOrder(DumpJson(json));
    ASSERT_FALSE(order.ok()) << one.field;
    EXPECT_THAT(order.status().message(), HasSubstr(one.said));
  }
  const struct {
    const char* field;
    Json value;
    const char* said;
  } trials[] = {
      {"value", 0, "value is none of a trial that went well"},
      {"samples", {-1.0}, "a sample is none"},
      {"samples", std::vector<double>(5000, 1.0), "too many samples"},
      {"device", "x", ""},
      {"run_seconds", 1e9, "field run_seconds is not a time"},
      {"metric", "a b", "field metric is not a metric"},
  };
  for (const auto& one : trials) {
    Json json = Parsed(Encode(SampleResult()));
    json["trials"][0][one.field] = one.value;
    const auto result = DecodeResult(DumpJson(json));
    ASSERT_FALSE(result.ok()) << one.field;
    EXPECT_THAT(result.status().message(), HasSubstr(one.said));
  }
  EXPECT_THAT(DecodeOrder(std::string(kMaxOrderBytes + 1, ' ')).status().message(),
              HasSubstr("expected at most"));
  EXPECT_FALSE(DecodeAnnouncement("nonsense").ok());
}

// The other side may be of another build: members keep their names and their order.
TEST(WireTest, TextsStayTheSame) {
  std::string texts;
  Order order = SampleOrder();
  texts += Encode(order) + "\n";
  Built built;
  built.kernel.task = 9;
  built.kernel.artifact = "/a";
  built.kernel.workload = FakeCandidate(1).task.workload;
  built.kernel.target = FakeCandidate(1).task.target;
  built.hash = "ab";
  built.size = 4;
  order.stage = Stage::kRace;
  order.candidates.push_back(FakeCandidate(6));
  order.known_seconds = {0.1, 0};
  order.anchor = 1;
  order.alone = false;
  order.built = {built, built};
  texts += Encode(order) + "\n";
  OrderResult result = SampleResult();
  result.refusal = "no\nroom";
  texts += Encode(result) + "\n";
  result.built = built;
  result.trials[0].others = {{"joules", 2}};
  result.trials[0].max_abs_error = std::numeric_limits<double>::infinity();
  texts += Encode(result) + "\n";
  texts += Encode(Heartbeat{7, "i", {SampleResult().lease}}) + "\n";
  Announcement announcement;
  announcement.instance = "i";
  announcement.fingerprint = "f";
  announcement.state = DeviceState::kDraining;
  texts += Encode(announcement) + "\n";
  announcement.probe_seconds = 30e-6;
  texts += Encode(announcement) + "\n";
  JobAnnouncement state;
  state.excluded = {"w.d0"};
  texts += Encode(state) + "\n";
  state.remaining_seconds = 1e9;
  state.what = "net\x01";
  texts += Encode(state) + "\n";
  texts += Encode(Control{"drain", "why"}) + "\n";
  EXPECT_EQ("\n" + texts, R"(
{"type":"order","v":6,"user":"alice","job":"j1","epoch":7,"sequence":3,"generation":2,"token":"T","stage":"whole","task":{"type":"task","task":1,"workload":"dense(float32[4,16]MK,float32[32,16]NK)->float32","epilogue":"","target":"llvm"},"candidates":[{"template":"dense_packed.cpu","version":1,"config":"{\"index\":5,\"values\":{}}"}],"best":0.25,"alone":true}
{"type":"order","v":6,"user":"alice","job":"j1","epoch":7,"sequence":3,"generation":2,"token":"T","stage":"race","task":{"type":"task","task":1,"workload":"dense(float32[4,16]MK,float32[32,16]NK)->float32","epilogue":"","target":"llvm"},"candidates":[{"template":"dense_packed.cpu","version":1,"config":"{\"index\":5,\"values\":{}}"},{"template":"dense_packed.cpu","version":1,"config":"{\"index\":6,\"values\":{}}"}],"best":0.25,"known":[0.1,0.0],"anchor":1,"race":0.0,"wait":0.0,"built":[{"kernel":{"task":1,"form":{"data":"","weight":"","output":"","multiply":"","shift":false,"winograd":0},"parameters":[],"artifact":"","artifact_name":"","symbol":"","code_bytes":0,"threads":1,"tolerance":null,"launches":[],"workspace_bytes":[]},"hash":"ab","size":4},{"kernel":{"task":1,"form":{"data":"","weight":"","output":"","multiply":"","shift":false,"winograd":0},"parameters":[],"artifact":"","artifact_name":"","symbol":"","code_bytes":0,"threads":1,"tolerance":null,"launches":[],"workspace_bytes":[]},"hash":"ab","size":4}]}
{"type":"result","v":6,"epoch":7,"instance":"i1","lease":{"sequence":3,"generation":2,"deliveries":1,"handle":"$JS.ACK.s.c.1.2.3.4.5","token":"T","started":true},"trials":[{"outcome":"ok","reason":"","metric":"seconds","samples":[0.001,0.0011],"value":0.001,"noise":0.0,"quiet_share":-1.0,"others":{},"verified":true,"max_abs_error":0.0,"build_seconds":0.0,"run_seconds":0.0,"device":"{\"kind\":\"null\",\"model\":\"made up\",\"isa\":[],\"l1d_bytes\":0,\"l2_bytes\":0,\"l3_bytes\":0,\"cores\":0,\"extra\":\"\"}","codegen_version":0,"finished":0.0}],"refusal":"no\\nroom"}
{"type":"result","v":6,"epoch":7,"instance":"i1","lease":{"sequence":3,"generation":2,"deliveries":1,"handle":"$JS.ACK.s.c.1.2.3.4.5","token":"T","started":true},"trials":[{"outcome":"ok","reason":"","metric":"seconds","samples":[0.001,0.0011],"value":0.001,"noise":0.0,"quiet_share":-1.0,"others":{"joules":2.0},"verified":true,"max_abs_error":1e+300,"build_seconds":0.0,"run_seconds":0.0,"device":"{\"kind\":\"null\",\"model\":\"made up\",\"isa\":[],\"l1d_bytes\":0,\"l2_bytes\":0,\"l3_bytes\":0,\"cores\":0,\"extra\":\"\"}","codegen_version":0,"finished":0.0}],"refusal":"no\\nroom","task":{"type":"task","task":1,"workload":"dense(float32[4,16]MK,float32[32,16]NK)->float32","epilogue":"","target":"llvm"},"built":{"kernel":{"task":1,"form":{"data":"","weight":"","output":"","multiply":"","shift":false,"winograd":0},"parameters":[],"artifact":"","artifact_name":"","symbol":"","code_bytes":0,"threads":1,"tolerance":null,"launches":[],"workspace_bytes":[]},"hash":"ab","size":4}}
{"type":"beat","v":6,"epoch":7,"instance":"i","leases":[{"sequence":3,"generation":2,"deliveries":1,"handle":"$JS.ACK.s.c.1.2.3.4.5","token":"T","started":true}]}
{"type":"here","v":6,"instance":"i","version":"","fingerprint":"f","target":"","builds":false,"measures":false,"build_slots":0,"measure_slots":0,"resolution":0.0,"state":"draining","held":0,"done":0,"busy":0.0,"up":0.0}
{"type":"here","v":6,"instance":"i","version":"","fingerprint":"f","target":"","builds":false,"measures":false,"build_slots":0,"measure_slots":0,"resolution":0.0,"canary":3e-05,"state":"draining","held":0,"done":0,"busy":0.0,"up":0.0}
{"type":"job","v":6,"epoch":0,"weight":1.0,"split":false,"ended":false,"floor":0,"open":0,"done":0,"oldest":0.0,"what":"","aside":["w.d0"]}
{"type":"job","v":6,"epoch":0,"weight":1.0,"split":false,"ended":false,"floor":0,"open":0,"done":0,"oldest":0.0,"what":"net\\x01","aside":["w.d0"],"left":10000000.0}
{"type":"control","v":6,"action":"drain","why":"why"}
)");
}

TEST(WireTest, KeysAreThoseOfNats) {
  const auto key = MakeUserKey();
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(key->seed.size(), 58u);
  EXPECT_EQ(key->seed.substr(0, 2), "SU");
  EXPECT_EQ(key->public_key.size(), 56u);
  EXPECT_EQ(key->public_key[0], 'U');
  EXPECT_EQ(*PublicKeyOf(key->seed), key->public_key);
  std::string wrong = key->seed;
  wrong[20] = wrong[20] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(PublicKeyOf(wrong).ok());
  EXPECT_FALSE(PublicKeyOf(key->public_key).ok());
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(WireTest, SubjectsMatchTheirPatterns) {
  EXPECT_TRUE(Matches("a.*.c", "a.b.c"));
  EXPECT_TRUE(Matches("a.>", "a.b.c"));
  EXPECT_FALSE(Matches("a.>", "a"));
  EXPECT_FALSE(Matches("a.*", "a.b.c"));
  EXPECT_FALSE(Matches("a.b.c", "a.b"));
  EXPECT_EQ(SubjectToken("a.b.c", 1), "b");
  EXPECT_EQ(SubjectToken("a.b.c", 3), "");
  EXPECT_TRUE(HasNames(AnnouncementSubject("c", {"w", "d"})));
  EXPECT_TRUE(HasNames(kDiscoverySubject));
  EXPECT_FALSE(HasNames("tw.here.c.w\x1b[2J.d"));
  EXPECT_FALSE(HasNames("tw.here.c..d"));
  EXPECT_FALSE(HasNames("tw.here.c.w.d.e.f.g.h"));
  EXPECT_EQ(SenderOf(AnnouncementSubject("c", {"w", "d"})), (DeviceName{"w", "d"}));
  EXPECT_EQ(SenderOf(ResultSubject({"u", "j"}, {"w", "d"})), (DeviceName{"w", "d"}));
}

}  // namespace
}  // namespace tilewright::measure::fleet
