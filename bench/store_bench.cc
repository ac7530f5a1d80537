// Writes of many processes to one store, where each batch is acknowledged when it is durable; and
// the time to open packages.
//
//   store_bench write [PROCESSES] [RECORDS] [FOLDER]   default 32, 10,000 each, the current
//   directory
//   store_bench package [RECORDS] [FOLDER]             default 10,000
//
// Bars: no lost record, no duplicate, no error, >= 20,000 records/s in all; a package of 10,000
// records opens in <= 5 ms.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bench/sample_workloads.h"
#include "records/package/build.h"
#include "records/package/catalog.h"
#include "records/package/installed.h"
#include "records/store.h"
#include "src/base/files/file.h"
#include "src/base/random.h"
#include "src/base/strings.h"
#include "src/target/device.h"
#include "src/templates/registry.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

using records::Store;

constexpr std::size_t kBatch = 64;

/// Generator of trials as a tuner produces them: a process works on a few tasks at a time.
class TrialMaker {
 public:
  TrialMaker(std::uint64_t seed, int tasks) : random_(seed) {
    device_ = ProbeHostCpu();
    const Target target = *Target::Parse("native");
    for (int i = 0; i < tasks; ++i) {
      const int w = static_cast<int>(random_.Below(1000));
      workloads_.push_back({SampleWorkload(w), target});
      entries_.push_back(BuiltInTemplates().For(workloads_.back().workload, target).front());
      spaces_.push_back(*entries_.back()->define_space(workloads_.back().workload, target));
    }
  }
  Trial Make(std::int64_t attempt) {
    const auto at = static_cast<std::size_t>(attempt) / kBatch % workloads_.size();
    Trial trial;
    const auto size = static_cast<std::uint64_t>(spaces_[at].size());
    trial.candidate = {workloads_[at],
                       {},
                       std::string(entries_[at]->key),
                       entries_[at]->version,
                       spaces_[at].At(static_cast<std::int64_t>(random_.Below(size)))};
    trial.outcome = Outcome::kOk;
    trial.value = 1e-3 * (1 + random_.Uniform());
    trial.samples.assign(10, trial.value);
    trial.verified = true;
    trial.device = device_;
    trial.codegen_version = FindDeviceTraits("llvm").codegen_version;
    trial.attempt = attempt;
    trial.finished_unix_seconds = 1.75e9 + static_cast<double>(attempt);
    return trial;
  }

 private:
  Random random_;
  DeviceFingerprint device_;
  std::vector<Task> workloads_;
  std::vector<const TemplateEntry*> entries_;
  std::vector<ConfigSpace> spaces_;
};

/// Result that a writing process reports at its end.
struct Told {
  std::int64_t acknowledged = 0, errors = 0;
  double slowest_seconds = 0;
};

/// Writes all records. They are created before the start signal, so the time is that of storing.
Told WriteAll(const std::string& path, int process, std::int64_t records, int start,
              records::Durability durability) {
  Told told;
  TrialMaker maker(static_cast<std::uint64_t>(process) + 1, 8);
  std::vector<std::vector<Trial>> batches;
  for (std::int64_t i = 0; i < records; ++i) {
    if (i % static_cast<std::int64_t>(kBatch) == 0) batches.emplace_back();
    batches.back().push_back(maker.Make(i));
  }
  auto store = Store::Open(path, Store::Mode::kReadWrite);
  auto job = store.ok() ? store->OpenJob("bench" + std::to_string(process), "{}", 1)
                        : Result<records::Job>(store.status());
  if (store.ok()) store->SetDurability(durability);
  char byte = 0;
  if (::read(start, &byte, 1) != 0 || !job.ok()) {  // the end of the file is the start signal
    std::fprintf(stderr, "%s\n", job.status().message().c_str());
    ++told.errors;
    return told;
  }
  for (const std::vector<Trial>& batch : batches) {
    const double before = Now();
    const Status status = store->Append(job->id, batch, {});
    told.slowest_seconds = std::max(told.slowest_seconds, Now() - before);
    if (status.ok()) {
      told.acknowledged += static_cast<std::int64_t>(batch.size());
    } else {
      ++told.errors;
      std::fprintf(stderr, "process %d: %s\n", process, status.message().c_str());
    }
  }
  return told;
}

