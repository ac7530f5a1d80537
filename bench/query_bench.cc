// Latency of queries in a store of a million trials: of Store::Query, and through the C interface.
//
//   query_bench [RECORDS [FOLDER]]
//
// Prints p50, p99 and max of warm queries and of cold opens with one query. With a FOLDER the store
// is kept there and reused. Bars: 8 threads on one handle, warm p99 <= 20 us, p50 from the cache <=
// 2 us; cold open <= 5 ms.

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/query_bench_handle.h"
#include "bench/sample_workloads.h"
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

// A network has about thirty tasks; a million trials is thirty networks of a thousand each.
constexpr int kWorkloads = 1000;

void Fill(Store& store, std::int64_t records, const Target& target,
          const DeviceFingerprint& device) {
  const std::int64_t job = store.OpenJob("bench", "{}", 1)->id;
  Random random(1);
  std::vector<Trial> batch;
  std::vector<ConfigSpace> spaces;
  std::vector<const TemplateEntry*> entries;
  for (int i = 0; i < kWorkloads; ++i) {
    entries.push_back(BuiltInTemplates().For(SampleWorkload(i), target).front());
    spaces.push_back(*entries.back()->define_space(SampleWorkload(i), target));
  }
  for (std::int64_t i = 0; i < records; ++i) {
    const int w = static_cast<int>(i % kWorkloads);
    const auto at = static_cast<std::size_t>(w);
    Trial trial;
    trial.candidate = {{SampleWorkload(w), target},
                       {},
                       std::string(entries[at]->key),
                       entries[at]->version,
                       spaces[at].At(static_cast<std::int64_t>(
                           random.Below(static_cast<std::uint64_t>(spaces[at].size()))))};
    trial.outcome = random.Below(10) == 0 ? Outcome::kRunTimeout : Outcome::kOk;
    trial.value = 1e-3 * (1 + random.Uniform());
    trial.samples.assign(10, trial.value);
    trial.verified = trial.outcome == Outcome::kOk;
    trial.device = device;
    trial.codegen_version = FindDeviceTraits("llvm").codegen_version;
    trial.attempt = i;
    batch.push_back(std::move(trial));
    if (batch.size() == 10'000 || i + 1 == records) {
      const Status status = store.Append(job, batch, {});
      if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
      batch.clear();
    }
  }
}

/// Creates the store if it does not exist.
Status MakeStore(const std::string& path, std::int64_t records, const Target& target,
                 const DeviceFingerprint& device) {
  if (FileExists(path)) {
    TW_ASSIGN_OR_RETURN(auto store, Store::Open(path, Store::Mode::kReadOnly));
    TW_ASSIGN_OR_RETURN(auto count, store.CountTrials({}));
    std::printf("%lld records found\n", static_cast<long long>(count));
    if (count == records) return {};
    return InvalidArgument(path + ": has another number of records");
  }
  const double start = Now();
  TW_ASSIGN_OR_RETURN(auto store, Store::Open(path, Store::Mode::kReadWrite));
  Fill(store, records, target, device);
  std::printf("%lld records written in %.1f s\n", static_cast<long long>(records), Now() - start);
  return {};
}

int Main(std::int64_t records, const std::string& folder) {
  const std::string path = folder + "/query_bench.db";
  const Target target = *Target::Parse("native");
  const DeviceFingerprint device = ProbeHostCpu();
  if (const Status made = MakeStore(path, records, target, device); !made.ok()) {
    std::fprintf(stderr, "%s\n", made.message().c_str());
    return 1;
  }

  std::vector<double> warm;
  std::int64_t hits = 0;
  {
    auto store = Store::Open(path, Store::Mode::kReadOnly);
    Random random(2);
    for (int i = 0; i < 60'000; ++i) {
      const Workload workload = SampleWorkload(static_cast<int>(random.Below(kWorkloads)));
      const double before = Now();
      auto answer = store->Query(BuiltInTemplates(), workload, target, device);
      const double seconds = Now() - before;
      if (i >= 10'000) warm.push_back(seconds);
      hits += answer.ok() && answer->kind == records::AnswerKind::kHit ? 1 : 0;
    }
  }
  PrintLatencies("warm query", warm);
  std::printf("hits: %lld of 60000\n", static_cast<long long>(hits));

  std::vector<double> opens;
  std::vector<double> firsts;
  for (int i = 0; i < 50; ++i) {
    DropFromCache(path);
    const double before = Now();
    auto store = Store::Open(path, Store::Mode::kReadOnly);
    opens.push_back(Now() - before);
    if (!store->Query(BuiltInTemplates(), SampleWorkload(i), target, device).ok()) return 1;
    firsts.push_back(Now() - before);
  }
  PrintLatencies("cold open", opens);
  PrintLatencies("cold open and first query", firsts);
  std::vector<std::string> keys;
  for (int i = 0; i < kWorkloads; ++i) keys.push_back(SampleWorkload(i).Key());
  return BenchHandle(path, keys);
}

}  // namespace

void PrintLatencies(const char* what, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const std::size_t n = seconds.size();
  std::printf("%-28s p50 %8.1f us  p99 %8.1f us  max %8.1f us  (%zu)\n", what, 1e6 * seconds[n / 2],
              1e6 * seconds[n * 99 / 100], 1e6 * seconds[n - 1], n);
}

void DropFromCache(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  ::fsync(fd);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
}

}  // namespace tilewright

int main(int argc, char** argv) {
  const auto records = argc > 1 ? tilewright::ParseInt64(argv[1]) : std::int64_t{1'000'000};
  auto folder = tilewright::ScopedTempDir::Create("tilewright-query-bench");
  if (!records.ok() || !folder.ok()) return 2;
  return tilewright::Main(*records, argc > 2 ? argv[2] : folder->path());
}
