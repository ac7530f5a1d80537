// Keys, certificates and permissions with a real nats-server: every role tries every subject, and
// the server rejects those outside its permissions. Skipped if there is no nats-server.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "measure/fleet/admin/address.h"
#include "measure/fleet/connect.h"
#include "measure/fleet/dispatcher.h"
#include "measure/fleet/fake_executor.h"
#include "measure/fleet/memory_broker.h"
#include "measure/fleet/setup/fleet_folder.h"
#include "measure/fleet/worker_core.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/process/subprocess.h"
#include "tests/program/attacked_fleet.h"

namespace tilewright::cli {
namespace {

namespace fleet = measure::fleet;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kLiveServer = "/usr/sbin/nats-server";
const std::string kLiveOther = "cpu-ba9876543210";

/// A server with the keys of five users; `folder` is empty if this machine has no server.
struct LiveFleet {
  LiveFleet() {
    if (!FileExists(kLiveServer)) return;
    device_class = fleet::ClassOf(fleet::FakeExecutor::Device());
    const int port = 20000 + static_cast<int>(::getpid() % 20000);
    auto made = fleet::FleetFolder::Make(temporary.path() + "/lab", "localhost", port);
    if (!made.ok()) return;
    folder.emplace(*std::move(made));
    EXPECT_TRUE(folder->OpenClass(device_class).ok());
    EXPECT_TRUE(folder->OpenClass(kLiveOther).ok());
    for (const fleet::FleetUser& user :
         std::vector<fleet::FleetUser>{{"alice", "tuner", "", ""},
                                       {"bob", "tuner", "", ""},
                                       {"w1", "worker", device_class, ""},
                                       {"w2", "worker", "", ""},
                                       {"b1", "builder", device_class, ""}}) {
      EXPECT_TRUE(folder->Add(user, folder->path()).ok());
    }
    SubprocessOptions options;
    options.command = {kLiveServer, "-c", folder->configuration(), "-l", folder->path() + "/log"};
    auto started = Subprocess::Start(options);
    if (started.ok()) server.emplace(*std::move(started));
    for (int i = 0; i < 200 && !Reach("admin"); ++i) ::usleep(50'000);
  }
  ~LiveFleet() {
    if (server) server->KillGroup();
  }
  std::unique_ptr<fleet::Broker> Reach(const std::string& user) const {
    auto address = fleet::ReadAddress(folder->path() + "/" + user + ".fleet");
    auto broker = address.ok() ? fleet::Connect(*address, "live test")
                               : Result<std::unique_ptr<fleet::Broker>>(address.status());
    return broker.ok() ? *std::move(broker) : nullptr;
  }

  ScopedTempDir temporary = *ScopedTempDir::Create("tilewright-live");
  std::string device_class;
  std::optional<fleet::FleetFolder> folder;
  std::optional<Subprocess> server;
};

/// Returns every subject that a member could publish to or subscribe to.
std::vector<std::string> EverySubject(const std::string& device_class) {
  const std::vector<fleet::JobName> jobs = {{"alice", "j"}, {"bob", "j"}};
  std::vector<std::string> all = {"tw.ask",
                                  "$JS.API.STREAM.NAMES",
                                  "$JS.API.STREAM.LIST",
                                  "$JS.API.ACCOUNT.PURGE.X",
                                  "$JS.API.SERVER.REMOVE",
                                  "$SYS.REQ.SERVER.PING",
                                  "tw.other"};
  std::vector<std::string> streams = {fleet::kArtifactStream, "X"};
  for (const fleet::JobName& job : jobs) {
    all.push_back(fleet::JobControlSubject(job));
    all.push_back(fleet::ArtifactObject(job, "ab", 0));
    all.push_back("_INBOX." + job.user + ".x.p");
    std::vector<fleet::Queue> queues = {fleet::BuildQueue(job)};
    for (const std::string& one : {device_class, kLiveOther}) {
      queues.push_back(fleet::MeasureQueue(one, job));
      all.push_back(fleet::JobSubject(one, job));
    }
    all.push_back(fleet::JobSubject(fleet::kBuilders, job));
    for (const fleet::Queue& queue : queues) {
      const std::string both = queue.stream + "." + queue.consumer;
      streams.push_back(queue.stream);
      all.push_back(queue.subject);
      all.push_back("$JS.ACK." + both + ".1.2.3.4.5");
      all.push_back("$JS.API.CONSUMER.MSG.NEXT." + both);
      all.push_back("$JS.API.CONSUMER.CREATE." + both + "." + queue.subject);
      all.push_back("$JS.API.CONSUMER.CREATE." + queue.stream);
      all.push_back("$JS.API.CONSUMER.DURABLE.CREATE." + both);
      all.push_back("$JS.API.CONSUMER.INFO." + both);
      all.push_back("$JS.API.CONSUMER.NAMES." + queue.stream);
      all.push_back("$JS.API.CONSUMER.LIST." + queue.stream);
    }
  }
  for (const std::string& stream : streams) {
    for (const char* verb : {"CREATE", "UPDATE", "INFO", "PURGE", "MSG.GET", "MSG.DELETE",
                             "SNAPSHOT", "RESTORE", "LEADER.STEPDOWN"}) {
      all.push_back(std::string("$JS.API.STREAM.") + verb + "." + stream);
    }
  }
  for (const char* worker : {"w1", "w2", "b1", "alice"}) {
    const fleet::DeviceName device{worker, "d0"};
    all.push_back(fleet::DeviceControlSubject(device));
    all.push_back(std::string("_INBOX.") + worker + ".y.f.1");
    for (const std::string& one : {device_class, kLiveOther, std::string(fleet::kBuilders)}) {
      all.push_back(fleet::AnnouncementSubject(one, device));
      for (const fleet::JobName& job : jobs) {
        all.push_back(fleet::DirectSubject(one, device, job));
      }
    }
    for (const fleet::JobName& job : jobs) {
      all.push_back(fleet::HeartbeatSubject(job, device));
      all.push_back(fleet::ResultSubject(job, device));
    }
  }
  all.push_back(std::string("$JS.API.DIRECT.GET.") + fleet::kArtifactStream + ".tw.artifact.a");
  all.push_back(std::string("$JS.API.DIRECT.GET.") + fleet::kArtifactStream);
  return all;
}

bool MayLive(const std::vector<std::string>& patterns, const std::string& subject) {
  return std::ranges::any_of(patterns,
                             [&](const std::string& one) { return fleet::Matches(one, subject); });
}

/// Returns the subjects that the broker has rejected for this connection, up to the rejection of
/// `last`.
std::string RefusalsUntil(fleet::Broker& broker, const std::string& last) {
  std::string refused;
  EXPECT_TRUE(broker.Flush(10).ok());
  while (refused.find("\"" + last + "\"") == std::string::npos) {
    constexpr double kSeconds = 20;  // machines may be busy
    const auto incoming = broker.Next(kSeconds);
    if (!incoming) break;
    if (incoming->kind == fleet::BrokerEvent::Kind::kRejected) refused += incoming->payload + "\n";
  }
  return refused;
}

TEST(FleetLiveTest, EveryRoleIsRefusedWhatItMayNot) {
  LiveFleet live;
  if (!live.server) GTEST_SKIP() << "no nats-server";
  auto admin = live.Reach("admin");
  if (admin == nullptr) GTEST_SKIP() << "no libnats";
  for (const char* user : {"alice", "bob"}) {
    for (const fleet::Queue& queue :
         {fleet::MeasureQueue(live.device_class, {user, "j"}), fleet::BuildQueue({user, "j"})}) {
      const Status opened = admin->OpenQueue(queue);
      ASSERT_TRUE(opened.ok()) << opened.message();
    }
  }
  const std::vector<std::string> subjects = EverySubject(live.device_class);
  int refused = 0, taken = 0;
  for (const fleet::FleetUser& user : live.folder->users()) {
    if (user.role == "admin") continue;
    const fleet::FleetPermissions may =
        fleet::PermissionsOf(user, live.folder->users(), live.folder->classes());
    auto broker = live.Reach(user.name);
    ASSERT_NE(broker, nullptr);
    for (const std::string& subject : subjects) {
      if (MayLive(may.publish, subject) && !MayLive(may.not_publish, subject)) continue;
      EXPECT_TRUE(broker->Publish(subject, "x").ok());
      const std::string said = RefusalsUntil(*broker, subject);
      EXPECT_THAT(said, HasSubstr("Publish to \"" + subject + "\"")) << user.name;
      ++refused;
    }
    // Permitted subjects are not rejected: only the last one is.
    const std::string never = "tw.never." + user.name;
    for (const std::string& subject : subjects) {
      const bool harmless = subject.starts_with("tw.") || subject.find(".INFO") < subject.size();
      if (!harmless || !MayLive(may.publish, subject) || MayLive(may.not_publish, subject))
        continue;
      EXPECT_TRUE(broker->Publish(subject, "x").ok());
      ++taken;
    }
    EXPECT_TRUE(broker->Publish(never, "x").ok());
    const std::string said = RefusalsUntil(*broker, never);
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
    for (const std::string& subject : subjects) {
      if (subject.starts_with("$JS") || MayLive(may.subscribe, subject)) continue;
      EXPECT_TRUE(broker->Subscribe(subject).ok());
      EXPECT_THAT(RefusalsUntil(*broker, subject), HasSubstr("Subscription to \"" + subject + "\""))
          << user.name;
      ++refused;
    }
    for (const char* all : {">", "tw.>", "tw.run.>", "_INBOX.>", "$SYS.>", "$JS.>"}) {
      EXPECT_TRUE(broker->Subscribe(all).ok());
      EXPECT_THAT(RefusalsUntil(*broker, all), HasSubstr("Subscription to")) << user.name;
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(taken, 30);
  std::printf("%d subjects refused, %d taken\n", refused, taken);
}

TEST(FleetLiveTest, WhatIsForgedReplayedOrTooLongIsNoResult) {
  LiveFleet live;
  if (!live.server) GTEST_SKIP() << "no nats-server";
  auto admin = live.Reach("admin");
  if (admin == nullptr) GTEST_SKIP() << "no libnats";
  const fleet::JobName job{"alice", "j"};
  ASSERT_TRUE(admin->OpenQueue(fleet::MeasureQueue(live.device_class, job)).ok());
  ASSERT_TRUE(admin->Subscribe("tw.result.>").ok());
  auto at_alice = live.Reach("alice"), at_w1 = live.Reach("w1"), hostile = live.Reach("w2");
  SystemClock clock;
  fleet::DispatcherSettings settings;
  settings.job = job;
  settings.device_class = live.device_class;
  settings.device = fleet::FakeExecutor::Device();
  settings.check_share = 0;
  settings.baseline_kernels = 0;
  fleet::Dispatcher tuner(settings, *at_alice, clock);
  ASSERT_TRUE(tuner.Open().ok());
  fleet::FakeExecutor::Settings fake;
  fake.seconds = 0.2;
  fake.device = settings.device;
  fleet::FakeExecutor executor(fake, clock);
  fleet::WorkerSettings worker;
  worker.name = {"w1", "d0"};
  worker.device_class = live.device_class;
  worker.announcement.instance = "i";
  worker.announcement.fingerprint = settings.device.ToString();
  worker.announcement.target = "llvm";
  worker.announcement.builds = worker.announcement.measures = true;
  worker.announcement.measure_slots = 2;
  fleet::WorkerCore core(worker, executor, *at_w1, clock);
  ASSERT_TRUE(core.Open().ok());
  for (std::uint64_t ticket = 1; ticket <= 4; ++ticket) {
    measure::Request request;
    request.ticket = ticket;
    request.candidate.task = {*Workload::Parse("dense(float32[4,16]MK,float32[32,16]NK)->float32"),
                              *Target::Parse("llvm")};
    request.candidate.template_key = "dense_packed.cpu";
    request.candidate.template_version = 1;
    request.candidate.config.index = static_cast<std::int64_t>(ticket);
    ASSERT_TRUE(tuner.Submit(request).ok());
  }
  const auto poll = [&](double seconds, const std::function<bool()>& until) {
    for (const double end = clock.MonotonicSeconds() + seconds;
         clock.MonotonicSeconds() < end && !until();) {
      core.Poll(0.01);
      tuner.Poll(0.01);
    }
  };
  std::vector<Trial> trials;
  const auto take = [&] {
    while (auto reply = tuner.Take()) {
      trials.push_back(reply->trial);
      tuner.MarkStored(reply->ticket);
    }
    return trials.size() == 4;
  };
  poll(30, [&] { return take() || !trials.empty(); });
  ASSERT_FALSE(trials.empty());
  // A message of w1 repeated by another member; with other numbers; nonsense; and one that is too
  // long.
  const auto heard = admin->Next(10);
  ASSERT_TRUE(heard);
  auto replayed = fleet::DecodeResult(heard->payload);
  ASSERT_TRUE(replayed.ok());
  const std::string as = fleet::ResultSubject(job, {"w2", "d0"});
  int said = 0;
  const auto say = [&](const std::string& text) {
    said += hostile->Publish(as, text).ok() ? 1 : 0;
  };
  say(heard->payload);
  for (std::uint64_t sequence = 0; sequence <= 6; ++sequence) {
    fleet::OrderResult forged = *replayed;
    forged.instance = "h";
    forged.lease.sequence = sequence;
    forged.lease.fence = {1, 1000};
    forged.trials[0].value = 1e-9;
    say(Encode(forged));
    fleet::Heartbeat heartbeat{settings.epoch, "h", {forged.lease}};
    EXPECT_TRUE(
        hostile->Publish(fleet::HeartbeatSubject(job, {"w2", "d0"}), Encode(heartbeat)).ok());
  }
  say("{");
  say(std::string(fleet::kMaxResultBytes + 1, ' ') + heard->payload);
  EXPECT_EQ(said, 10);
  EXPECT_FALSE(hostile->Publish(as, std::string((std::size_t{1} << 20) + 1, ' ')).ok());
  ASSERT_TRUE(hostile->Flush(10).ok());
  poll(30, take);
  EXPECT_EQ(trials.size(), 4u);
  for (const Trial& trial : trials) {
    EXPECT_EQ(trial.value, fleet::FakeExecutor::ValueOf(trial.candidate));
  }
  poll(20, [&] { return tuner.counts().foreign >= 2; });
  EXPECT_EQ(tuner.counts().foreign, 2);  // nonsense, and too long
  EXPECT_GE(tuner.counts().late + tuner.counts().duplicates, 6);
  core.Close();
  tuner.Close();
}

/// Orders of a stolen key over a real server: the worker reports the rejections; then the key is
/// revoked.
TEST(FleetLiveTest, AStolenKeyIsRefusedAndRevoked) {
  LiveFleet live;
  if (!live.server) GTEST_SKIP() << "no nats-server";
  auto admin = live.Reach("admin");
  if (admin == nullptr) GTEST_SKIP() << "no libnats";
  auto at_w1 = live.Reach("w1"), bob = live.Reach("bob");
  SystemClock clock;
  fleet::SpyBench executor("llvm", fleet::FakeExecutor::Device(), clock);
  std::string notes;
  fleet::WorkerSettings worker;
  worker.name = {"w1", "d0"};
  worker.device_class = live.device_class;
  worker.announcement.instance = "i";
  worker.announcement.fingerprint = fleet::FakeExecutor::Device().ToString();
  worker.announcement.target = "llvm";
  worker.announcement.measures = true;
  worker.announcement.measure_slots = 2;
  worker.on_note = [&notes](const std::string& text) { notes += text + "\n"; };
  fleet::WorkerCore core(worker, executor, *at_w1, clock);
  ASSERT_TRUE(core.Open().ok());
  const fleet::JobName job{"bob", "m"};
  fleet::JobAnnouncement state;
  state.epoch = 1;
  ASSERT_TRUE(bob->Publish(fleet::JobSubject(live.device_class, job), Encode(state)).ok());
  std::string artifact;
  fleet::Order order = fleet::MallorysOrder(fleet::Stage::kRun, &artifact);
  order.job = job;
  const Json right = *ParseJson(Encode(order));
  const std::pair<const char*, Json> changes[] = {
      {"/built/0/kernel/artifact", "/etc/shadow"},
      {"/built/0/kernel/launches",
       {{{"kernel", "k"},
         {"grid", {1, 1, 1}},
         {"block", {1, 1, 1}},
         {"shared_bytes", 0},
         {"library", "/tmp/artifact.so"},
         {"operation", "o"},
         {"shape", std::vector<int>(sizeof(TwLibraryShape) / sizeof(std::int64_t), 1)},
         {"operands", {2, 0, 1}}}}},
      {"/built/0/kernel/tolerance", 1e9},
      {"/built/0/size", std::int64_t{1} << 40},
      {"/task/target", fleet::kGpuTarget},
      {"/user", "alice"},
      {"/epoch", 7},
      {"/best", 1e300}};
  const auto until = [&](const std::function<bool()>& over) {
    for (const double end = clock.MonotonicSeconds() + 20; clock.MonotonicSeconds() < end;) {
      core.Poll(0.02);
      if (over()) return true;
    }
    return false;
  };
  int attempts = 0;
  for (const auto& [place, value] : changes) {
    Json changed = right;
    changed[Json::json_pointer(place)] = value;
    const std::size_t said = notes.size();
    ASSERT_TRUE(
        bob->Publish(fleet::DirectSubject(live.device_class, {"w1", "d0"}, job), DumpJson(changed))
            .ok());
    EXPECT_TRUE(until([&] { return notes.size() > said; })) << place;
    ++attempts;
  }
  EXPECT_EQ(executor.violations, std::vector<std::string>());
  EXPECT_EQ(executor.started, 0);
  // After the server reloads the configuration without the key, the connection ends.
  ASSERT_TRUE(live.folder->Remove("bob").ok());
  ASSERT_EQ(::kill(live.server->pid(), SIGHUP), 0);
  EXPECT_TRUE(until([&] { return !bob->connected(); }));
  EXPECT_EQ(live.Reach("bob"), nullptr);
  std::printf("%d attempts:\n%s", attempts, notes.c_str());
  core.Close();
}

}  // namespace
}  // namespace tilewright::cli
