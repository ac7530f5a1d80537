// task_stress STORE SECONDS [WRITERS READERS KILL_SECONDS]: that many writing and reading threads
// (64 and 32), four to a process, use one task of one store through the C interface. Writers are
// killed with SIGKILL and replaced all the time. Afterwards every result that a tell has
// acknowledged must be a record, once and as it was told.
//
// The seconds of a result state the number of its proposal, and each acknowledged number is
// appended to a file at once, which the kernel keeps when the process is killed.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "include/tilewright/tilewright.hpp"

namespace {

namespace api = tilewright::api;
using Clock = std::chrono::steady_clock;

constexpr int kThreads = 4;     // of a process
constexpr const char* kSpace =  // 10^9 configs
    R"({"ConfigurationSpace":{"TuningParameters":[)"
    R"({"Name":"a","Type":"int","Values":"[i for i in range(64)]"},)"
    R"({"Name":"b","Type":"int","Values":"[i for i in range(64)]"},)"
    R"({"Name":"c","Type":"int","Values":"[i for i in range(64)]"},)"
    R"({"Name":"d","Type":"int","Values":"[i for i in range(64)]"},)"
    R"({"Name":"e","Type":"int","Values":"[i for i in range(64)]"})"
    R"(],"Conditions":[{"Expression":"a != b"}]}})";

/// Result that a thread had acknowledged, or read.
struct Line {
  std::int64_t number;  ///< of a proposal; below 0: see the kinds
  std::int64_t microseconds;
};
constexpr std::int64_t kRead = -1, kError = -2;

double SecondsOf(std::int64_t number) { return static_cast<double>(number + 1) / 1024; }

void Put(int file, Line line) {
  if (::write(file, &line, sizeof line) != sizeof line) std::abort();
}

std::int64_t MicrosecondsSince(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
}

void Report(const char* what, const api::Status& status, int file) {
  std::fprintf(stderr, "%s: %s: %s\n", what, tw_code_name(status.code), status.message.c_str());
  Put(file, {kError, status.code});
}

api::TuningOptions Options() {
  api::TuningOptions options{"stress", kSpace};
  options.strategy = "random";
  options.environment = R"({"match":{"gpu":"A"}})";
  return options;
}

void Write(api::Tuning& task, int file, Clock::time_point end) {
  api::Status status;
  do {  // at least once, however slow the machine is
    const auto start = Clock::now();
    const auto config = task.Ask(status);
    if (!config.has_value()) return Report("ask", status, file);
    const std::int64_t number = config->number();
    const bool fails = number % 7 == 3;
    const api::Measurement result =
        fails ? api::Measurement{{}, TW_VERDICT_COMPILE, std::to_string(number)}
              : api::Measurement{{{"seconds", {SecondsOf(number), SecondsOf(number)}}}};
    status = task.Tell(number, result);
    if (!status.ok()) return Report("tell", status, file);
    Put(file, {number, MicrosecondsSince(start)});
  } while (Clock::now() < end);
}

void Read(const std::string& store, int file, Clock::time_point end, bool all) {
  api::Status status;
  const auto task = api::Tuning::Open(store, Options(), status);
  if (!task.has_value()) return Report("open", status, file);
  tw_catalog* made = nullptr;
  tw_error error = TW_ERROR_INIT;
  tw_catalog_create(&made, &error);
  const api::CatalogPtr catalog(made);
  if (tw_catalog_add_store(made, store.c_str(), &error) != TW_OK) {
    return Report("add_store", {error.code, error.message}, file);
  }
  double best = 1e300;
  std::size_t records = 0;
  do {  // at least once, however slow the machine is
    const auto start = Clock::now();
    const auto answer = task->Query(made, status);
    if (answer == nullptr) return Report("query", status, file);
    if (tw_answer_kind(answer.get()) == TW_KIND_HIT) {
      tw_record record = TW_RECORD_INIT;
      tw_answer_record(answer.get(), &record, nullptr);
      if (record.value > best) return Report("query", {TW_INTERNAL, "a record was lost"}, file);
      best = record.value;
    }
    Put(file, {kRead, MicrosecondsSince(start)});
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // readers leave time to writers
    if (!all) continue;
    const std::size_t now = const_cast<api::Tuning&>(*task).Records(status).size();
    if (!status.ok() || now < records) return Report("records", status, file);
    records = now;
  } while (Clock::now() < end);
}

/// Starts a process of four writers or readers.
pid_t Start(const std::string& store, int file, Clock::time_point end, bool writes, bool all) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  std::vector<std::thread> threads;
  if (writes) {
    api::Status status;
    auto task = api::Tuning::Open(store, Options(), status);
    if (!task.has_value()) {
      Report("open", status, file);
      ::_exit(1);
    }
    for (int i = 0; i < kThreads; ++i) threads.emplace_back([&] { Write(*task, file, end); });
    for (std::thread& thread : threads) thread.join();
    ::_exit(0);
  }
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { Read(store, file, end, all && i == 0); });
  }
  for (std::thread& thread : threads) thread.join();
  ::_exit(0);
}

