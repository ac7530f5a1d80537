// Orders of a runner, mutated past their framing: every field takes values that nobody would send.
// A runner answers each, or ends with an error in words; it dies of no signal, hangs on no file and
// takes no memory without end. For longer than a moment: bench/runner_orders.sh.

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <limits>

#include "measure/evaluate/inputs.h"
#include "measure/supervisor/pipe_transport.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/random.h"
#include "tests/measure/process_fixture.h"

namespace tilewright::measure {
namespace {

constexpr int kOrders = 120;
constexpr double kSendSeconds = 60;
constexpr int kWaitMilliseconds = 200, kAnswerWaits = 150;

/// The task of all orders, which is told before each.
TaskMessage TaskOf(std::uint64_t number) {
  const Candidate candidate = DenseCandidate();
  return {number, {candidate.task.workload, candidate.epilogue, candidate.task.target}};
}

/// The order that all others are made of: a dense of float32, right in every field.
Json WholeOrder(const std::string& reference) {
  const Candidate candidate = DenseCandidate();
  const Workload& workload = candidate.task.workload;
  RunOrder::Item item;
  item.ticket = 1;
  item.kernel.workload = workload;
  const std::vector<TensorType> types = {workload.data, workload.weight,
                                         *ResultType(workload, Epilogue())};
  item.kernel.signature = *SignatureOf(workload, Epilogue(), {}, types);
  item.kernel.artifact = MEASURE_FAULTS;
  item.kernel.symbol = "good";
  item.reference = reference;
  item.best_seconds = 1e-4;
  return ToJson(RunOrder{{item}});
}

class Mutator {
 public:
  Mutator(std::uint64_t seed, std::vector<std::string> texts)
      : random_(seed), texts_(std::move(texts)) {}

  Json Mutated(Json order) {
    const std::size_t changes = 1 + random_.Below(3);
    for (std::size_t i = 0; i < changes; ++i) Change(order);
    return order;
  }
  Random& random() { return random_; }

 private:
  /// Every value of the tree but the root.
  static void Collect(Json& json, std::vector<Json*>& all) {
    for (Json& inner : json) {
      all.push_back(&inner);
      if (inner.is_structured()) Collect(inner, all);
    }
  }
  void Change(Json& order) {
    std::vector<Json*> all;
    Collect(order, all);
    if (all.empty()) return;
    Json& place = *all[random_.Below(all.size())];
    switch (random_.Below(5)) {
      case 0:
        if (place.is_structured() && !place.empty()) {
          auto victim = place.begin();
          std::advance(victim, static_cast<std::ptrdiff_t>(random_.Below(place.size())));
          place.erase(victim);
          return;
        }
        [[fallthrough]];
      case 1:
        if (place.is_array() && !place.empty()) {
          const Json again = place[random_.Below(place.size())];
          for (int i = 0; i < 3; ++i) place.push_back(again);
          return;
        }
        [[fallthrough]];
      default:
        place = Value(place);
    }
  }
  Json Value(const Json& instead_of) {
    constexpr std::int64_t kIntegers[] = {0,
                                          1,
                                          -1,
                                          3,
                                          64,
                                          4097,
                                          std::int64_t{1} << 31,
                                          std::int64_t{1} << 40,
                                          std::numeric_limits<std::int64_t>::max(),
                                          std::numeric_limits<std::int64_t>::min()};
    constexpr double kNumbers[] = {0.5, -1.0, 1e300, -1e300, 1e-300, 60, 1e19};
    // Mostly of the same kind: others are refused at once.
    if (instead_of.is_string() && random_.Below(8) != 0)
      return texts_[random_.Below(texts_.size())];
    if (instead_of.is_number() && random_.Below(8) != 0) {
      return random_.Below(2) == 0 ? Json(kIntegers[random_.Below(std::size(kIntegers))])
                                   : Json(kNumbers[random_.Below(std::size(kNumbers))]);
    }
    const Json kinds[] = {Json(), Json(true), Json::array(), Json::object(), Json("x"), Json(7)};
    return kinds[random_.Below(std::size(kinds))];
  }

