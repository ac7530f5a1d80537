// Faults of this machine must not become failures of candidates. Namespaces and limits simulate
// machines without space, without the permission to execute, without descriptors, or without
// builders.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/base/sanitizer.h"
#include "src/templates/registry.h"
#include "tests/measure/process_fixture.h"
#include "tests/support/built_in.h"

namespace tilewright::measure {
namespace {

using testing::HasSubstr;

constexpr int kNotPermitted = 77;

/// Runs `body` in a subprocess, after `change` has changed the machine.
template <typename Change, typename Body>
void OnAMachine(Change change, Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!change()) ::_exit(kNotPermitted);
    body();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotPermitted) {
    GTEST_SKIP() << "namespaces cannot be made here";
  }
  EXPECT_EQ(status, 0);
}

constexpr const char* kWorkerMount = "/mnt";

/// Also mounts the folder of the workers' program on kWorkerMount: the tests hide temporary
/// directories, one of which may contain the build.
bool KeepWorkerReachable() {
  const std::string folder = std::filesystem::path(MEASURE_WORKER).parent_path();
  return ::mount(folder.c_str(), kWorkerMount, nullptr, MS_BIND, nullptr) == 0;
}

/// Returns TestSettings for a machine after OwnMounts.
ProcessMeasurerSettings MachineSettings() {
  ProcessMeasurerSettings settings = TestSettings();
  if (FileExists(MEASURE_WORKER)) return settings;
  const std::string worker =
      std::string(kWorkerMount) + "/" + std::filesystem::path(MEASURE_WORKER).filename().string();
  settings.build_command = {worker, "build"};
  settings.run_commands = {{worker, "run"}};
  return settings;
}

/// Creates a mount namespace, as root or as the root of a user namespace.
bool OwnMounts() {
  const uid_t user = ::getuid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
  }
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 && KeepWorkerReachable();
}

bool Mount(const char* folder, unsigned long flags, const char* options) {
  return ::mount("tmpfs", folder, "tmpfs", flags, options) == 0;
}

/// Returns a dense with the default config, which is really built.
Candidate RealCandidate() {
  Candidate candidate = DenseCandidate();
  candidate.task.target = *Target::Parse("native");
  const TemplateEntry* entry =
      BuiltInTemplates().For(candidate.task.workload, candidate.task.target).front();
  candidate.template_key = std::string(entry->key);
  candidate.template_version = entry->version;
  candidate.config = *entry->default_config(candidate.task.workload, candidate.task.target);
  return candidate;
}

/// Expects a real candidate to be measured.
void ExpectWorksIn(const std::string& root) {
  auto made = ProcessMeasurer::Create(MachineSettings());
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(*TemporaryRoot(), root);
  ASSERT_TRUE((*made)->Submit(RequestFor(1, RealCandidate())).ok());
  const Trial trial = NextReply(**made).trial;
  EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
  EXPECT_TRUE(trial.verified);
}

/// Expects the measurer to end with this message and without trials.
void ExpectStops(const ProcessMeasurerSettings& settings, const char* words,
                 const Candidate& candidate = RealCandidate()) {
  auto made = ProcessMeasurer::Create(settings);
  Status status = made.status();
  if (made.ok()) {
    for (int i = 0; i < 3; ++i) (void)(*made)->Submit(RequestFor(1, candidate));
    auto reply = (*made)->Next(60);
    EXPECT_FALSE(reply.ok() && reply->has_value())
        << OutcomeName((*reply)->trial.outcome) << ": " << (*reply)->trial.reason;
    status = reply.status();
  }
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr(words));
}

TEST(Machine, AFolderThatMayNotExecuteIsNotUsed) {
  OnAMachine([] { return OwnMounts() && Mount("/dev/shm", MS_NOEXEC, "size=1g"); },
             [] {
               ::unsetenv("TMPDIR");
               ExpectWorksIn("/tmp");
             });
}

TEST(Machine, ASmallFolderIsNotUsedWhereAnotherHasRoom) {
  OnAMachine(
      [] {
        return OwnMounts() && Mount("/dev/shm", 0, "size=64m") && Mount("/tmp", 0, "size=512m");
      },
      [] {
        ::unsetenv("TMPDIR");
        ExpectWorksIn("/tmp");
      });
}

TEST(Machine, NoFolderIsAnErrorWithWhatToDo) {
  OnAMachine(
      [] {
        bool made = OwnMounts();
        for (const char* folder : {"/dev/shm", "/tmp", "/var/tmp"}) {
          made = made && Mount(folder, MS_NOEXEC, "size=1g");
        }
        return made;
      },
      [] {
        for (const char* variable : {"TMPDIR", "XDG_CACHE_HOME", "HOME"}) ::unsetenv(variable);
        ExpectStops(MachineSettings(), "/dev/shm: mounted noexec");
        ExpectStops(MachineSettings(), "set TMPDIR to a writable one");
      });
}

/// Writes until the file system is full.
void FillUp(const std::string& path) {
  std::ofstream filler(path);
  const std::string block(1 << 20, 'x');
  while (filler.write(block.data(), std::ssize(block)).flush()) continue;
}

/// Makes a /dev/shm of this size the only temporary directory.
bool OnlySharedMemory(const char* size) {
  bool made = OwnMounts() && Mount("/dev/shm", 0, size);
  for (const char* folder : {"/tmp", "/var/tmp"}) {
    made = made && Mount(folder, MS_NOEXEC, "size=1g");
  }
  for (const char* variable : {"TMPDIR", "XDG_CACHE_HOME", "HOME"}) ::unsetenv(variable);
  return made;
}

