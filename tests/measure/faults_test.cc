#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "src/base/files/file.h"
#include "src/base/sanitizer.h"
#include "tests/measure/process_fixture.h"

namespace tilewright::measure {
namespace {

struct FaultCase {
  const char* name;
  Fault fault;
  Outcome outcome;
  const char* reason;  // a part of it
};

Fault BuilderFault(std::string name) {
  Fault fault;
  fault.builder = std::move(name);
  return fault;
}

Fault RunnerFault(std::string name) {
  Fault fault = ArtifactFault("good");
  fault.runner = std::move(name);
  return fault;
}

Fault MissingArtifact() {
  Fault fault = ArtifactFault("good");
  fault.artifact = "/no/such/artifact.so";
  return fault;
}

std::vector<FaultCase> KernelFaults() {
  const auto of = [](const char* symbol, Outcome outcome, const char* reason) {
    return FaultCase{symbol, ArtifactFault(symbol), outcome, reason};
  };
  constexpr Outcome kRun = Outcome::kRunFailed;
  constexpr Outcome kWrong = Outcome::kWrongResult;
  return {
      of("crash", kRun, "crashed: SIGSEGV: wrote at address 0x40 (random inputs)"),
      of("jump_to_null", kRun, "crashed: SIGSEGV"),
      of("hang", Outcome::kRunTimeout, "one call took more than 1 s (random inputs)"),
      of("sleep_for_ever", Outcome::kRunTimeout, "one call took more than 1 s (random inputs)"),
      of("memory", kRun, "out of memory"),
      of("write_past_end", kRun, "wrote out of bounds of parameter 2: 64 bytes past its end"),
      of("write_before_start", kRun,
         "wrote out of bounds of parameter 2: 4 bytes before its start"),
      of("write_far_before", kRun,
         "wrote out of bounds of parameter 2: 8000 bytes before its start"),
      of("read_past_end", kRun, "read out of bounds of parameter 0: 64 bytes past its end"),
      of("read_before_weight", kRun,
         "read out of bounds of parameter 1: 32000 bytes before its start"),
      of("write_input", kRun, "wrote to parameter 0, which is an input"),
      of("wrong_lane", kWrong, "element 37 of 128 is"),
      of("wrong_tail", kWrong, "element 127 of 128 is 0, expected"),
      of("wrong_extremes", kWrong, "(extreme inputs)"),
      of("wrong_zero_point", kWrong, "element 7 of 128 is 1, expected 0 (zero-point inputs)"),
      of("not_a_number", kWrong, "element 11 of 128 is"),
      of("not_written", kWrong, "element 0 of 128 was not written"),
      of("late_write", kRun, "a thread of the kernel still ran after it had returned"),
      of("return_code", kRun, "the kernel returned code 7"),
      of("stack_overflow", kRun, "the stack overflowed"),
      of("division", kRun, "crashed: SIGFPE"),
      of("illegal_instruction", kRun, "crashed: SIGILL"),
      of("abort_call", kRun, "crashed: SIGABRT"),
      of("exit_call", kRun, "ended without a result: exit code 0"),
      of("fork_call", kRun, "made a forbidden system call"),
      of("socket_call", kRun, "made a forbidden system call: number 41"),
      of("kill_call", kRun, "made a forbidden system call: number 62"),
      of("cut_off_call", kRun, "made a forbidden system call: number 257"),
      of("x32_call", kRun, "made a forbidden system call: number 1073741863"),
      of("kill_self", kRun, "made a forbidden system call: number 234"),
      of("terminate_self", kRun, "made a forbidden system call: number 234"),
      of("garbage", kRun, "sent something that is not a reply"),
      of("closed_pipes", kRun, "ended without a result"),
      of("wrong_later", kWrong, "element 0 of 128 is"),
      of("crash_later", kRun, "(while timed)"),
      of("code_later", kRun, "the kernel returned code 9"),
      of("other_version", kRun, "version 2"),
      of("other_count", kRun, "artifact takes 4 parameters, expected 3"),
      of("huge_workspace", kRun, "out of memory: the artifact asks for 35184372088832 + 0 bytes"),
      of("large_workspace", kRun,
         "out of memory: result and workspace take 536871424 bytes, a candidate may allocate "
         "268435456"),
      of("past_workspace", kRun, "wrote out of bounds of the workspace: 0 bytes past its end"),
      of("no_entry", kRun, "no_entry"),
      of("no_such_symbol", kRun, "no_such_symbol"),
  };
}

/// Kernels that would do harm beyond the candidate. Numbers of system calls are those of x86-64.
std::vector<FaultCase> HostileKernels() {
  const auto forbidden = [](const char* symbol, const char* reason) {
    return FaultCase{symbol, ArtifactFault(symbol), Outcome::kRunFailed, reason};
  };
  Fault constructor = ArtifactFault("constructor");
  constructor.artifact = MEASURE_CONSTRUCTOR;
  return {
      forbidden("kill_call", "made a forbidden system call: number 62"),
      {"constructor", constructor, Outcome::kRunFailed,
       "made a forbidden system call: number 62 while being loaded"},
      forbidden("own_signals", "made a forbidden system call: number 72"),
      forbidden("signal_choice", "made a forbidden system call: number 72"),
      forbidden("async_descriptor", "made a forbidden system call: number 72"),
      forbidden("socket_pair", "made a forbidden system call: number 53"),
      forbidden("send_message", "made a forbidden system call: number 44"),
      forbidden("limit_parent", "made a forbidden system call: number 302"),
      forbidden("limit_self", "made a forbidden system call: number 302"),
      forbidden("write_parent", "made a forbidden system call: number 257"),
      forbidden("read_parent", "the kernel returned code 50"),
      forbidden("parent_descriptors", "the kernel returned code 50"),
      forbidden("parent_environment", "the kernel returned code 50"),
      forbidden("read_parent_memory", "made a forbidden system call: number 310"),
      forbidden("open_process", "made a forbidden system call: number 434"),
      forbidden("take_descriptor", "made a forbidden system call: number 438"),
      forbidden("allocate_file", "made a forbidden system call: number 285"),
      forbidden("make_file", "made a forbidden system call: number 257"),
      forbidden("nameless_file", "made a forbidden system call: number 257"),
      forbidden("memory_file", "made a forbidden system call: number 319"),
      forbidden("shared_memory", "made a forbidden system call: number 29"),
      forbidden("move_parent", "made a forbidden system call: number 203"),
      forbidden("slow_parent", "made a forbidden system call: number 141"),
      forbidden("outlive_parent", "made a forbidden system call: number 157"),
      forbidden("leave_group", "made a forbidden system call: number 112"),
      forbidden("new_namespace", "made a forbidden system call: number 272"),
      forbidden("other_kernel_interface", "made a forbidden system call: number 425"),
      forbidden("loads_code", "made a forbidden system call: number 321"),
  };
}

std::vector<FaultCase> WorkerFaults() {
  constexpr Outcome kBuild = Outcome::kBuildFailed;
  return {
      {"builder_crash", BuilderFault("crash"), kBuild, "compiler crashed: signal 11 (SIGSEGV)"},
      {"builder_abort", BuilderFault("abort"), kBuild, "compiler crashed: signal 6 (SIGABRT)"},
      {"builder_memory", BuilderFault("memory"), kBuild, "LLVM ERROR: out of memory"},
      {"builder_spends_memory", BuilderFault("allocate"), kBuild,
       "compiler crashed: exit code 1: worker: out of memory"},
      {"builder_exit", BuilderFault("exit"), kBuild, "compiler crashed: exit code 3"},
      {"builder_killed", BuilderFault("kill"), kBuild, "compiler crashed: signal 9 (SIGKILL)"},
      {"builder_closed", BuilderFault("close"), kBuild, "compiler crashed: exit code 1"},
      {"builder_garbage", BuilderFault("garbage"), kBuild,
       "compiler crashed: sent something that is not a message"},
      {"builder_refuses", BuilderFault("none"), Outcome::kInvalid, "no template of_a_test"},
      {"runner_killed", RunnerFault("kill_runner"), Outcome::kDeviceLost,
       "the runner was lost: signal 9 (SIGKILL)"},
      {"runner_garbage", RunnerFault("garbage"), Outcome::kRunFailed,
       "sent something that is not a reply"},
      {"candidate_spends_memory", RunnerFault("allocate"), Outcome::kRunFailed,
       "out of memory while being loaded"},
      {"runner_closed", RunnerFault("close"), Outcome::kRunFailed, "ended without a result"},
      {"missing_artifact", MissingArtifact(), Outcome::kRunFailed,
       "artifact cannot be used: no file"},
  };
}

/// Submits every case followed by a good candidate, and compares the trials.
void RunAll(std::vector<FaultCase> cases, ProcessMeasurerSettings settings,
            const Fault& good_fault = ArtifactFault("good")) {
  if (kHasShadowMemory) {
    // A process with shadow memory has no memory limit: it would take the memory of the machine.
    std::erase_if(cases,
                  [](const FaultCase& c) { return std::string(c.name).ends_with("memory"); });
  }
  auto made = ProcessMeasurer::Create(std::move(settings));
  ASSERT_TRUE(made.ok()) << made.status().message();
  ProcessMeasurer& measurer = **made;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ASSERT_TRUE(measurer.SubmitWithFault(RequestFor(2 * i, DenseCandidate()), cases[i].fault).ok());
    ASSERT_TRUE(measurer.SubmitWithFault(RequestFor(2 * i + 1, DenseCandidate()), good_fault).ok());
  }
  std::map<std::uint64_t, Trial> trials;
  for (std::size_t i = 0; i < 2 * cases.size(); ++i) {
    Reply reply = NextReply(measurer);
    trials[reply.ticket] = std::move(reply.trial);
  }
  EXPECT_EQ(measurer.in_flight(), 0);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Trial& faulty = trials[2 * i];
    EXPECT_EQ(faulty.outcome, cases[i].outcome)
        << cases[i].name << ": " << OutcomeName(faulty.outcome) << ": " << faulty.reason;
    EXPECT_THAT(faulty.reason, testing::HasSubstr(cases[i].reason)) << cases[i].name;
    EXPECT_FALSE(faulty.verified) << cases[i].name;
    EXPECT_EQ(faulty.value, 0) << cases[i].name;
    const Trial& good = trials[2 * i + 1];
    EXPECT_EQ(good.outcome, Outcome::kOk) << "after " << cases[i].name << ": " << good.reason;
    EXPECT_TRUE(good.verified) << "after " << cases[i].name;
    EXPECT_GT(good.value, 0);
  }
}

