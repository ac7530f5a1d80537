// Tasks of calling programs: asking, telling, records, queries, and the state that threads and
// processes share.

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "include/tilewright/tilewright.hpp"
#include "tests/capi/capi_fixture.h"

namespace tilewright::capi {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kSpace =
    R"({"General":{"BenchmarkName":"k"},"ConfigurationSpace":{"TuningParameters":[)"
    R"({"Name":"block","Type":"int","Values":[1,2,4,8,16,32]},)"
    R"({"Name":"order","Type":"string","Values":["rows","columns"]},)"
    R"({"Name":"factor","Type":"float","Values":[0.5,1.5]}],)"
    R"("Conditions":[{"Expression":"block < 32 or order == 'rows'"}]}})";
constexpr int kConfigs = 22;

class TaskTest : public CapiTest {
 protected:
  api::TuningOptions Options() const {
    api::TuningOptions options{"kernel", kSpace};
    options.environment = R"({"match":{"gpu":"A"},"differ":{"driver":1}})";
    options.strategy = "random";
    return options;
  }
  api::Tuning Open(const api::TuningOptions& options) {
    auto task = api::Tuning::Open(path_, options, status_);
    EXPECT_TRUE(task.has_value()) << status_.message;
    return *std::move(task);
  }
  /// Seconds of a config: fastest at block 8, columns.
  static double SecondsOf(const api::Proposal& config) {
    const auto block = static_cast<double>(config.Integer("block").value_or(0));
    return 1 + std::abs(block - 8) + (config.Text("order") == "rows" ? 0.5 : 0) +
           config.Real("factor").value_or(0) / 10;
  }
  void Measure(api::Tuning& task, int count) {
    for (int i = 0; i < count; ++i) {
      const auto config = task.Ask(status_);
      ASSERT_TRUE(config.has_value()) << status_.message;
      const double seconds = SecondsOf(*config);
      const auto told = task.Tell(config->number(), {{{"time", {1e3 * seconds}, "ms"}}});
      ASSERT_TRUE(told.ok()) << told.message;
    }
  }
  api::AnswerPtr Query(const api::Tuning& task, std::uint32_t accept = TW_ACCEPT_MEASURED) {
    tw_query_options options = TW_QUERY_OPTIONS_INIT;
    options.accept = accept;
    auto answer = task.Query(catalog_.get(), status_, &options);
    EXPECT_NE(answer, nullptr) << status_.message;
    return answer;
  }
  api::Status status_;
};

TEST_F(TaskTest, AskedTellsAreRecordsAndServed) {
  api::Tuning task = Open(Options());
  Measure(task, kConfigs);
  EXPECT_FALSE(task.Ask(status_).has_value());
  EXPECT_EQ(status_.code, TW_NOT_FOUND);
  const auto records = task.Records(status_);
  ASSERT_EQ(records.size(), static_cast<std::size_t>(kConfigs));
  EXPECT_EQ(records[0].environment, R"({"match":{"gpu":"A"},"differ":{"driver":"1"}})");
  EXPECT_EQ(records[0].metric, "seconds");
  EXPECT_EQ(records[0].samples.size(), 1u);
  Add(path_);
  const auto answer = Query(task);
  EXPECT_EQ(tw_answer_kind(answer.get()), TW_KIND_HIT);
  EXPECT_THAT(tw_answer_config(answer.get()),
              AllOf(HasSubstr("\"block\":8"), HasSubstr("columns")));
  // The same by the key and the target of the task.
  tw_answer* by_key = nullptr;
  ASSERT_EQ(
      tw_query_key(catalog_.get(), task.target(), task.key().c_str(), nullptr, &by_key, &error_),
      TW_OK)
      << error_.message;
  EXPECT_STREQ(tw_answer_config(by_key), tw_answer_config(answer.get()));
  tw_answer_free(by_key);
}

TEST_F(TaskTest, VerdictsAndAccuracyAreStored) {
  api::Tuning task = Open(Options());
  for (std::int32_t verdict = TW_VERDICT_COMPILE; verdict <= TW_VERDICT_CONSTRAINTS; ++verdict) {
    const auto config = task.Ask(status_);
    ASSERT_TRUE(config.has_value());
    ASSERT_TRUE(task.Tell(config->number(), {{}, verdict, "why not", 0.25}).ok());
  }
  const std::string config = R"({"block":4,"order":"rows","factor":0.5})";
  ASSERT_TRUE(task.Record(config, {{{"seconds", {3, 1, 2}}}, TW_VERDICT_OK, "", 1e-6}).ok());
  const auto records = task.Records(status_);
  ASSERT_EQ(records.size(), 6u);
  for (std::int32_t i = 0; i < 5; ++i) {
    const auto& record = records[static_cast<std::size_t>(i)];
    EXPECT_EQ(record.verdict, i + 1);
    EXPECT_EQ(record.reason, "why not");
    EXPECT_EQ(record.max_abs_error, 0.25);
  }
  EXPECT_EQ(records[5].config, config);
  EXPECT_EQ(records[5].max_abs_error, 1e-6);
  EXPECT_EQ(records[5].samples, (std::vector<double>{3, 1, 2}));
}

TEST_F(TaskTest, HandlesShareTheSearchAndContinueIt) {
  api::Tuning one = Open(Options()), other = Open(Options());
  std::set<std::string> asked;
  for (int i = 0; i < kConfigs; ++i) {
    const auto config = (i % 2 == 0 ? one : other).Ask(status_);
    ASSERT_TRUE(config.has_value()) << status_.message;
    EXPECT_EQ(config->number(), i);
    EXPECT_TRUE(asked.insert(config->json()).second) << config->json();
    // Any handle may tell.
    ASSERT_TRUE((i % 3 == 0 ? one : other).Tell(i, {{{"seconds", {1}}}}).ok());
    EXPECT_EQ(one.Tell(i, {{{"seconds", {1}}}}).message,
              "proposal " + std::to_string(i) + " has a result already");
  }
  api::Tuning third = Open(Options());
  EXPECT_FALSE(third.Ask(status_).has_value());
  EXPECT_EQ(third.Records(status_).size(), static_cast<std::size_t>(kConfigs));
}

TEST_F(TaskTest, ProposalsOfEndedProcessesComeAgain) {
  api::Tuning task = Open(Options());
  const pid_t child = ::fork();
  if (child == 0) {
    api::Status status;
    bool fine = true;
    for (int i = 0; i < 3; ++i) fine = fine && task.Ask(status).has_value();
    ::_exit(fine ? 0 : 1);
  }
  int end = 0;
  ASSERT_EQ(::waitpid(child, &end, 0), child);
  ASSERT_EQ(end, 0);
  std::set<std::string> asked;
  for (int i = 0; i < kConfigs; ++i) {
    const auto config = task.Ask(status_);
    ASSERT_TRUE(config.has_value()) << i << ": " << status_.message;
    EXPECT_TRUE(asked.insert(config->json()).second) << config->json();
    EXPECT_GE(config->number(), 3);
  }
  EXPECT_FALSE(task.Ask(status_).has_value());
}

// A search for processes that have ended finds none just before.
TEST_F(TaskTest, TheLastConfigComesAgainRightAfterItsProcessEnds) {
  api::Tuning task = Open(Options());
  for (int i = 1; i < kConfigs; ++i) ASSERT_TRUE(task.Ask(status_).has_value());
  int taken[2], end[2];
  ASSERT_EQ(::pipe(taken), 0);
  ASSERT_EQ(::pipe(end), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    api::Status status;
    char byte = task.Ask(status).has_value() ? 'y' : 'n';
    if (::write(taken[1], &byte, 1) != 1) ::_exit(1);
    ::_exit(::read(end[0], &byte, 1) == 1 ? 0 : 1);
  }
  char byte = 'n';
  ASSERT_EQ(::read(taken[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_FALSE(task.Ask(status_).has_value());
  EXPECT_EQ(status_.code, TW_NOT_FOUND) << status_.message;
  ASSERT_EQ(::write(end[1], "x", 1), 1);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(task.Ask(status_).has_value()) << status_.message;
  for (const int file : {taken[0], taken[1], end[0], end[1]}) ::close(file);
}

TEST_F(TaskTest, OneOfTwoProcessesTellsANumber) {
  api::Tuning task = Open(Options());
  ASSERT_TRUE(task.Ask(status_).has_value());
  int start[2];
  ASSERT_EQ(::pipe(start), 0);
  pid_t children[2];
  for (pid_t& child : children) {
    child = ::fork();
    if (child == 0) {
      ::close(start[1]);
      api::Status status;
      auto own = api::Tuning::Open(path_, Options(), status);
      char byte = 0;
      if (!own.has_value() || ::read(start[0], &byte, 1) != 0) ::_exit(100);
      ::_exit(own->Tell(0, {{{"seconds", {1}}}}).code);
    }
  }
  ::close(start[0]);
  ::usleep(50'000);  // both wait
  ::close(start[1]);
  std::multiset<int> codes;
  for (const pid_t child : children) {
    int end = 0;
    ASSERT_EQ(::waitpid(child, &end, 0), child);
    codes.insert(WEXITSTATUS(end));
  }
  EXPECT_EQ(codes, (std::multiset<int>{TW_OK, TW_INVALID_ARGUMENT}));
  EXPECT_EQ(task.Records(status_).size(), 1u);
}

TEST_F(TaskTest, ForgedLogsAreCorrupt) {
  for (const bool tells : {true, false}) {
    path_ = folder_->path() + (tells ? "/tells.db" : "/asks.db");
    api::Tuning task = Open(Options());
    Measure(task, 1);
    ASSERT_TRUE(task.Ask(status_).has_value());
    auto store = records::Store::Open(path_, records::Store::Mode::kReadWrite);
    ASSERT_TRUE(store.ok()) << store.status().message();
    const std::int64_t job = (*store->Jobs())[0].id;
    records::LogEntry forged = (*store->LogOfKind(job, tells ? "tell" : "ask"))[0];
    if (tells) {  // of the other proposal, with a point that is in no space
      forged.payload.replace(forged.payload.find("\"batch\":0"), 9, "\"batch\":1");
      forged.payload.replace(forged.payload.find("\"point\":[0,"), 11, "\"point\":[999,");
    }
    ASSERT_TRUE(store->Append(job, {}, {forged}).ok());
    EXPECT_FALSE(task.Ask(status_).has_value());
    EXPECT_EQ(status_.code, TW_CORRUPT) << status_.message;
  }
}

TEST_F(TaskTest, AConfigWhoseClaimFailedComesAgain) {
  api::Tuning task = Open(Options());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit full = before;
  full.rlim_cur = 1;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const bool asked = task.Ask(status_).has_value();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(asked);
  EXPECT_EQ(status_.code, TW_UNAVAILABLE) << status_.message;
  for (int i = 0; i < kConfigs; ++i) {
    ASSERT_TRUE(task.Ask(status_).has_value()) << i << ": " << status_.message;
  }
}

TEST_F(TaskTest, TheStoreStaysInAnotherWorkingDirectory) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_->path());
  path_ = "relative.db";
  api::Tuning task = Open(Options());
  std::filesystem::create_directory("other");
  std::filesystem::current_path("other");
  Measure(task, 1);
  EXPECT_FALSE(std::filesystem::exists("relative.db"));
  std::filesystem::current_path(before);
}

TEST_F(TaskTest, ToldResultsSurviveKill) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    api::Status status;
    auto task = api::Tuning::Open(path_, Options(), status);
    while (task.has_value()) {
      const auto config = task->Ask(status);
      if (!config.has_value() || !task->Tell(config->number(), {{{"seconds", {1}}}}).ok()) break;
      if (::write(pipe[1], "x", 1) != 1) break;
    }
    ::_exit(1);
  }
  ::close(pipe[1]);
  char told = 0;
  for (int i = 0; i < 5; ++i) ASSERT_EQ(::read(pipe[0], &told, 1), 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  std::size_t count = 5;
  while (::read(pipe[0], &told, 1) == 1) ++count;
  ::close(pipe[0]);
  api::Tuning task = Open(Options());
  EXPECT_GE(task.Records(status_).size(), count);
}

TEST_F(TaskTest, OtherSizesAndEnvironmentsAreNearHits) {
  api::TuningOptions options = Options();
  options.problem = R"({"m":512,"dtype":"half"})";
  api::Tuning task = Open(options);
  Measure(task, kConfigs);
  Add(path_);
  const auto expect = [&](const api::TuningOptions& asked, tw_kind kind, double slowdown,
                          const std::string& text) {
    const auto answer = Query(Open(asked));
    EXPECT_EQ(tw_answer_kind(answer.get()), kind) << tw_answer_explanation(answer.get());
    if (kind == TW_KIND_NEAR) {
      EXPECT_NEAR(tw_answer_expected_slowdown(answer.get()), slowdown, 1e-9);
      EXPECT_THAT(tw_answer_config(answer.get()), HasSubstr("\"block\":8"));
    }
    EXPECT_THAT(tw_answer_explanation(answer.get()), HasSubstr(text));
  };
  api::TuningOptions size = options, type = options, driver = options, gpu = options;
  size.problem = R"({"dtype":"half","m":2048})";
  expect(size, TW_KIND_NEAR, 1.2 * 1.2,
         "config of the nearest tuned workload 'kernel dtype=half m=512'");
  type.problem = R"({"m":512,"dtype":"float"})";
  expect(type, TW_KIND_MISS, 0, "no record of this workload");
  driver.environment = R"({"match":{"gpu":"A"},"differ":{"driver":2}})";
  expect(driver, TW_KIND_NEAR, 1.15, "on 'driver=1 gpu=A'");
  gpu.environment = R"({"match":{"gpu":"B"},"differ":{"driver":1}})";
  expect(gpu, TW_KIND_MISS, 0, "another device");
}

// One workload may have several spaces.
TEST_F(TaskTest, ANearConfigIsInTheAskedSpace) {
  const auto with = [&](const std::string& values, const char* problem) {
    api::TuningOptions options = Options();
    options.space = R"({"General":{"BenchmarkName":"k"},"ConfigurationSpace":{"TuningParameters":[)"
                    R"({"Name":"block","Type":"int","Values":[)" +
                    values + R"(]}],"Conditions":[]}})";
    options.problem = problem;
    return options;
  };
  api::Tuning tuned = Open(with("8,16", R"({"m":512})"));
  ASSERT_TRUE(tuned.Ask(status_).has_value());
  ASSERT_TRUE(tuned.Tell(0, {{{"seconds", {1}}}}).ok());
  api::Tuning same = Open(with("8,16", R"({"m":600})")),
              other = Open(with("32,64", R"({"m":600})"));
  Add(path_);
  EXPECT_EQ(tw_answer_kind(Query(same).get()), TW_KIND_NEAR);
  EXPECT_EQ(tw_answer_kind(Query(other).get()), TW_KIND_MISS);
}

TEST_F(TaskTest, WarmStartBeginsWithTheBestOfOtherEnvironments) {
  api::TuningOptions options = Options();
  api::Tuning task = Open(options);
  Measure(task, kConfigs);
  options.environment = R"({"match":{"gpu":"B"}})";
  options.strategy = "auto";
  for (const bool warm : {true, false}) {
    options.warm_start = warm;
    options.environment = warm ? R"({"match":{"gpu":"B"}})" : R"({"match":{"gpu":"C"}})";
    const auto config = Open(options).Ask(status_);
    ASSERT_TRUE(config.has_value());
    const std::string best = R"({"block":8,"order":"columns","factor":0.5})";
    EXPECT_EQ(config->json() == best, warm) << config->json();
  }
}

TEST_F(TaskTest, ThreadsWithOneHandleLoseNothing) {
  api::Tuning task = Open(Options());
  std::vector<std::thread> threads;
  std::atomic<int> told{0}, duplicates{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      api::Status status;
      while (const auto config = task.Ask(status)) {
        const api::Measurement result{{{"seconds", {SecondsOf(*config)}}}};
        if (task.Tell(config->number(), result).ok()) ++told;
        if (task.Tell(config->number(), result).ok()) ++duplicates;
      }
      EXPECT_EQ(status.code, TW_NOT_FOUND) << status.message;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, kConfigs);
  EXPECT_EQ(duplicates, 0);
  EXPECT_EQ(task.Records(status_).size(), static_cast<std::size_t>(kConfigs));
}

TEST_F(TaskTest, SeveralMetricsAreRecorded) {
  api::TuningOptions options = Options();
  options.metrics = "seconds,size[B]";
  api::Tuning task = Open(options);
  const auto config = task.Ask(status_);
  ASSERT_TRUE(config.has_value());
  EXPECT_THAT(task.Tell(config->number(), {{{"seconds", {1}}}}).message, HasSubstr("no \"size\""));
  ASSERT_TRUE(task.Tell(config->number(), {{{"seconds", {1}}, {"size", {2}, "KiB"}}}).ok());
  const auto records = task.Records(status_);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].others, R"({"size[B]":2048.0})");
}

