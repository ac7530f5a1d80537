#include "measure/quiet_file.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/json.h"

namespace tilewright::measure {
namespace {

constexpr std::int64_t kMaxQuietFileBytes = 1 << 16;
constexpr double kQuietFileSeconds = 12 * 3600;
constexpr std::size_t kQuietRuns = 16;
constexpr std::int64_t kCanaries = 2;  // raised when a canary's work changes

struct QuietRun {
  double began = 0;  ///< unix seconds
  QuietSeconds seconds{};
};

/// Runs in the file, oldest first; none that is not understood.
std::vector<QuietRun> RunsIn(const std::string& path, const std::string& device,
                             double unix_seconds) {
  std::vector<QuietRun> runs;
  auto text = ReadFile(path, kMaxQuietFileBytes);
  if (!text.ok()) return runs;
  auto json = ParseJson(*text);
  if (!json.ok() || !json->is_object() || json->value("device", Json()) != Json(device) ||
      json->value("canaries", Json()) != Json(kCanaries)) {
    return runs;
  }
  const Json list = json->value("runs", Json());
  if (!list.is_array()) return runs;
  for (const Json& entry : list) {
    QuietRun run;
    if (!entry.is_array() || entry.size() != run.seconds.size() + 1) continue;
    if (!std::ranges::all_of(entry, [](const Json& one) { return one.is_number(); })) continue;
    run.began = entry[0].get<double>();
    const double age = unix_seconds - run.began;
    if (!(age >= 0 && age < kQuietFileSeconds)) continue;
    for (std::size_t i = 0; i < run.seconds.size(); ++i) {
      const auto value = entry[i + 1].get<double>();
      if (std::isfinite(value) && value > 0 && value < 1) run.seconds[i] = value;
    }
    runs.push_back(run);
  }
  return runs;
}

}  // namespace

QuietSeconds ReadQuietFile(const std::string& path, const std::string& device,
                           double unix_seconds) {
  QuietSeconds quiet{};
  const auto runs = RunsIn(path, device, unix_seconds);
  for (std::size_t i = 0; i < quiet.size(); ++i) {
    std::vector<double> seen;
    for (const QuietRun& run : runs) {
      if (run.seconds[i] > 0) seen.push_back(run.seconds[i]);
    }
    std::sort(seen.begin(), seen.end());
    if (!seen.empty()) quiet[i] = seen[seen.size() / 4];
  }
  return quiet;
}

void UpdateQuietFile(const std::string& path, const std::string& device, double run_seconds,
                     double unix_seconds, const QuietSeconds& seconds) {
  auto runs = RunsIn(path, device, unix_seconds);
  std::erase_if(runs, [run_seconds](const QuietRun& run) { return run.began == run_seconds; });
  runs.push_back({run_seconds, seconds});
  if (runs.size() > kQuietRuns) {
    runs.erase(runs.begin(), runs.end() - static_cast<std::ptrdiff_t>(kQuietRuns));
  }
  Json list = Json::array();
  for (const QuietRun& run : runs) {
    Json entry = Json::array({run.began});
    for (const double one : run.seconds) entry.push_back(one);
    list.push_back(std::move(entry));
  }
  const Json json = {{"canaries", kCanaries}, {"device", device}, {"runs", std::move(list)}};
  const Status ignored = WriteFile(path, DumpJson(json) + "\n");
  (void)ignored;
}

}  // namespace tilewright::measure