TEST(Faults, EveryFaultOfAKernelIsRecordedWithItsReason) { RunAll(KernelFaults(), TestSettings()); }

TEST(Faults, AHostileKernelEndsItselfOnly) { RunAll(HostileKernels(), TestSettings()); }

TEST(Faults, AHostileKernelOfAnOrdinaryUserEndsItselfOnly) {
  if (::geteuid() != 0) return;  // this is an ordinary user, as in the test before
  // Copies that every user can read.
  const auto folder = ScopedTempDir::Create("tilewright-test");
  ASSERT_TRUE(folder.ok());
  std::filesystem::permissions(folder->path(), std::filesystem::perms{0755});
  const auto copy_of = [&](const std::string& path) {
    const std::string copy = folder->path() + path.substr(path.rfind('/'));
    std::filesystem::copy_file(path, copy, std::filesystem::copy_options::skip_existing);
    std::filesystem::permissions(copy, std::filesystem::perms{0755});
    return copy;
  };
  ProcessMeasurerSettings settings = TestSettings();
  settings.build_command[0] = settings.run_commands[0][0] = copy_of(MEASURE_WORKER);
  std::vector<FaultCase> cases = HostileKernels();
  for (FaultCase& each : cases) each.fault.artifact = copy_of(each.fault.artifact);
  Fault good = ArtifactFault("good");
  good.artifact = copy_of(good.artifact);
  const pid_t pid = ::fork();
  if (pid == 0) {
    constexpr uid_t kNobody = 65534;
    if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) {
      ::_exit(2);
    }
    RunAll(cases, settings, good);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST(Faults, EveryFaultOfAWorkerIsRecordedWithItsReason) { RunAll(WorkerFaults(), TestSettings()); }

// A call may take ten seconds if the task has no measured time, and one second if its best time is
// less than a twentieth of that. Times measured after the request count too.
TEST(Faults, LimitsFollowWhatWasMeasuredSince) {
  auto measurer = ProcessMeasurer::Create(TestSettings());
  ASSERT_TRUE(measurer.ok());
  for (const char* symbol : {"good", "sleep_for_ever"}) {
    Request request = RequestFor(1, DenseCandidate());
    request.best_seconds = 0;
    ASSERT_TRUE((*measurer)->SubmitWithFault(std::move(request), ArtifactFault(symbol)).ok());
  }
  const Trial good = NextReply(**measurer).trial;
  EXPECT_EQ(good.outcome, Outcome::kOk) << good.reason;
  EXPECT_TRUE(good.verified);
  const Trial endless = NextReply(**measurer).trial;
  EXPECT_EQ(endless.outcome, Outcome::kRunTimeout);
  EXPECT_THAT(endless.reason, testing::StartsWith("one call took more than 1 s"));
}

TEST(Faults, ABuilderThatHangsIsEnded) {
  ProcessMeasurerSettings settings = TestSettings();
  settings.build_limit_seconds = 1;
  RunAll({{"builder_hang", BuilderFault("hang"), Outcome::kBuildTimeout,
           "compiling took more than 1 s"}},
         settings);
}

TEST(Faults, ATruncatedArtifactIsRefused) {
  auto folder = ScopedTempDir::Create("tilewright-test");
  ASSERT_TRUE(folder.ok());
  auto whole = ReadFile(MEASURE_FAULTS);
  ASSERT_TRUE(whole.ok());
  std::vector<FaultCase> cases;
  for (const std::size_t length : {std::size_t{0}, std::size_t{64}, std::size_t{5000}}) {
    Fault fault = ArtifactFault("good");
    fault.artifact = folder->path() + "/" + std::to_string(length) + ".so";
    ASSERT_TRUE(WriteFile(fault.artifact, whole->substr(0, length)).ok());
    cases.push_back({"truncated", fault, Outcome::kRunFailed, ""});
  }
  RunAll(cases, TestSettings());
}

}  // namespace
}  // namespace tilewright::measure