TEST_F(TaskTest, AMetricMayHaveTheNameOfAMember) {
  api::TuningOptions options = Options();
  options.metrics = "seconds,error";
  api::Tuning task = Open(options);
  const auto config = task.Ask(status_);
  ASSERT_TRUE(config.has_value());
  const auto told =
      task.Tell(config->number(), {{{"seconds", {1}}, {"error", {0.5}}}, TW_VERDICT_OK, "", 1e-3});
  ASSERT_TRUE(told.ok()) << told.message;
  const auto records = task.Records(status_);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].others, R"({"error":0.5})");
  EXPECT_EQ(records[0].max_abs_error, 1e-3);
}

TEST_F(TaskTest, InvalidOptionsAreErrorsThatNameThem) {
  const auto expect = [&](const char* text, auto change) {
    api::TuningOptions options = Options();
    change(options);
    EXPECT_FALSE(api::Tuning::Open(path_, options, status_).has_value()) << text;
    EXPECT_THAT(status_.message, HasSubstr(text));
  };
  expect("name: ''", [](auto& options) { options.name = ""; });
  expect("name: 'a b'", [](auto& options) { options.name = "a b"; });
  expect("space: ", [](auto& options) { options.space = "{"; });
  expect("problem: expected a JSON object", [](auto& options) { options.problem = "[1]"; });
  expect("problem: \"m\"", [](auto& options) { options.problem = R"({"m":[1]})"; });
  expect("environment: expected at least one", [](auto& options) { options.environment = "{}"; });
  expect("\"gpu\" twice",
         [](auto& options) { options.environment = R"({"match":{"gpu":1},"differ":{"gpu":2}})"; });
  expect("metric: seconds twice", [](auto& options) { options.metrics = "seconds,seconds"; });
  expect("expected auto, genetic", [](auto& options) { options.strategy = "model"; });
  expect("the name is not UTF-8 at byte 1", [](auto& options) { options.name = "a\xff"; });
  expect("none.db: no such record store",
         [](auto& options) { options.warm_stores = {"/tilewright/none.db"}; });
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(TaskTest, WarmStoresAreCheckedWhenTheTaskIsOpened) {
  const std::string damaged = path_ + ".damaged";
  std::ofstream(damaged) << "no store";
  for (const bool warm : {true, false}) {
    api::TuningOptions options = Options();
    options.warm_start = warm;
    options.warm_stores = {damaged};
    EXPECT_FALSE(api::Tuning::Open(path_, options, status_).has_value());
    EXPECT_EQ(status_.code, TW_CORRUPT) << status_.message;
    EXPECT_THAT(status_.message, AllOf(HasSubstr("warm store"), HasSubstr(damaged)));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(TaskTest, HostileArgumentsAreErrorsAndStoreNothing) {
  api::Tuning task = Open(Options());
  tw_tuning* handle = const_cast<tw_tuning*>(task.get());
  const auto config = task.Ask(status_);
  ASSERT_TRUE(config.has_value());
  const auto expect = [&](const char* text, auto change) {
    const double sample = 1;
    tw_value value = {"seconds", nullptr, &sample, 1};
    tw_measurement result = TW_MEASUREMENT_INIT;
    result.values = &value;
    result.value_count = 1;
    change(result, value);
    EXPECT_EQ(tw_tuning_tell(handle, config->number(), &result, &error_), TW_INVALID_ARGUMENT)
        << text;
    EXPECT_THAT(error_.message, HasSubstr(text));
  };
  static const double kNan = std::nan(""), kInfinite = HUGE_VAL, kNegative = -1;
  expect("struct_size 3", [](auto& result, auto&) { result.struct_size = 3; });
  expect("verdict 77", [](auto& result, auto&) { result.verdict = 77; });
  expect("the values are null", [](auto& result, auto&) { result.values = nullptr; });
  expect("values, expected", [](auto& result, auto&) { result.value_count = SIZE_MAX; });
  expect("no \"seconds\"", [](auto& result, auto&) { result.value_count = 0; });
  expect("max_abs_error", [](auto& result, auto&) { result.max_abs_error = kNan; });
  expect("max_abs_error", [](auto& result, auto&) { result.max_abs_error = -1; });
  expect("samples are null", [](auto&, auto& value) { value.samples = nullptr; });
  expect("0 samples", [](auto&, auto& value) { value.sample_count = 0; });
  expect("samples, expected", [](auto&, auto& value) { value.sample_count = SIZE_MAX / 8; });
  expect("not a positive number", [](auto&, auto& value) { value.samples = &kNan; });
  expect("not a positive number", [](auto&, auto& value) { value.samples = &kInfinite; });
  expect("not a positive number", [](auto&, auto& value) { value.samples = &kNegative; });
  expect("the name of a value is null", [](auto&, auto& value) { value.name = nullptr; });
  expect("the name of a value is not UTF-8", [](auto&, auto& value) { value.name = "\xc0\x80"; });
  expect("has the unit parsec", [](auto&, auto& value) { value.unit = "parsec"; });
  // Values that no reader of records accepts.
  static const double kFast = 0.4, kApart[] = {1e-5, 1e-5, 1e-5, 1e-5, 1e305, 1e305};
  expect("no device does it faster", [](auto&, auto& value) {
    value.samples = &kFast;
    value.unit = "ns";
  });
  expect("its noise is not a number", [](auto&, auto& value) {
    value.samples = kApart;
    value.sample_count = std::size(kApart);
  });

  const tw_measurement fine = TW_MEASUREMENT_INIT;
  EXPECT_EQ(tw_tuning_tell(handle, config->number(), nullptr, &error_), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_tuning_tell(nullptr, config->number(), &fine, &error_), TW_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.message, "the task is null");
  for (const std::int64_t number : {std::int64_t{-1}, std::int64_t{1}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(task.Tell(number, {{{"seconds", {1}}}}).code, TW_NOT_FOUND) << number;
  }
  EXPECT_THAT(task.Record("{}", {{{"seconds", {1}}}}).message, HasSubstr("no value of parameter"));
  EXPECT_THAT(task.Record(R"({"block":3})", {{{"seconds", {1}}}}).message, HasSubstr("no value 3"));
  EXPECT_THAT(
      task.Record(R"({"block":4,"order":"rows","factor":0.5})", {{{"seconds", {1e-10}}}}).message,
      HasSubstr("no device does it faster"));
  EXPECT_THAT(
      task.Record(R"({"block":32,"order":"columns","factor":0.5})", {{{"seconds", {1}}}}).message,
      HasSubstr("it violates the condition"));
  EXPECT_EQ(tw_tuning_record(handle, nullptr, &fine, &error_), TW_INVALID_ARGUMENT);
  EXPECT_TRUE(task.Records(status_).empty());
  EXPECT_TRUE(task.Tell(config->number(), {{{"seconds", {1}}}}).ok());
}

TEST_F(TaskTest, HandlesThatDoNotExistAreErrors) {
  tw_tuning* freed = nullptr;
  {
    api::Tuning task = Open(Options());
    freed = const_cast<tw_tuning*>(task.get());
  }
  tw_proposal* config = nullptr;
  tw_records* records = nullptr;
  tw_answer* answer = nullptr;
  const tw_measurement result = TW_MEASUREMENT_INIT;
  std::int64_t integer = 0;
  tw_trial trial = TW_TRIAL_INIT;
  auto* const none = reinterpret_cast<tw_proposal*>(std::uintptr_t{16});
  EXPECT_EQ(tw_tuning_ask(freed, &config, &error_), TW_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.message, "the task does not exist, or was freed");
  EXPECT_EQ(tw_tuning_tell(freed, 0, &result, &error_), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_tuning_records(freed, &records, &error_), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_query_tuning(catalog_.get(), freed, nullptr, &answer, &error_), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_proposal_integer(none, "block", &integer, &error_), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_records_at(nullptr, 0, &trial, &error_), TW_INVALID_ARGUMENT);
  EXPECT_EQ(tw_proposal_number(none), -1);
  EXPECT_STREQ(tw_proposal_json(none), "");
  EXPECT_EQ(tw_proposal_text(none, "block"), nullptr);
  EXPECT_STREQ(tw_tuning_key(freed), "");
  EXPECT_EQ(tw_tuning_target(freed), nullptr);
  EXPECT_EQ(tw_records_count(nullptr), 0u);
  EXPECT_STREQ(tw_verdict_name(-5), "unknown verdict");
  tw_proposal_free(none);
  tw_tuning_free(freed);
  tw_records_free(nullptr);
  EXPECT_EQ(tw_tuning_open("", nullptr, &freed, &error_), TW_INVALID_ARGUMENT);
  EXPECT_EQ(freed, nullptr);
}

}  // namespace
}  // namespace tilewright::capi