  Random random_;
  std::vector<std::string> texts_;
};

/// Kilobytes of memory that a process has had at most; 0 if it is gone.
std::int64_t PeakOf(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atoll(line.c_str() + 6);
  }
  return 0;
}

/// Waits for `count` lines, or the end of the process. Empty if one came; else what is wrong.
/// words: gets what it said at its end.
std::string WaitForAnswer(PipeTransport& process, std::size_t count, std::string* words = nullptr) {
  // Waits are counted, not timed: a test that was stopped (SIGSTOP) with its runner blames nobody.
  for (int waits = kAnswerWaits; waits > 0;) {
    auto open = process.Receive();
    if (!open.ok()) return open.status().message();
    while (process.Next()) {
      if (--count == 0) return {};
    }
    if (!*open) {
      const std::string ended = process.End(/*at_once=*/false);
      if (words != nullptr) *words = ended;
      const bool in_words = ended.starts_with("exit code 1: ");  // long ones are cut
      return in_words ? "" : "ended with " + ended;
    }
    pollfd watched{process.descriptors().front(), POLLIN, 0};
    if (::poll(&watched, 1, kWaitMilliseconds) == 0) --waits;
  }
  (void)process.End(/*at_once=*/true);
  return "no answer";
}

/// Starts a runner. Empty if it is ready; else what is wrong.
std::string Configure(PipeTransport& process, const RunWorkerSettings& settings) {
  if (!process.Connect().ok()) return "cannot be started";
  (void)process.Send(LineOf(ToJson(settings)), kSendSeconds);
  return WaitForAnswer(process, 1);
}

TEST(RunnerOrders, MutatedOnesEndInAnAnswerOrAnError) {
  const auto folder = ScopedTempDir::Create("tilewright-test");
  ASSERT_TRUE(folder.ok());
  const std::string reference = folder->path() + "/reference", pipe = folder->path() + "/pipe";
  const Workload workload = DenseCandidate().task.workload;
  auto expected = EvaluateExpected(workload, Epilogue(), 1);
  ASSERT_TRUE(expected.ok() && WriteExpected(reference, workload, Epilogue(), *expected).ok());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::vector<std::string> texts = {
      "",
      "/dev/zero",
      "/dev/full",
      pipe,
      folder->path(),
      "/proc/self/mem",
      reference,
      MEASURE_FAULTS,
      "/no/such",
      "a\nb",
      std::string(1000, 'x'),
      "crash",
      "exit_call",
      "float16",
      "NCHW",
      "cuda",
      "vta -model=sim_1x16_i8w8a32_15_15_18_17",
      "add(channel:float32);relu",
      "dense(float32[4,16]MK,float32[1000000,16]NK)->float32",
      "dense(float32[1000000,1000000]MK,float32[1000000,1000000]NK)->float32",
      "dense(int8[4,16]MK,int8[32,16]NK)->int32",
      "candidate",
      "probe",
      "run"};
  const char* longer = std::getenv("TILEWRIGHT_MUTATION_SECONDS");
  const double seconds = longer == nullptr ? 0 : std::atof(longer);
  const char* seed = std::getenv("TILEWRIGHT_MUTATION_SEED");
  Mutator mutator(seed == nullptr ? 1 : static_cast<std::uint64_t>(std::atoll(seed)), texts);
  RunWorkerSettings settings;
  settings.calibrate = false;
  settings.memory_bytes = std::int64_t{256} << 20;
  SubprocessOptions options;
  options.command = {MEASURE_RUNNER};
  PipeTransport process(options);
  ::signal(SIGPIPE, SIG_IGN);  // a runner may have ended by the order before
  SystemClock clock;
  const double start = clock.MonotonicSeconds();
  Json whole = WholeOrder(reference);
  const Json probe = ToJson(ProbeOrder{"llvm", MEASURE_FAULTS, 1});
  int orders = 0;
  for (; orders < kOrders || clock.MonotonicSeconds() < start + seconds; ++orders) {
    if (!process.connected()) {
      ASSERT_EQ(Configure(process, settings), "");
    }
    const auto number = static_cast<std::int64_t>(orders) + 1;  // another task each time
    Json task = ToJson(TaskOf(static_cast<std::uint64_t>(number)));
    if (mutator.random().Below(2) == 0) task = mutator.Mutated(std::move(task));
    whole["items"][0]["kernel"]["task"] = number;
    const Json order = mutator.Mutated(mutator.random().Below(8) == 0 ? probe : whole);
    const auto items = order.find("items");
    const bool races = items != order.end() && items->is_array();
    const std::size_t answers = races ? items->size() : 1;
    (void)process.Send(LineOf(task) + LineOf(order), kSendSeconds);
    if (answers == 0) continue;  // nothing to be done: the next order's answer is waited for
    ASSERT_EQ(WaitForAnswer(process, answers), "") << order.dump().substr(0, 3000);
    if (process.connected()) {
      EXPECT_LT(PeakOf(process.pid()), 1 << 20) << order.dump();
    }
  }
  if (seconds > 0) std::printf("%d orders in %.0f s\n", orders, clock.MonotonicSeconds() - start);
  // One that nothing was done to is as good as ever.
  (void)process.End(/*at_once=*/true);
  ASSERT_EQ(Configure(process, settings), "");
  whole["items"][0]["kernel"]["task"] = 1;
  ASSERT_TRUE(process.Send(LineOf(ToJson(TaskOf(1))) + LineOf(whole), kSendSeconds).ok());
  ASSERT_EQ(WaitForAnswer(process, 1), "");
  // ... and one whose file is not what it names is loaded by nobody.
  whole["items"][0]["kernel"]["artifact_name"] = "artifact.0.5";
  ASSERT_TRUE(process.Send(LineOf(whole), kSendSeconds).ok());
  std::string words;
  ASSERT_EQ(WaitForAnswer(process, 1, &words), "");
  EXPECT_NE(words.find("artifact.0.5 arrived damaged"), std::string::npos) << words;
}

}  // namespace
}  // namespace tilewright::measure
