#include "measure/probe_baselines.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/json.h"

namespace tilewright::measure {
namespace {

constexpr std::int64_t kMaxBaselineFileBytes = 1 << 16;
constexpr double kBaselineFileSeconds = 12 * 3600;
constexpr std::size_t kBaselineRuns = 16;
constexpr std::int64_t kProbeLevels = 2;  // raise it if a probe's work changes

struct ProbeBaselineRun {
  double began = 0;  ///< unix seconds
  ProbeBaselines seconds{};
};

/// Reads the runs in the file, oldest first; skips invalid ones.
std::vector<ProbeBaselineRun> RunsIn(const std::string& path, const std::string& device,
                                     double unix_seconds) {
  std::vector<ProbeBaselineRun> runs;
  auto text = ReadFile(path, kMaxBaselineFileBytes);
  if (!text.ok()) return runs;
  auto json = ParseJson(*text);
  if (!json.ok() || !json->is_object() || json->value("device", Json()) != Json(device) ||
      json->value("canaries", Json()) != Json(kProbeLevels)) {
    return runs;
  }
  const Json list = json->value("runs", Json());
  if (!list.is_array()) return runs;
  for (const Json& entry : list) {
    ProbeBaselineRun run;
    if (!entry.is_array() || entry.size() != run.seconds.size() + 1) continue;
    if (!std::ranges::all_of(entry, [](const Json& one) { return one.is_number(); })) continue;
    run.began = entry[0].get<double>();
    const double age = unix_seconds - run.began;
    if (!(age >= 0 && age < kBaselineFileSeconds)) continue;
    for (std::size_t i = 0; i < run.seconds.size(); ++i) {
      const auto value = entry[i + 1].get<double>();
      if (std::isfinite(value) && value > 0 && value < 1) run.seconds[i] = value;
    }
    runs.push_back(run);
  }
  return runs;
}

}  // namespace

ProbeBaselines ReadProbeBaselines(const std::string& path, const std::string& device,
                                  double unix_seconds) {
  ProbeBaselines clean{};
  const auto runs = RunsIn(path, device, unix_seconds);
  for (std::size_t i = 0; i < clean.size(); ++i) {
    std::vector<double> seen;
    for (const ProbeBaselineRun& run : runs) {
      if (run.seconds[i] > 0) seen.push_back(run.seconds[i]);
    }
    std::sort(seen.begin(), seen.end());
    if (!seen.empty()) clean[i] = seen[seen.size() / 4];
  }
  return clean;
}

void UpdateProbeBaselines(const std::string& path, const std::string& device, double run_seconds,
                          double unix_seconds, const ProbeBaselines& seconds) {
  auto runs = RunsIn(path, device, unix_seconds);
  std::erase_if(runs,
                [run_seconds](const ProbeBaselineRun& run) { return run.began == run_seconds; });
  runs.push_back({run_seconds, seconds});
  if (runs.size() > kBaselineRuns) {
    runs.erase(runs.begin(), runs.end() - static_cast<std::ptrdiff_t>(kBaselineRuns));
  }
  Json list = Json::array();
  for (const ProbeBaselineRun& run : runs) {
    Json entry = Json::array({run.began});
    for (const double one : run.seconds) entry.push_back(one);
    list.push_back(std::move(entry));
  }
  const Json json = {{"canaries", kProbeLevels}, {"device", device}, {"runs", std::move(list)}};
  const Status ignored = WriteFile(path, DumpJson(json) + "\n");
  (void)ignored;
}

}  // namespace tilewright::measure
