#include "src/report/device_pages.h"

#include <algorithm>
#include <optional>
#include <set>

#include "cost_model/gpu_features.h"
#include "src/schedule/summary.h"
#include "src/target/device.h"
#include "src/target/gpu.h"
#include "src/templates/vta/vta_target.h"
#include "src/vta/simulator/simulator.h"
#include "src/vta/simulator/timing.h"

namespace tilewright::report {
namespace {

constexpr std::size_t kMaxSimulated = 320;  // streams of a task
constexpr std::size_t kMaxProfiled = 48;    // kernels of a task, some milliseconds each
constexpr std::size_t kMaxSpans = 1500;     // of each engine; adjacent ones are merged

struct SimulatedStream {
  vta::Stream stream;
  vta::RunResult run;
  vta::Timing timing;
};

std::optional<SimulatedStream> SimulateTrial(const TemplateEntry& entry, const Trial& trial,
                                             const VtaTarget& vta, bool with_timeline) {
  const Candidate& candidate = trial.candidate;
  auto stream = BuildVtaStream(entry, candidate.task.workload, candidate.epilogue,
                               candidate.task.target, candidate.config);
  if (!stream.ok()) return std::nullopt;
  vta::RunOptions options;
  options.allow_tokens_left = true;
  SimulatedStream seen{*std::move(stream), {}, {}};
  seen.run = vta::RunStream(vta.design, seen.stream.instructions, nullptr, options);
  if (!seen.run.status().ok()) return std::nullopt;
  seen.timing = vta::Simulate(vta.design, seen.stream.instructions, seen.run.pipeline, vta.cycles,
                              with_timeline);
  return seen;
}

void FillTimeline(const SimulatedStream& winner, VtaPage& vta) {
  vta.cycles = winner.timing.cycles;
  vta.timeline.resize(vta::kEngineCount);
  for (int i = 0; i < vta::kEngineCount; ++i) {
    vta.engines.emplace_back(vta::EngineName(static_cast<vta::Engine>(i)));
  }
  std::vector<vta::TimelineEvent> events = winner.timing.timeline;
  std::ranges::sort(events, {}, &vta::TimelineEvent::start);
  // Spans closer than a pixel are merged.
  const double apart = winner.timing.cycles / static_cast<double>(kMaxSpans);
  for (const vta::TimelineEvent& event : events) {
    if (event.end <= event.start) continue;
    auto& spans = vta.timeline[static_cast<std::size_t>(event.engine)];
    if (!spans.empty() && event.start - spans.back().end < apart) {
      spans.back().end = std::max(spans.back().end, event.end);
    } else {
      spans.push_back({event.start, event.end, ""});
    }
  }
  const vta::Statistics& moved = winner.run.summary.statistics;
  vta.memories = {{"inputs loaded", moved.inp_load_nbytes},
                  {"weights loaded", moved.wgt_load_nbytes},
                  {"accumulators loaded", moved.acc_load_nbytes},
                  {"micro-ops loaded", moved.uop_load_nbytes},
                  {"outputs stored", moved.out_store_nbytes}};
}

/// Returns the winner, then the others of both lists, each config once; at most `most`.
std::vector<const Trial*> EachOnce(const std::vector<Trial>& fastest,
                                   const std::vector<Trial>& spread, std::size_t most) {
  std::vector<const Trial*> all;
  std::set<std::pair<std::string, std::int64_t>> seen;
  const std::size_t every = std::max<std::size_t>(1, (fastest.size() + spread.size()) / most);
  for (std::size_t i = 0; i < fastest.size() + spread.size() && all.size() < most; ++i) {
    if (i > 0 && i % every != 0) continue;
    const Trial& trial = i < fastest.size() ? fastest[i] : spread[i - fastest.size()];
    const Candidate& candidate = trial.candidate;
    if (seen.emplace(candidate.template_key, candidate.config.index).second) all.push_back(&trial);
  }
  return all;
}

void FillVta(const TemplateRegistry& templates, const std::vector<Trial>& fastest,
             const std::vector<Trial>& spread, TaskPage& page) {
  const auto target = VtaTargetOf(fastest.front().candidate.task.target);
  if (!target.ok()) return;
  VtaPage vta;
  vta.model = target->cycles.name;
  vta.points_of = page.ok;
  for (const Trial* trial : EachOnce(fastest, spread, kMaxSimulated)) {
    const TemplateEntry* entry = templates.Find(trial->candidate.template_key);
    if (entry == nullptr || entry->build_stream == nullptr) continue;
    const bool winner = trial == &fastest.front();
    const auto seen = SimulateTrial(*entry, *trial, *target, winner);
    if (!seen) continue;
    if (winner) FillTimeline(*seen, vta);
    vta.points.push_back(
        {seen->timing.cycles, static_cast<double>(seen->run.summary.dram_bytes), winner, false});
  }
  for (VtaPoint& point : vta.points) {
    point.front = std::ranges::none_of(vta.points, [&point](const VtaPoint& other) {
      const bool no_worse = other.cycles <= point.cycles && other.bytes <= point.bytes;
      return no_worse && (other.cycles < point.cycles || other.bytes < point.bytes);
    });
  }
  if (!vta.points.empty()) page.vta = std::move(vta);
}

std::optional<cost_model::GpuProfile> GpuProfileOf(const TemplateEntry& entry,
                                                   const Candidate& candidate) {
  const Target& target = candidate.task.target;
  auto kernel =
      ApplyTemplate(entry, candidate.task.workload, candidate.epilogue, target, candidate.config);
  if (!kernel.ok()) return std::nullopt;
  const auto summary = Summarize(kernel->schedule);
  const auto limits = LimitsOf(target);
  if (!summary.ok() || !limits.ok()) return std::nullopt;
  return cost_model::ProfileLaunch(*summary, *limits);
}

double BankWays(const cost_model::GpuProfile& profile) {
  if (profile.shared_loads <= 0) return 1;
  return profile.bank_passes * std::min(32.0, profile.threads) / profile.shared_loads;
}

void FillGpu(const TemplateRegistry& templates, const std::vector<Trial>& fastest,
             const std::vector<Trial>& spread, TaskPage& page) {
  for (const Trial* trial : EachOnce(fastest, spread, kMaxProfiled)) {
    const TemplateEntry* entry = templates.Find(trial->candidate.template_key);
    if (entry == nullptr || entry->version != trial->candidate.template_version) continue;
    const auto profile = GpuProfileOf(*entry, trial->candidate);
    if (!profile) continue;
    const bool winner = trial == &fastest.front();
    page.gpu_points.push_back(
        {trial->value, profile->occupancy, profile->shared_bytes, BankWays(*profile), winner});
    if (!winner) continue;
    page.gpu = {{"blocks", profile->blocks},
                {"threads of a block", profile->threads},
                {"registers of a thread (estimate)", profile->registers},
                {"bytes of shared memory of a block", profile->shared_bytes},
                {"occupancy", profile->occupancy}};
    if (profile->sector_bytes > 0) {
      page.gpu.emplace_back("share of moved bytes that were asked for",
                            profile->global_bytes / profile->sector_bytes);
    }
    if (profile->shared_loads > 0) {
      page.gpu.emplace_back("bank conflicts (ways; 1: none)", BankWays(*profile));
    }
  }
}

}  // namespace

void FillDevicePages(const TemplateRegistry& templates, const std::vector<Trial>& fastest,
                     const std::vector<Trial>& spread, TaskPage& page) {
  if (fastest.empty()) return;
  const Candidate& winner = fastest.front().candidate;
  const TemplateEntry* entry = templates.Find(winner.template_key);
  if (entry == nullptr || entry->version != winner.template_version) return;
  if (entry->build_stream != nullptr) {
    FillVta(templates, fastest, spread, page);
  } else if (DeviceTraitsOf(winner.task.target).launches_grids) {
    FillGpu(templates, fastest, spread, page);
  }
}

}  // namespace tilewright::report
