// A runner at the other end of a connection: the commands here stand for "ssh board ...".

#include "measure/supervisor/file_sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <future>

#include "measure/kernel_message.h"
#include "measure/supervisor/runner_address.h"
#include "measure/worker/file_receiver.h"
#include "src/base/files/file.h"
#include "src/base/files/scoped_temp_path.h"
#include "tests/measure/process_fixture.h"

namespace tilewright::measure {
namespace {

using testing::HasSubstr;

const std::string kRunner = std::string(MEASURE_WORKER) + " run";

ProcessMeasurerSettings RemoteSettings(const std::string& command, DeviceFingerprint device) {
  ProcessMeasurerSettings settings = TestSettings();
  settings.remote = true;
  settings.run_commands = {RunnerCommand(command)};
  settings.device = std::move(device);
  settings.runner.calibrate = false;
  return settings;
}

std::unique_ptr<ProcessMeasurer> MakeRemote(const ProcessMeasurerSettings& settings) {
  auto made = ProcessMeasurer::Create(settings);
  TW_CHECK(made.ok(), made.status().message());
  return *std::move(made);
}

/// Runs a kernel that is right, and one that is wrong, by the runner.
void ExpectWorks(const std::string& command) {
  const auto identity = ProbeRunner(command);
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  auto measurer = MakeRemote(RemoteSettings(command, identity->device));
  for (const auto& [symbol, outcome] :
       {std::pair("good", Outcome::kOk), std::pair("wrong_lane", Outcome::kWrongResult),
        std::pair("good", Outcome::kOk)}) {
    ASSERT_TRUE(
        measurer->SubmitWithFault(RequestFor(1, DenseCandidate()), ArtifactFault(symbol)).ok());
    const Trial trial = NextReply(*measurer).trial;
    EXPECT_EQ(trial.outcome, outcome) << trial.reason;
    EXPECT_EQ(trial.device, identity->device);
    EXPECT_EQ(trial.verified, outcome == Outcome::kOk);
  }
}

/// Whether a command of the system works here.
bool Works(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

TEST(RemoteRunner, GetsWhatItRunsOverTheConnection) { ExpectWorks(kRunner); }

TEST(RemoteRunner, EndsByItselfSoThatItsFilesAreRemoved) {
  const auto folder = ScopedTempDir::Create("tilewright-remote-test");
  ASSERT_TRUE(folder.ok());
  const std::string ended = folder->path() + "/ended";
  const auto identity = ProbeRunner(kRunner);
  ASSERT_TRUE(identity.ok());
  auto measurer = MakeRemote(RemoteSettings(kRunner + " && touch " + ended, identity->device));
  ASSERT_TRUE(
      measurer->SubmitWithFault(RequestFor(1, DenseCandidate()), ArtifactFault("good")).ok());
  EXPECT_EQ(NextReply(*measurer).trial.outcome, Outcome::kOk);
  measurer.reset();
  EXPECT_EQ(::access(ended.c_str(), F_OK), 0);
}

TEST(RemoteRunner, NeedsNoNetworkOfItsOwn) {
  const std::string alone = "unshare --user --map-root-user --net ";
  if (!Works(alone + "true")) GTEST_SKIP() << "needs unshare, and network namespaces";
  ExpectWorks(alone + kRunner);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// An emulator has no room for a sanitizer's memory.
TEST(RemoteRunner, TellsWhatItIsItself) {
  const std::string emulator = "qemu-x86_64";
  if (!Works(emulator + " /bin/true")) GTEST_SKIP() << "needs qemu-user";
  const std::string command = emulator + " " + MEASURE_RUNNER;
  const auto identity = ProbeRunner(command);
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  EXPECT_THAT(identity->device.model, HasSubstr("QEMU"));
  EXPECT_NE(identity->device, ProbeHostCpu());
  ExpectWorks(command);
}
#endif

TEST(RemoteRunner, AConnectionThatBreaksCostsOneCandidateOnly) {
  auto folder = ScopedTempDir::Create("tilewright-remote-test");
  ASSERT_TRUE(folder.ok());
  // The first connection ends after the greeting, the second before it.
  const std::string command = "cd " + folder->path() + "; if mkdir one 2>/dev/null; then " +
                              kRunner + " | head -n 1; elif mkdir two 2>/dev/null; then exit 3; " +
                              "else exec " + kRunner + "; fi";
  ProcessMeasurerSettings settings = RemoteSettings(command, ProbeHostCpu());
  std::vector<std::string> reasons;  // read when the measurer's thread has ended
  settings.on_lost = [&](const std::string& why, double) { reasons.push_back(why); };
  auto measurer = MakeRemote(settings);
  std::vector<Trial> trials;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(
        measurer->SubmitWithFault(RequestFor(1, DenseCandidate()), ArtifactFault("good")).ok());
    trials.push_back(NextReply(*measurer).trial);
  }
  EXPECT_EQ(trials[0].outcome, Outcome::kDeviceLost);
  EXPECT_THAT(trials[0].reason, HasSubstr("the runner was lost"));
  EXPECT_EQ(trials[1].outcome, Outcome::kOk) << trials[1].reason;
  EXPECT_EQ(trials[2].outcome, Outcome::kOk) << trials[2].reason;
  EXPECT_TRUE(std::filesystem::exists(folder->path() + "/two"));
  measurer.reset();
  EXPECT_THAT(reasons, testing::ElementsAre(testing::_, HasSubstr("exit code 3")));
}

TEST(RemoteRunner, AResultOfAnotherCandidateIsNoResult) {
  const std::string command = kRunner + " | sed -u 's/\"ticket\":[0-9]*/\"ticket\":77/'";
  auto measurer = MakeRemote(RemoteSettings(command, ProbeHostCpu()));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(
        measurer->SubmitWithFault(RequestFor(1, DenseCandidate()), ArtifactFault("good")).ok());
    const Trial trial = NextReply(*measurer).trial;
    EXPECT_EQ(trial.outcome, Outcome::kDeviceLost);
    EXPECT_THAT(trial.reason, HasSubstr("a result of candidate 77, which it does not have"));
  }
}

TEST(RemoteRunner, ConnectionsThatGiveNoResultComeToAnEnd) {
  ProcessMeasurerSettings settings = RemoteSettings(kRunner + " | head -n 1", ProbeHostCpu());
  settings.reconnect_backoff_seconds = 0.01;
  auto measurer = MakeRemote(settings);
  Status broken;
  for (int i = 0; i < 25 && broken.ok(); ++i) {
    broken = measurer->SubmitWithFault(RequestFor(1, DenseCandidate()), ArtifactFault("good"));
    if (!broken.ok()) break;
    auto reply = measurer->Next(120);
    broken = reply.status();
    if (reply.ok() && *reply) {
      EXPECT_EQ((*reply)->trial.outcome, Outcome::kDeviceLost);
    }
  }
  EXPECT_THAT(broken.message(), HasSubstr("workers fail again and again"));
}

TEST(RemoteRunner, AnotherDeviceIsNotTakenForIt) {
  DeviceFingerprint other = ProbeHostCpu();
  other.model = "a board";
  ProcessMeasurerSettings settings = RemoteSettings(kRunner, other);
  settings.reconnect_limit_seconds = 0.2;
  auto measurer = MakeRemote(settings);
  ASSERT_TRUE(
      measurer->SubmitWithFault(RequestFor(1, DenseCandidate()), ArtifactFault("good")).ok());
  EXPECT_EQ(NextReply(*measurer).trial.outcome, Outcome::kDeviceLost);
  const auto next = measurer->Next(10);
  EXPECT_THAT(next.status().message(), HasSubstr("another device answered"));
}

// Two boards of a device: both work, and what one of them loses the other goes on without.
TEST(RemoteRunner, SeveralShareTheWork) {
  const auto folder = ScopedTempDir::Create("tilewright-remote-test");
  ASSERT_TRUE(folder.ok());
  // Each waits at its first order until the other has one, too; the second ends after that one.
  const auto noting = [&](const std::string& me, const std::string& other, const char* then) {
    return "cd " + folder->path() + "; " + kRunner +
           " | while read -r line; do case $line in *'\"ran\"'*) touch " + me + "; while ! [ -e " +
           other + " ]; do sleep 0.01; done;; esac; printf '%s\\n' \"$line\"; " + then + " done";
  };
  ProcessMeasurerSettings settings = RemoteSettings("", ProbeHostCpu());
  settings.run_commands = {RunnerCommand(noting("one", "two", "")),
                           RunnerCommand("mkdir " + folder->path() + "/begun || exit 3; " +
                                         noting("two", "one", "[ -e two ] && exit;"))};
  settings.reconnect_limit_seconds = 0.05;
  std::promise<void> given_up;
  settings.on_lost = [&](const std::string&, double seconds) {
    if (seconds == kNoReconnect) given_up.set_value();
  };
  auto measurer = MakeRemote(settings);
  int good = 0;
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(
        measurer->SubmitWithFault(RequestFor(1, DenseCandidate()), ArtifactFault("good")).ok());
  }
  for (int i = 0; i < 6; ++i) good += NextReply(*measurer).trial.outcome == Outcome::kOk ? 1 : 0;
  EXPECT_GE(good, 4) << "all but what the second had when it ended";
  EXPECT_TRUE(FileExists(folder->path() + "/one"));
  EXPECT_TRUE(FileExists(folder->path() + "/two"));
  ASSERT_EQ(given_up.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  ASSERT_TRUE(
      measurer->SubmitWithFault(RequestFor(1, DenseCandidate()), ArtifactFault("good")).ok());
  EXPECT_EQ(NextReply(*measurer).trial.outcome, Outcome::kOk);
}

TEST(ProbeRunner, SaysWhatCameOfACommandThatIsNoRunner) {
  const std::pair<const char*, const char*> commands[] = {
      {"exit 3", "exit code 3"},
      {"echo no route to board >&2; exit 255", "no route to board"},
      {"echo Welcome", "said 'Welcome'"},
      {"echo '{\"type\":\"ready\",\"protocol\":99}'", "protocol version 99, expected "}};
  for (const auto& [command, words] : commands) {
    const auto identity = ProbeRunner(command);
    EXPECT_EQ(identity.status().code(), StatusCode::kUnavailable);
    EXPECT_THAT(identity.status().message(), HasSubstr(words));
  }
}

TEST(Messages, APartOfAFileComesBackTheSame) {
  FileChunk part{"candidate.5.so", false, std::string("\0\xff\n{", 4)};
  const auto back = FileChunkFrom(*ParseJson(LineOf(ToJson(part))));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->name, part.name);
  EXPECT_EQ(back->first, part.first);
  EXPECT_EQ(back->bytes, part.bytes);
  EXPECT_EQ(FileChunkFrom(*ParseJson(R"({"name":"a","first":true,"data":"?"})")).status().code(),
            StatusCode::kCorrupt);
}

TEST(FileReceiver, KeepsFilesInAFolderOfItsOwn) {
  FileReceiver receiver;
  EXPECT_EQ(receiver.PathOf("/tmp/a.so"), "/tmp/a.so");
  ASSERT_TRUE(receiver.Receive({"a.so", true, "one"}).ok());
  ASSERT_TRUE(receiver.Receive({"a.so", false, " two"}).ok());
  const std::string path = receiver.PathOf("a.so");
  EXPECT_EQ(*ReadFile(path), "one two");
  ASSERT_TRUE(receiver.Receive({"a.so", true, "new"}).ok());
  EXPECT_EQ(*ReadFile(path), "new");
  receiver.Remove("a.so");
  EXPECT_FALSE(FileExists(path));
  for (const char* name : {"", ".", "..", "/etc/passwd", "../a.so", "a/b"}) {
    EXPECT_EQ(receiver.Receive({name, true, "x"}).code(), StatusCode::kCorrupt) << name;
  }
  EXPECT_EQ(receiver.Receive({"b.so", false, "x"}).code(), StatusCode::kCorrupt);
}

TEST(FileReceiver, AnArtifactIsWhatItsNameSays) {
  const auto folder = ScopedTempDir::Create("tilewright-remote-test");
  ASSERT_TRUE(folder.ok());
  const std::string built = folder->path() + "/candidate.5.so", reference = folder->path() + "/r";
  ASSERT_TRUE(WriteFile(built, "code").ok() && WriteFile(reference, "results").ok());
  RunOrder order;
  order.items.resize(1);
  order.items[0].kernel.artifact = built;
  order.items[0].reference = reference;
  FileSender sender;
  const auto lines = sender.EncodeMissingFiles(order);
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(order.items[0].kernel.artifact, "");
  const std::string name = order.items[0].kernel.artifact_name;
  EXPECT_THAT(name, testing::StartsWith("artifact."));
  const std::string first = lines->substr(0, lines->find('\n'));
  FileChunk part = *FileChunkFrom(*ParseJson(first));
  FileReceiver receiver;
  ASSERT_TRUE(receiver.Receive(part).ok());
  EXPECT_TRUE(CheckArtifact(receiver.PathOf(name), name).ok());
  EXPECT_EQ(*ReadFile(receiver.PathOf(name)), "code");
  for (const char* bytes : {"cord", "cod", "codes"}) {
    part.bytes = bytes;
    ASSERT_TRUE(receiver.Receive(part).ok());
    EXPECT_EQ(CheckArtifact(receiver.PathOf(name), name).message(),
              "message: the file " + name + " arrived damaged");
  }
  EXPECT_TRUE(CheckArtifact(receiver.PathOf(name), "").ok()) << "a test's";
  EXPECT_TRUE(CheckArtifact("/no/such.so", name).ok()) << "whoever loads it says so";
}

}  // namespace
}  // namespace tilewright::measure