void PrintQuantiles(const char* what, std::vector<std::int64_t>& microseconds, double seconds) {
  std::ranges::sort(microseconds);
  if (microseconds.empty()) return;
  const auto at = [&](double share) {
    const auto i = static_cast<std::size_t>(share * static_cast<double>(microseconds.size() - 1));
    return static_cast<double>(microseconds[i]) / 1000;
  };
  std::printf("%s: %zu, %.0f/s, p50 %.2f ms, p99 %.2f ms, max %.2f ms\n", what, microseconds.size(),
              static_cast<double>(microseconds.size()) / seconds, at(0.5), at(0.99), at(1));
}

/// Compares what was acknowledged with the records. Returns the number of differences.
int Judge(const std::string& store, const std::vector<Line>& lines, double seconds) {
  std::vector<std::int64_t> writes, reads;
  int bad = 0;
  std::map<std::int64_t, int> told;
  for (const Line& line : lines) {
    if (line.number == kError) ++bad;
    if (line.number == kRead) reads.push_back(line.microseconds);
    if (line.number < 0) continue;
    writes.push_back(line.microseconds);
    if (++told[line.number] > 1) {
      std::printf("proposal %lld was acknowledged twice\n", static_cast<long long>(line.number));
      ++bad;
    }
  }
  api::Status status;
  auto task = api::Tuning::Open(store, Options(), status);
  const auto records = task.has_value() ? task->Records(status) : std::vector<api::Trial>();
  std::map<std::int64_t, int> stored;
  std::map<std::string, int> configs;
  for (const api::Trial& record : records) {
    const bool ok = record.verdict == TW_VERDICT_OK;
    const std::int64_t number = ok ? static_cast<std::int64_t>(record.value * 1024 + 0.5) - 1
                                   : std::atoll(record.reason.c_str());
    if (++stored[number] > 1 || ++configs[record.config] > 1 || ok != (number % 7 != 3) ||
        (ok && record.samples != std::vector<double>(2, SecondsOf(number)))) {
      std::printf("record %s is not what was told, or is there twice\n", record.id.c_str());
      ++bad;
    }
  }
  std::size_t lost = 0;
  for (const auto& [number, count] : told) lost += stored.contains(number) ? 0 : 1;
  PrintQuantiles("asked and told", writes, seconds);
  PrintQuantiles("queried", reads, seconds);
  std::printf("%zu acknowledged, %zu records, %zu lost, %d errors\n", told.size(), records.size(),
              lost, bad);
  return bad + static_cast<int>(lost) + (told.empty() || reads.empty() ? 1 : 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string store = argv[1], acknowledged = store + ".told";
  const double seconds = std::atof(argv[2]);
  const int writers = (argc > 3 ? std::atoi(argv[3]) : 64) / kThreads;
  const int readers = (argc > 4 ? std::atoi(argv[4]) : 32) / kThreads;
  const double kill_seconds = argc > 5 ? std::atof(argv[5]) : 0.2;
  const int file =
      ::open(acknowledged.c_str(), O_RDWR | O_CREAT | O_APPEND | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return 2;
  const auto start = Clock::now();
  const auto end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<pid_t> children(static_cast<std::size_t>(writers));
  std::vector<pid_t> reading;
  for (pid_t& child : children) child = Start(store, file, end, true, false);
  for (int i = 0; i < readers; ++i) reading.push_back(Start(store, file, end, false, i == 0));
  std::mt19937 random(1);  // NOLINT: the same kills in every run
  int kills = 0;
  while (Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::duration<double>(kill_seconds));
    pid_t& child = children[random() % children.size()];
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ++kills;
    child = Start(store, file, end, true, false);
  }
  int crashes = 0;
  for (const auto* list : {&children, &reading}) {
    for (const pid_t child : *list) {
      int status = 0;
      ::waitpid(child, &status, 0);
      crashes += status == 0 ? 0 : 1;
    }
  }
  std::vector<Line> lines(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)) / sizeof(Line));
  ::lseek(file, 0, SEEK_SET);
  for (Line& line : lines) {
    if (::read(file, &line, sizeof line) != sizeof line) return 1;
  }
  ::close(file);
  std::printf("%d writers, %d readers, %.0f s, %d processes killed, %d crashed\n",
              writers * kThreads, readers * kThreads, seconds, kills, crashes);
  const int bad = Judge(store, lines, seconds) + crashes;
  return bad == 0 ? 0 : 1;
}
