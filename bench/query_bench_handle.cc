// C interface with 8 threads on one handle. Latencies are per call, over all threads. On fewer
// cores than threads, the largest latencies include the wait for a core.

#include "bench/query_bench_handle.h"

#include <cstdio>
#include <functional>
#include <thread>

#include "bench/sample_workloads.h"
#include "include/tilewright/tilewright.h"
#include "src/base/clock.h"
#include "src/base/random.h"
#include "src/capi/catalog.h"
#include "src/capi/target.h"

namespace tilewright {
namespace {

constexpr int kThreads = 8;
constexpr int kCallsPerThread = 100'000;

/// Times `call(thread, random key)` on every thread, after a warm-up of a tenth as many calls.
void Measure(const char* what, int threads, int calls, const std::vector<std::string>& keys,
             const std::function<bool(int, const std::string&)>& call) {
  std::vector<std::vector<double>> seconds(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      Random random(static_cast<std::uint64_t>(t));
      std::vector<double>& mine = seconds[static_cast<std::size_t>(t)];
      mine.reserve(static_cast<std::size_t>(calls));
      for (int i = -calls / 10; i < calls; ++i) {
        const std::string& key = keys[random.Below(keys.size())];
        const double before = Now();
        if (!call(t, key)) std::fprintf(stderr, "a query failed: %s\n", key.c_str());
        if (i >= 0) mine.push_back(Now() - before);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  std::vector<double> all;
  for (const auto& part : seconds) all.insert(all.end(), part.begin(), part.end());
  PrintLatencies(what, std::move(all));
}

struct Handle {
  tw_catalog* catalog = nullptr;
  tw_target* target = nullptr;
  tw_error error = TW_ERROR_INIT;

  bool Open(const std::string& path) {
    return tw_catalog_create(&catalog, &error) == TW_OK &&
           tw_catalog_add_store(catalog, path.c_str(), &error) == TW_OK;
  }
  bool LookAtMachine() { return tw_target_create(nullptr, nullptr, &target, &error) == TW_OK; }
  bool Hit(const std::string& key) {
    tw_answer* answer = nullptr;
    tw_error mine = TW_ERROR_INIT;
    tw_query_key(catalog, target, key.c_str(), nullptr, &answer, &mine);
    const bool hit = answer != nullptr && tw_answer_kind(answer) == TW_KIND_HIT;
    tw_answer_free(answer);
    return hit;
  }
  ~Handle() {
    tw_target_free(target);
    tw_catalog_free(catalog);
  }
};

/// Uses a different query in every call, so that the cache never contains it.
void MeasureUncached(const std::string& path, const tw_target& target,
                     const std::vector<std::string>& keys) {
  SystemClock clock;
  capi::Catalog catalog(clock);
  auto source = capi::Source::OpenStore(path);
  if (!source.ok() || !catalog.Add(*std::move(source)).ok()) return;
  std::vector<std::int64_t> asked(kThreads);
  for (int threads : {1, kThreads}) {
    const std::string what = "past the cache, " + std::to_string(threads) + " threads";
    Measure(what.c_str(), threads, kCallsPerThread / 10, keys, [&](int t, const std::string& key) {
      const std::string text = std::to_string(threads) + "/" + std::to_string(t) + "/" +
                               std::to_string(++asked[static_cast<std::size_t>(t)]);
      const capi::AnswerCache::LookupRequest request{
          {1, 2}, TW_ACCEPT_HIT, 0, capi::AnswerCache::LookupRequest::Spelling::kKey, text};
      const auto parse = [&]() -> Result<capi::ParsedQuery> {
        TW_ASSIGN_OR_RETURN(auto workload, Workload::Parse(key));
        return capi::ParsedQuery{std::move(workload), {}, {}};
      };
      return catalog.Answer(request, target, parse).ok();
    });
  }
}

}  // namespace

int BenchHandle(const std::string& path, const std::vector<std::string>& keys) {
  Handle handle;
  if (!handle.Open(path) || !handle.LookAtMachine()) {
    std::fprintf(stderr, "%s\n", handle.error.message);
    return 1;
  }
  for (const std::string& key : keys) handle.Hit(key);
  for (int threads : {1, kThreads}) {
    const std::string what = "C: cached, " + std::to_string(threads) + " threads";
    Measure(what.c_str(), threads, kCallsPerThread, keys,
            [&](int, const std::string& key) { return handle.Hit(key); });
  }
  MeasureUncached(path, *handle.target, keys);

  std::vector<double> opens, machines, firsts;
  for (int i = 0; i < 50; ++i) {
    DropFromCache(path);
    Handle cold;
    double before = Now();
    const bool looked = cold.LookAtMachine();
    machines.push_back(Now() - before);
    before = Now();
    const bool opened = looked && cold.Open(path);
    opens.push_back(Now() - before);
    if (!opened || !cold.Hit(keys[static_cast<std::size_t>(i) % keys.size()])) return 1;
    firsts.push_back(Now() - before);
  }
  PrintLatencies("C: looking at the machine", std::move(machines));
  PrintLatencies("C: cold open", std::move(opens));
  PrintLatencies("C: cold open and first query", std::move(firsts));
  return 0;
}

}  // namespace tilewright