struct Mode {
  records::Durability durability;
  const char* name;
};
constexpr Mode kModes[] = {
    {records::Durability::kDisk,
     "as shipped (synchronous=NORMAL, log synced before acknowledging)"},
    {records::Durability::kDiskInTurn, "synchronous=FULL"},
    {records::Durability::kSystem, "synchronous=NORMAL"},
};

int Write(int processes, std::int64_t records, const std::string& folder, const Mode& mode) {
  const std::string path = folder + "/store_bench.db";
  for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path + suffix).c_str());
  if (auto made = Store::Open(path, Store::Mode::kReadWrite); !made.ok()) {
    std::fprintf(stderr, "%s\n", made.status().message().c_str());
    return 1;
  }
  int start[2], results[2];
  if (::pipe(start) != 0 || ::pipe(results) != 0) return 1;
  for (int process = 0; process < processes; ++process) {
    if (::fork() != 0) continue;
    ::close(start[1]);
    const Told told = WriteAll(path, process, records, start[0], mode.durability);
    const bool written = ::write(results[1], &told, sizeof(told)) == sizeof(told);
    ::_exit(written ? 0 : 1);
  }
  ::close(results[1]);
  // Waits until all have created their trials; closing the pipe is the start signal.
  std::printf("%d processes make %lld trials each\n", processes, static_cast<long long>(records));
  std::fflush(stdout);
  ::sleep(static_cast<unsigned>(5 + processes * static_cast<int>(records / 1000) / 40));
  const double begin = Now();
  ::close(start[1]);
  Told all;
  for (int process = 0; process < processes; ++process) {
    Told told;
    if (::read(results[0], &told, sizeof(told)) != sizeof(told)) {
      ++all.errors;
      continue;
    }
    all.acknowledged += told.acknowledged;
    all.errors += told.errors;
    all.slowest_seconds = std::max(all.slowest_seconds, told.slowest_seconds);
  }
  const double seconds = Now() - begin;
  while (::wait(nullptr) > 0) continue;
  auto store = Store::Open(path, Store::Mode::kReadOnly);
  const std::int64_t stored = store.ok() ? *store->CountTrials({}) : -1;
  std::printf(
      "%s: %lld records acknowledged in %.2f s: %.0f records/s; %lld lost, %lld "
      "twice, %lld errors; slowest batch %.0f ms\n",
      mode.name, static_cast<long long>(all.acknowledged), seconds,
      static_cast<double>(all.acknowledged) / seconds,
      static_cast<long long>(std::max<std::int64_t>(0, all.acknowledged - stored)),
      static_cast<long long>(std::max<std::int64_t>(0, stored - all.acknowledged)),
      static_cast<long long>(all.errors), 1e3 * all.slowest_seconds);
  const bool sound = store.ok() && store->Check().ok();
  std::printf("integrity check: %s\n", sound ? "sound" : "NOT SOUND");
  for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path + suffix).c_str());
  return sound && all.errors == 0 && stored == all.acknowledged ? 0 : 1;
}

void DropFromCache(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  ::fsync(fd);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
}

void Print(const char* what, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  std::printf("%-44s p50 %8.3f ms  max %8.3f ms\n", what, 1e3 * seconds[seconds.size() / 2],
              1e3 * seconds.back());
}