TEST(Machine, AFullFolderIsNoFaultOfACandidate) {
  OnAMachine([] { return OnlySharedMemory("size=300m"); },
             [] {
               ProcessMeasurerSettings settings = MachineSettings();
               settings.machine_backoff_seconds = 0.5;
               auto made = ProcessMeasurer::Create(settings);
               ASSERT_TRUE(made.ok()) << made.status().message();
               FillUp("/dev/shm/filler");
               ASSERT_TRUE((*made)->Submit(RequestFor(1, RealCandidate())).ok());
               // It waits for free space; after that, the candidate is measured normally.
               auto early = (*made)->Next(0.5);
               ASSERT_TRUE(early.ok()) << early.status().message();
               EXPECT_FALSE(early->has_value());
               std::filesystem::remove("/dev/shm/filler");
               const Trial trial = NextReply(**made).trial;
               EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
             });
}

TEST(Machine, AFolderThatFillsUpInTheMiddleIsLeft) {
  OnAMachine(
      [] {
        ::unsetenv("TMPDIR");
        return OwnMounts() && Mount("/dev/shm", 0, "size=300m") && Mount("/tmp", 0, "size=1g");
      },
      [] {
        auto made = ProcessMeasurer::Create(MachineSettings());
        ASSERT_TRUE(made.ok()) << made.status().message();
        ASSERT_TRUE((*made)->Submit(RequestFor(1, RealCandidate())).ok());
        EXPECT_EQ(NextReply(**made).trial.outcome, Outcome::kOk);
        FillUp("/dev/shm/filler");
        // One candidate of a task with a reference result, and one of a task without.
        Candidate other = RealCandidate();
        other.epilogue = *Epilogue::Parse("relu");
        for (const Candidate& candidate : {RealCandidate(), other}) {
          ASSERT_TRUE((*made)->Submit(RequestFor(2, candidate)).ok());
          const Trial trial = NextReply(**made).trial;
          EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
        }
        EXPECT_FALSE(std::filesystem::is_empty("/tmp"));
        made->reset();
        EXPECT_TRUE(std::filesystem::is_empty("/tmp"));
      });
}

TEST(Machine, AFolderThatStaysFullEndsTheMeasurerWithoutATrial) {
  OnAMachine([] { return OnlySharedMemory("size=300m,nr_inodes=100000"); },
             [] {
               auto made = ProcessMeasurer::Create(MachineSettings());
               ASSERT_TRUE(made.ok()) << made.status().message();
               FillUp("/dev/shm/filler");
               ASSERT_TRUE((*made)->Submit(RequestFor(1, RealCandidate())).ok());
               auto reply = (*made)->Next(60);
               EXPECT_EQ(reply.status().code(), StatusCode::kUnavailable);
               EXPECT_THAT(reply.status().message(), HasSubstr("No space left on device"));
               EXPECT_THAT(reply.status().message(), HasSubstr("make room there"));
             });
}

TEST(Machine, WithoutDescriptorsNothingIsBlamedOnCandidates) {
  OnAMachine(
      [] {
        const rlimit few{16, 16};
        return ::setrlimit(RLIMIT_NOFILE, &few) == 0;
      },
      [] { ExpectStops(MachineSettings(), "ulimit -n"); });
}

TEST(Machine, ABuilderThatTheSystemKillsIsNoFaultOfACandidate) {
  ProcessMeasurerSettings settings = MachineSettings();
  settings.build_command = {"/bin/sh", "-c", "kill -9 $$"};
  ExpectStops(settings, "SIGKILL");
}

TEST(Machine, ABuilderThatCannotBeStartedIsNoFaultOfACandidate) {
  ProcessMeasurerSettings settings = MachineSettings();
  settings.build_command = {"/no/such/program"};
  ExpectStops(settings, "/no/such/program");
}

/// The candidate is rebuilt by another builder and is then measured normally.
TEST(Machine, ACandidateWhoseBuilderIsKilledOnceIsBuiltAgain) {
  const auto folder = ScopedTempDir::Create("tilewright-machine-test");
  ASSERT_TRUE(folder.ok());
  ProcessMeasurerSettings settings = MachineSettings();
  settings.builders = 1;
  // The first builder is killed at its first candidate, the second one works.
  const std::string marker = folder->path() + "/once";
  settings.build_command = {"/bin/sh", "-c",
                            "if [ -e " + marker + " ]; then exec " + std::string(MEASURE_WORKER) +
                                " build; fi; read -r line; case $line in *probe*) touch " + marker +
                                ";; esac; kill -9 $$"};
  auto made = ProcessMeasurer::Create(settings);
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE((*made)->Submit(RequestFor(1, RealCandidate())).ok());
  const Trial trial = NextReply(**made).trial;
  EXPECT_EQ(trial.outcome, Outcome::kOk) << trial.reason;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Sanitizers themselves need /proc.
TEST(Machine, WithoutProcNothingIsBlamedOnCandidates) {
  OnAMachine([] { return OwnMounts() && ::umount2("/proc", MNT_DETACH) == 0; },
             [] { ExpectStops(MachineSettings(), "/proc"); });
}
#endif

}  // namespace
}  // namespace tilewright::measure
