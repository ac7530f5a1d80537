// Attacks on a fleet: without a key, with a tuner's key, with a builder's key, and with both. Each
// attempt has its own fleet, over an in-memory broker that enforces the permissions of `fleet
// keys`. No attempt makes a member do anything forbidden, honest trials have their usual results,
// and each rejection is reported.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "src/base/json.h"
#include "src/target/device.h"
#include "tests/program/attacked_fleet.h"

namespace tilewright::measure::fleet {
namespace {

struct Attempt {
  std::string name;
  std::function<void(AttackedFleet&)> attack;
  /// The attack may prevent honest work, but must not make its results wrong.
  bool may_stall = false;
  std::uint64_t trials = 24;   // honest trials after the attack
  bool may_be_silent = false;  // no rejection is expected
};

/// Times of events relative to the periods in which members poll and publish.
struct Phase {
  double meet_seconds = 0.5;  // before the attack
  double attack_seconds = 0.5;
};

void Check(const Attempt& attempt, Phase phase = {}) {
  SCOPED_TRACE(attempt.name);
  AttackedFleet fleet(phase.meet_seconds);
  const std::size_t quiet = fleet.AllNotes().size();
  const int refused = fleet.refused(), started = fleet.started();
  attempt.attack(fleet);
  fleet.Run(phase.attack_seconds);
  const bool ran = fleet.started() > started;
  SubmitFake(*fleet.tuner, 0, attempt.trials);
  fleet.Finish(attempt.may_stall ? 5 : 30);
  for (const auto& [name, worker] : fleet.workers) {
    EXPECT_EQ(worker->executor.violations, std::vector<std::string>()) << name;
  }
  const bool said = fleet.refused() > refused || fleet.AllNotes().size() > quiet;
  const bool done = ran || fleet.AnswersToMallory() > 0;  // the permitted part was done
  EXPECT_TRUE(said || done || attempt.may_be_silent) << "the refusal is not reported";
  if (const Trial* served = fleet.Served()) {
    EXPECT_EQ(served->value, FakeExecutor::ValueOf(served->candidate));
  }
  for (const Trial& trial : fleet.trials) {
    EXPECT_LE(trial.finished_unix_seconds, fleet.clock.UnixSeconds());
  }
  if (!attempt.may_stall) {
    EXPECT_EQ(fleet.trials.size(), attempt.trials);
  }
  EXPECT_TRUE(fleet.tuner->ended().ok()) << fleet.tuner->ended().message();
}

/// Returns values that no honest member sends in a field of this kind.
std::vector<Json> HostileValues(const Json& instead_of) {
  if (instead_of.is_string()) {
    return {"/etc/shadow", "../../root/.config/tilewright/w1.seed", "libcudnn.so.9",
            std::string(200'000, 'A')};
  }
  if (instead_of.is_boolean()) return {!instead_of.get<bool>(), "yes"};
  return {-1, std::int64_t{1} << 62, 1e300, Json()};
}

/// Mutates every field of an order with a tuner's key: published to a worker, or put into a queue.
std::vector<Attempt> MutatedOrders() {
  constexpr std::uint64_t kFewTrials = 8;  // there are many attempts
  std::vector<Attempt> attempts;
  for (const Stage stage : {Stage::kWhole, Stage::kRun, Stage::kRace}) {
    std::string artifact;
    const Json order = *ParseJson(Encode(MallorysOrder(stage, &artifact)));
    const Json flat = order.flatten();
    for (const auto& item : flat.items()) {
      // The fields of one parameter stand for those of all parameters.
      if (item.key().find("/parameters/1") < item.key().size()) continue;
      if (stage != Stage::kRun && item.key().find("/task/") == 0) continue;
      const bool known = stage != Stage::kWhole && item.key().find("/candidates") == 0;
      if (known) continue;
      for (const Json& value : HostileValues(item.value())) {
        Json changed = order;
        changed[Json::json_pointer(item.key())] = value;
        const bool direct = attempts.size() % 2 == 0;
        attempts.push_back(
            {"order " + item.key() + " = " + DumpJson(value).substr(0, 40),
             [text = DumpJson(changed), artifact, direct](AttackedFleet& fleet) {
               // If a builder's key was stolen too, the artifact exists.
               (void)fleet.As("evil").PutObject(
                   ArtifactObject({"mallory", "m"}, Sha256(artifact), 0), artifact);
               const Queue queue = MeasureQueue(fleet.device_class, {"mallory", "m"});
               if (direct) {
                 (void)fleet.As("mallory").Publish(
                     DirectSubject(fleet.device_class, {"w1", "d0"}, {"mallory", "m"}), text);
               } else {
                 (void)fleet.As("mallory").Enqueue(queue, text);
               }
             },
             false, kFewTrials});
      }
    }
  }
  return attempts;
}

/// A builder with a stolen key: takes Alice's build orders and answers arbitrarily.
struct EvilBuilder {
  EvilBuilder(AttackedFleet& attacked,
              std::function<void(OrderResult&, std::string& artifact)> changes)
      : fleet(attacked), change(std::move(changes)) {
    Announcement announcement;
    announcement.instance = "evil";
    announcement.fingerprint = FakeExecutor::Device().ToString();
    announcement.target = "llvm";
    announcement.builds = true;
    announcement.build_slots = 2;
    (void)fleet.As("evil").Publish(AnnouncementSubject(kBuilders, {"evil", "d0"}),
                                   Encode(announcement));
  }
  void Step() {
    Broker& broker = fleet.As("evil");
    if (fleet.clock.now - asked_at > 0.5) {
      asked_at = fleet.clock.now;
      (void)broker.Fetch(BuildQueue({"alice", "j"}), 4, 0.5);
    }
    while (const auto incoming = broker.Next(0)) {
      if (incoming->kind != BrokerEvent::Kind::kDelivered) continue;
      const auto order = DecodeOrder(incoming->payload);
      if (!order.ok()) continue;
      OrderResult result;
      result.epoch = order->epoch;
      result.instance = "evil";
      result.lease = {order->sequence,
                      {order->generation, incoming->deliveries},
                      incoming->handle,
                      true,
                      order->token};
      Trial trial;
      trial.outcome = Outcome::kOk;
      trial.metric = "seconds";
      trial.device = FakeExecutor::Device();
      trial.codegen_version = DeviceTraitsOf(order->candidates[0].task.target).codegen_version;
      result.trials = {trial};
      std::string artifact;
      result.built = HonestBuilt(order->candidates[0], &artifact);
      change(result, artifact);
      if (!artifact.empty() && result.built) {
        (void)broker.PutObject(ArtifactObject(order->job, result.built->hash, 0), artifact);
      }
      (void)broker.Publish(ResultSubject(order->job, {"evil", "d0"}), Encode(result));
    }
  }
  AttackedFleet& fleet;
  std::function<void(OrderResult&, std::string&)> change;
  double asked_at = 0;
};

Attempt EvilBuilds(const std::string& name,
                   std::function<void(OrderResult&, std::string& artifact)> change) {
  return {"built: " + name,
          [change = std::move(change)](AttackedFleet& fleet) {
            auto evil = std::make_shared<EvilBuilder>(fleet, change);
            fleet.each_step = [evil] { evil->Step(); };
          },
          false};
}

/// Sends the artifact of another kernel under its own hash, so that it would run.
void OtherArtifact(OrderResult& result, std::string& artifact) {
  artifact = "a fast kernel of something else";
  result.built->hash = Sha256(artifact);
  result.built->size = std::ssize(artifact);
}

std::vector<Attempt> HostileBuilders() {
  return {
      EvilBuilds("another artifact", OtherArtifact),
      EvilBuilds("another symbol",
                 [](OrderResult& result, std::string&) { result.built->kernel.symbol = "main"; }),
      EvilBuilds("another task",
                 [](OrderResult& result, std::string&) {
                   std::string other;
                   result.built = HonestBuilt(FakeCandidate(1, 2), &other);
                 }),
      EvilBuilds("another target",
                 [](OrderResult& result, std::string&) {
                   result.built->kernel.target = *Target::Parse("llvm -mcpu=znver9");
                 }),
      EvilBuilds("another epilogue",
                 [](OrderResult& result, std::string&) {
                   result.built->kernel.epilogue = *Epilogue::Parse("relu");
                 }),
      EvilBuilds("a wide tolerance",
                 [](OrderResult& result, std::string&) { result.built->kernel.tolerance = 1e9; }),
      EvilBuilds("a tolerance of its own",
                 [](OrderResult& result, std::string&) { result.built->kernel.tolerance = 0.01; }),
      EvilBuilds("threads",
                 [](OrderResult& result, std::string&) { result.built->kernel.threads = 64; }),
      EvilBuilds("launches",
                 [](OrderResult& result, std::string&) {
                   result.built->kernel.launches = {{"tw_candidate", {1, 1, 1}, {1, 1, 1}}};
                 }),
      EvilBuilds("a library that is an artifact",
                 [](OrderResult& result, std::string&) {
                   GridLaunch launch;
                   launch.library.file = "/tmp/tilewright-fleet/artifact.1.so";
                   launch.library.shape.assign(sizeof(TwLibraryShape) / sizeof(std::int64_t), 1);
                   result.built->kernel.launches = {launch};
                 }),
      EvilBuilds("a workspace of negative size",
                 [](OrderResult& result, std::string&) {
                   result.built->kernel.workspace_bytes = {-4096};
                 }),
      EvilBuilds("a size of nothing",
                 [](OrderResult& result, std::string&) { result.built->size = 0; }),
      EvilBuilds("a giant size", [](OrderResult& result,
                                    std::string&) { result.built->size = std::int64_t{1} << 40; }),
      EvilBuilds("a hash of nothing it has",
                 [](OrderResult& result, std::string& artifact) {
                   result.built->hash = std::string(64, '0');
                   artifact.clear();
                 }),
      EvilBuilds("no kernel", [](OrderResult& result, std::string&) { result.built.reset(); }),
      EvilBuilds("two trials", [](OrderResult& result,
                                  std::string&) { result.trials.push_back(result.trials[0]); }),
      EvilBuilds("another code generator",
                 [](OrderResult& result, std::string&) { result.trials[0].codegen_version = 99; }),
      EvilBuilds("another artifact, and a date in the future",
                 [](OrderResult& result, std::string& artifact) {
                   OtherArtifact(result, artifact);
                   result.trials[0].finished_unix_seconds = 4e9;
                 }),
  };
}

/// A device with the stolen key: takes Alice's orders and answers arbitrarily.
struct EvilDevice {
  EvilDevice(AttackedFleet& attacked, std::function<void(OrderResult&)> changes)
      : fleet(attacked), change(std::move(changes)) {
    Broker& broker = fleet.As("evil");
    (void)broker.Subscribe(DirectSubject(fleet.device_class, {"evil", "d0"}, {"*", "*"}));
    Publish();
  }
  void Publish() {
    Announcement announcement;
    announcement.instance = "evil";
    announcement.fingerprint = FakeExecutor::Device().ToString();
    announcement.target = "llvm";
    announcement.measures = true;
    announcement.measure_slots = 2;
    (void)fleet.As("evil").Publish(AnnouncementSubject(fleet.device_class, {"evil", "d0"}),
                                   Encode(announcement));
    said_at = fleet.clock.now;
  }
  void Step() {
    Broker& broker = fleet.As("evil");
    if (fleet.clock.now - said_at > 1) Publish();
    if (fleet.clock.now - asked_at > 0.5) {
      asked_at = fleet.clock.now;
      (void)broker.Fetch(MeasureQueue(fleet.device_class, {"alice", "j"}), 4, 0.5);
    }
    while (const auto incoming = broker.Next(0)) {
      const auto order = DecodeOrder(incoming->payload);
      if (!order.ok()) continue;
      OrderResult result;
      result.epoch = order->epoch;
      result.instance = "evil";
      result.lease = {order->sequence,
                      {order->generation, incoming->deliveries},
                      incoming->handle,
                      true,
                      order->token};
      Trial trial;
      trial.outcome = Outcome::kOk;
      trial.metric = "seconds";
      trial.device = FakeExecutor::Device();
      trial.codegen_version = DeviceTraitsOf(order->candidates[0].task.target).codegen_version;
      trial.verified = true;
      trial.value = FakeExecutor::ValueOf(order->candidates[0]);
      trial.samples = {trial.value};
      result.trials = {trial};
      if (!change) continue;  // sends nothing
      change(result);
      (void)broker.Publish(ResultSubject(order->job, {"evil", "d0"}), Encode(result));
    }
  }
  AttackedFleet& fleet;
  std::function<void(OrderResult&)> change;
  double said_at = 0, asked_at = 0;
};

Attempt EvilRuns(const std::string& name, std::function<void(OrderResult&)> change) {
  return {"ran: " + name,
          [change = std::move(change)](AttackedFleet& fleet) {
            auto evil = std::make_shared<EvilDevice>(fleet, change);
            fleet.each_step = [evil] { evil->Step(); };
          },
          false};
}

std::vector<Attempt> HostileDevices() {
  return {
      EvilRuns("ok, verified, 1e-9 s",
               [](OrderResult& result) {
                 result.trials[0].value = 1e-9;
                 result.trials[0].samples = {1e-9};
               }),
      EvilRuns("one sample of 1e-9 s",
               [](OrderResult& result) { result.trials[0].samples = {1e-9}; }),
      EvilRuns("another device",
               [](OrderResult& result) { result.trials[0].device.model = "another"; }),
      EvilRuns("a device with more to its name",
               [](OrderResult& result) { result.trials[0].device.extra = "; dnnl 9"; }),
      EvilRuns("another metric", [](OrderResult& result) { result.trials[0].metric = "cycles"; }),
      EvilRuns("another code generator",
               [](OrderResult& result) { result.trials[0].codegen_version = 1000; }),
      EvilRuns("no trials", [](OrderResult& result) { result.trials.clear(); }),
      EvilRuns("many trials",
               [](OrderResult& result) { result.trials.resize(100, result.trials[0]); }),
      EvilRuns("of an earlier life", [](OrderResult& result) { --result.epoch; }),
      EvilRuns("of another order", [](OrderResult& result) { ++result.lease.sequence; }),
      EvilRuns("without its token", [](OrderResult& result) { result.lease.token = "T"; }),
      EvilRuns("of an earlier delivery",
               [](OrderResult& result) { result.lease.fence.generation = -1; }),
      EvilRuns("a refusal with control characters",
               [](OrderResult& result) {
                 result.trials.clear();
                 result.refusal = "\x1b[2J no";
               }),
  };
}

/// Devices that take orders from a queue and keep them without heartbeats. Their answers go to
/// other subjects, so the tuner may even consider the delivery expired.
std::vector<Attempt> KeptOrders() {
  Attempt silent = EvilRuns("nothing", nullptr);
  silent.may_be_silent = true;
  return {silent, EvilRuns("of an earlier life", [](OrderResult& result) { --result.epoch; }),
          EvilRuns("of another order", [](OrderResult& result) { ++result.lease.sequence; }),
          EvilRuns("without its token", [](OrderResult& result) { result.lease.token = "T"; })};
}

std::string GiantResult() {
  OrderResult result;
  result.epoch = 1;
  result.instance = "evil";
  Trial trial;
  trial.device = FakeExecutor::Device();
  trial.metric = "seconds";
  trial.samples.assign(100'000, 1e-3);
  result.trials = {trial};
  return Encode(result);
}

std::vector<Attempt> OthersWithATunersKey() {
  const auto direct = [](AttackedFleet& fleet, const std::string& text) {
    (void)fleet.As("mallory").Publish(
        DirectSubject(fleet.device_class, {"w1", "d0"}, {"mallory", "m"}), text);
  };
  return {
      {"a CPU's artifact on a GPU",
       [](AttackedFleet& fleet) {
         std::string artifact;
         const Order order = MallorysOrder(Stage::kRun, &artifact);
         (void)fleet.As("evil").PutObject(ArtifactObject(order.job, order.built[0].hash, 0),
                                          artifact);
         for (int i = 0; i < 2; ++i) {
           (void)fleet.As("mallory").Enqueue(MeasureQueue(fleet.gpu_class, order.job),
                                             Encode(order));
         }
       }},
      {"a GPU's order on a CPU",
       [direct](AttackedFleet& fleet) {
         std::string artifact;
         Order order = MallorysOrder(Stage::kWhole, &artifact);
         order.candidates[0].task.target = *Target::Parse(kGpuTarget);
         direct(fleet, Encode(order));
       }},
      {"code of another processor",
       [direct](AttackedFleet& fleet) {
         std::string artifact;
         Order order = MallorysOrder(Stage::kWhole, &artifact);
         order.candidates[0].task.target = *Target::Parse("llvm -mtriple=riscv64-linux-gnu");
         direct(fleet, Encode(order));
       }},
      {"a library that the worker does not name",
       [direct](AttackedFleet& fleet) {
         std::string artifact;
         Order order = MallorysOrder(Stage::kWhole, &artifact);
         order.candidates[0].task.target = *Target::Parse("llvm -libs=dnnl");
         direct(fleet, Encode(order));
       }},
      {"an operator beyond memory",
       [direct](AttackedFleet& fleet) {
         std::string artifact;
         Order order = MallorysOrder(Stage::kWhole, &artifact);
         order.candidates[0].task.workload =
             *Workload::Parse("dense(float32[100000,100000]MK,float32[100000,100000]NK)->float32");
         direct(fleet, Encode(order));
       }},
      {"threads without end",
       [direct](AttackedFleet& fleet) {
         std::string artifact;
         Order order = MallorysOrder(Stage::kWhole, &artifact);
         order.candidates[0].task.target = *Target::Parse("llvm -num-threads=4000");
         direct(fleet, Encode(order));
       }},
      {"an order that says it is of alice",
       [direct](AttackedFleet& fleet) {
         std::string artifact;
         Order order = MallorysOrder(Stage::kWhole, &artifact);
         order.job = {"alice", "j"};
         direct(fleet, Encode(order));
         (void)fleet.As("mallory").Enqueue(MeasureQueue(fleet.device_class, {"mallory", "m"}),
                                           Encode(order));
       }},
      {"an order of an earlier life",
       [direct](AttackedFleet& fleet) {
         std::string artifact;
         Order order = MallorysOrder(Stage::kWhole, &artifact);
         order.epoch = 0;
         direct(fleet, Encode(order));
       }},
      {"an order twice",
       [direct](AttackedFleet& fleet) {
         std::string artifact;
         for (int i = 0; i < 2; ++i) direct(fleet, Encode(MallorysOrder(Stage::kBuild, &artifact)));
       }},
      {"alice's queue",
       [](AttackedFleet& fleet) {
         std::string artifact;
         (void)fleet.As("mallory").Enqueue(MeasureQueue(fleet.device_class, {"alice", "j"}),
                                           Encode(MallorysOrder(Stage::kWhole, &artifact)));
       }},
      {"the end of alice's job",
       [](AttackedFleet& fleet) {
         JobAnnouncement state;
         state.epoch = 99;
         state.ended = true;
         (void)fleet.As("mallory").Publish(JobSubject(fleet.device_class, {"alice", "j"}),
                                           Encode(state));
         (void)fleet.As("mallory").Publish(JobControlSubject({"alice", "j"}),
                                           Encode(Control{"cancel", ""}));
       }},
      {"an end to all devices",
       [](AttackedFleet& fleet) {
         (void)fleet.As("mallory").Publish(DeviceControlSubject({"w1", "d0"}),
                                           Encode(Control{"drain", ""}));
       }},
      {"an artifact of its own",
       [](AttackedFleet& fleet) {
         (void)fleet.As("mallory").PutObject(ArtifactObject({"mallory", "m"}, Sha256("x"), 0), "x");
       }},
      {"a result as a worker",
       [](AttackedFleet& fleet) {
         (void)fleet.As("mallory").Publish(ResultSubject({"alice", "j"}, {"w1", "d0"}),
                                           GiantResult());
       }},
      {"2,000 jobs",
       [](AttackedFleet& fleet) {
         JobAnnouncement state;
         state.epoch = 1;
         state.what = std::string(4000, 'x');
         const std::string text = Encode(state);
         for (int i = 0; i < 2'000; ++i) {  // beyond 1,024, and 128 of one user
           (void)fleet.As("mallory").Publish(
               JobSubject(fleet.device_class, {"mallory", "m" + std::to_string(i)}), text);
           if (i % 1000 == 0) fleet.Run(0.01);
         }
       }},
      {"1,000 orders in no queue",
       [direct](AttackedFleet& fleet) {
         std::string artifact;
         Order order = MallorysOrder(Stage::kBuild, &artifact);
         for (std::uint64_t i = 1; i <= 1'000; ++i) {  // beyond 256
           order.sequence = i;
           direct(fleet, Encode(order));
           if (i % 100 == 0) fleet.SayMallory();
         }
       }},
      {"artifacts that never come",
       [direct](AttackedFleet& fleet) {
         std::string artifact;
         Order order = MallorysOrder(Stage::kRun, &artifact);
         order.built[0].size = kMaxArtifactBytes;
         for (std::uint64_t i = 1; i <= 40; ++i) {
           order.sequence = i;
           direct(fleet, Encode(order));
         }
       }},
      {"weights that starve others",
       [](AttackedFleet& fleet) {
         for (const double weight : {1e9, -1.0, 0.0}) {
           JobAnnouncement state;
           state.epoch = 1;
           state.weight = weight;
           (void)fleet.As("mallory").Publish(JobSubject(fleet.device_class, {"mallory", "m"}),
                                             Encode(state));
         }
       }},
      {"a revoked key",
       [](AttackedFleet& fleet) {
         fleet.As("mallory").revoked = true;
         std::string artifact;
         (void)fleet.As("mallory").Enqueue(MeasureQueue(fleet.device_class, {"mallory", "m"}),
                                           Encode(MallorysOrder(Stage::kWhole, &artifact)));
       }},
  };
}

std::vector<Attempt> OthersWithABuildersKey() {
  const auto result_of = [](AttackedFleet& fleet, const std::string& text) {
    (void)fleet.As("evil").Publish(ResultSubject({"alice", "j"}, {"evil", "d0"}), text);
  };
  return {
      {"a giant result", [=](AttackedFleet& fleet) { result_of(fleet, GiantResult()); }},
      {"a result beyond what a message may have",
       [=](AttackedFleet& fleet) { result_of(fleet, std::string((1 << 20) + 1, ' ')); }},
      {"nonsense", [=](AttackedFleet& fleet) { result_of(fleet, "{"); }},
      {"nested nonsense",
       [=](AttackedFleet& fleet) { result_of(fleet, std::string(400'000, '[')); }},
      {"a beat of nonsense",
       [](AttackedFleet& fleet) {
         (void)fleet.As("evil").Publish(HeartbeatSubject({"alice", "j"}, {"evil", "d0"}), "{}");
       }},
      {"what another worker said, once more",
       [](AttackedFleet& fleet) {
         auto listener = std::shared_ptr<Broker>(fleet.hub.Connect());
         (void)listener->Subscribe("tw.result.alice.j.*.*");
         fleet.each_step = [listener, &fleet] {
           while (const auto heard = listener->Next(0)) {
             if (SenderOf(heard->subject).worker == "evil") continue;
             (void)fleet.As("evil").Publish(ResultSubject({"alice", "j"}, {"evil", "d0"}),
                                            heard->payload);
           }
         };
       }},
      {"what another worker said, as that worker",
       [](AttackedFleet& fleet) {
         (void)fleet.As("evil").Publish(ResultSubject({"alice", "j"}, {"w1", "d0"}), GiantResult());
       }},
      {"an order to alice's worker",
       [](AttackedFleet& fleet) {
         std::string artifact;
         (void)fleet.As("evil").Publish(
             DirectSubject(fleet.device_class, {"w1", "d0"}, {"mallory", "m"}),
             Encode(MallorysOrder(Stage::kWhole, &artifact)));
       }},
      {"a job",
       [](AttackedFleet& fleet) {
         (void)fleet.As("evil").Publish(JobSubject(fleet.device_class, {"alice", "j2"}),
                                        Encode(JobAnnouncement()));
       }},
      {"an acknowledgement of what others have",
       [](AttackedFleet& fleet) {
         const Queue queue = MeasureQueue(fleet.device_class, {"alice", "j"});
         fleet.As("evil").Acknowledge(queue.stream + "/" + queue.consumer + "/1", AckType::kAck);
       }},
      {"other bytes under the hash of another's artifact",
       [](AttackedFleet& fleet) {
         for (std::int64_t i = 0; i < 6; ++i) {
           std::string artifact;
           const Built built = HonestBuilt(FakeCandidate(i), &artifact);
           (void)fleet.As("evil").PutObject(ArtifactObject({"alice", "j"}, built.hash, 0), "evil");
         }
       },
       /*may_stall=*/true},
      {"6,000 devices",
       [](AttackedFleet& fleet) {
         Announcement announcement;
         announcement.instance = "evil";
         announcement.fingerprint = FakeExecutor::Device().ToString();
         announcement.target = "llvm";
         announcement.measure_slots = 4096;
         const std::string text = Encode(announcement);
         for (int i = 0; i < 6'000; ++i) {  // beyond 4,096
           (void)fleet.As("evil").Publish(
               AnnouncementSubject(fleet.device_class, {"evil", "d" + std::to_string(i)}), text);
           if (i % 4000 == 0) fleet.Run(0.01);
         }
         EXPECT_LE(fleet.tuner->device_registry().devices().size(), 4096u + 2);
       },
       /*may_stall=*/true},
      {"6,000 builders",
       [](AttackedFleet& fleet) {
         Announcement announcement;
         announcement.instance = "evil";
         announcement.fingerprint = FakeExecutor::Device().ToString();
         announcement.target = "llvm";
         const std::string text = Encode(announcement);
         for (int i = 0; i < 6'000; ++i) {  // beyond 4,096
           (void)fleet.As("evil").Publish(
               AnnouncementSubject(kBuilders, {"evil", "d" + std::to_string(i)}), text);
           if (i % 4000 == 0) fleet.Run(0.01);
         }
       }},
      {"another device's fingerprint",
       [](AttackedFleet& fleet) {
         Announcement announcement;
         announcement.instance = "evil";
         announcement.fingerprint = GpuDevice().ToString();
         (void)fleet.As("evil").Publish(AnnouncementSubject(fleet.device_class, {"evil", "d0"}),
                                        Encode(announcement));
       }},
      {"a revoked key",
       [](AttackedFleet& fleet) {
         fleet.As("evil").revoked = true;
         (void)fleet.As("evil").Publish(ResultSubject({"alice", "j"}, {"evil", "d0"}),
                                        GiantResult());
       }},
  };
}

std::vector<Attempt> WithoutAKey() {
  std::vector<Attempt> attempts;
  const std::string device_class = ClassOf(FakeExecutor::Device());
  std::string artifact;
  const std::string order = Encode(MallorysOrder(Stage::kWhole, &artifact));
  for (const std::string& subject :
       {DirectSubject(device_class, {"w1", "d0"}, {"alice", "j"}),
        JobSubject(device_class, {"alice", "j"}), ResultSubject({"alice", "j"}, {"w1", "d0"}),
        HeartbeatSubject({"alice", "j"}, {"w1", "d0"}),
        AnnouncementSubject(device_class, {"w1", "d0"}), DeviceControlSubject({"w1", "d0"}),
        JobControlSubject({"alice", "j"}), MeasureQueue(device_class, {"alice", "j"}).subject,
        BuildQueue({"alice", "j"}).subject, ArtifactObject({"alice", "j"}, Sha256("x"), 0)}) {
    attempts.push_back({"no key: " + subject, [subject, order](AttackedFleet& fleet) {
                          (void)fleet.As("nobody").Publish(subject, order);
                          (void)fleet.As("nobody").Subscribe(subject);
                        }});
  }
  return attempts;
}

TEST(FleetAttack, OrdersOfEveryFieldMutated) {
  const auto attempts = MutatedOrders();
  EXPECT_GE(attempts.size(), 200u);
  for (const Attempt& attempt : attempts) Check(attempt);
  std::printf("%zu attempts\n", attempts.size());
}

TEST(FleetAttack, WithoutAKey) {
  for (const Attempt& attempt : WithoutAKey()) Check(attempt);
}

TEST(FleetAttack, WithATunersKey) {
  for (const Attempt& attempt : OthersWithATunersKey()) Check(attempt);
}

TEST(FleetAttack, WithABuildersKey) {
  for (const Attempt& attempt : OthersWithABuildersKey()) Check(attempt);
  for (const Attempt& attempt : HostileBuilders()) Check(attempt);
  for (const Attempt& attempt : HostileDevices()) Check(attempt);
}

// A member that polls a queue in step with its leases gets the same order repeatedly. The order
// must not stay with it in any phase.
TEST(FleetAttack, NobodyKeepsAnOrderFromOthers) {
  for (const double meet : {0.3, 0.5}) {
    for (const double attack : {0.1, 0.3, 0.5}) {
      SCOPED_TRACE(meet);
      SCOPED_TRACE(attack);
      for (const Attempt& attempt : KeptOrders()) Check(attempt, {meet, attack});
    }
  }
}

}  // namespace
}  // namespace tilewright::measure::fleet