int OpenPackages(std::int64_t records, const std::string& folder) {
  const std::string path = folder + "/package_bench.db", root = folder + "/package_bench";
  for (const char* suffix : {"", "-wal", "-shm"}) ::unlink((path + suffix).c_str());
  TrialMaker maker(1, 500);
  {
    auto store = Store::Open(path, Store::Mode::kReadWrite);
    if (!store.ok()) return 1;
    const std::int64_t job = store->OpenJob("bench", "{}", 1)->id;
    std::vector<Trial> trials;
    for (std::int64_t i = 0; i < records; ++i) trials.push_back(maker.Make(i));
    if (!store->Append(job, trials, {}).ok() || !store->FinishJob(job).ok()) return 1;
  }
  const double begin = Now();
  records::PackageOptions options;
  options.best = 0;
  auto built = records::BuildPackages(BuiltInTemplates(), {path}, options);
  if (!built.ok()) {
    std::fprintf(stderr, "%s\n", built.status().message().c_str());
    return 1;
  }
  const std::string& bytes = built->front().bytes;
  std::printf("%lld records: built in %.2f s, %.0f kB packed, %.0f kB unpacked\n",
              static_cast<long long>(built->front().manifest.trials), Now() - begin,
              1e-3 * static_cast<double>(bytes.size()),
              1e-3 * static_cast<double>(built->front().manifest.database_bytes));
  const records::TrustPolicy policy{{}, true};
  auto package = records::ReadPackage(bytes, policy);
  if (!package.ok()) return 1;
  auto installed = records::InstallPackage(*package, bytes, root, true);
  if (!installed.ok()) {
    std::fprintf(stderr, "%s\n", installed.status().message().c_str());
    return 1;
  }
  const DeviceFingerprint device = ProbeHostCpu();
  const Task task = maker.Make(0).candidate.task;
  std::vector<double> warm, cold, first, whole;
  for (int i = 0; i < 50; ++i) {
    for (const bool drop : {false, true}) {
      if (drop) DropFromCache(installed->package.DatabasePath());
      const double before = Now();
      auto store = records::OpenInstalled(installed->package);
      if (!store.ok()) return 1;
      (drop ? cold : warm).push_back(Now() - before);
      auto answer = store->Query(BuiltInTemplates(), task.workload, task.target, device);
      if (!answer.ok() || answer->kind != records::AnswerKind::kHit) return 1;
      if (drop) first.push_back(Now() - before);
    }
    const double before = Now();
    records::Catalog catalog;
    if (!catalog.AddInstalledFrom({root}).ok()) return 1;
    records::LookupRequest request;
    request.templates = &BuiltInTemplates();
    request.workload = &task.workload;
    request.target = &task.target;
    request.device = &device;
    auto answer = catalog.Query(request);
    if (!answer.ok() || answer->level != records::AnswerLevel::kHit) return 1;
    whole.push_back(Now() - before);
  }
  Print("open an installed package, warm", warm);
  Print("open an installed package, cold", cold);
  Print("cold, and first query", first);
  Print("list, open and first query (Catalog), warm", whole);
  std::vector<double> verified;
  for (int i = 0; i < 5; ++i) {
    const double before = Now();
    if (!records::ReadPackage(bytes, policy).ok()) return 1;
    verified.push_back(Now() - before);
  }
  Print("verify and unpack the package file", verified);
  (void)records::RemoveInstalled(installed->package).ok();
  ::unlink(path.c_str());
  return 0;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  const auto number = [&](int at, std::int64_t fallback) {
    const auto value = argc > at ? tilewright::ParseInt64(argv[at]) : fallback;
    return value.ok() && *value > 0 ? *value : fallback;
  };
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "write") {
    int failed = 0;
    for (const tilewright::Mode& mode : tilewright::kModes) {
      failed |= tilewright::Write(static_cast<int>(number(2, 32)), number(3, 10'000),
                                  argc > 4 ? argv[4] : ".", mode);
    }
    return failed;
  }
  if (what == "package") {
    std::string folder = argc > 3 ? argv[3] : ".";
    if (!folder.starts_with('/')) {
      char here[4096];
      folder = std::string(::getcwd(here, sizeof(here)) != nullptr ? here : "") + "/" + folder;
    }
    return tilewright::OpenPackages(number(2, 10'000), folder);
  }
  std::fprintf(stderr, "usage: store_bench write|package [...]\n");
  return 2;
}
