#include "python_free_cli/report/device_pages.h"

#include <algorithm>
#include <optional>

#include "cost_model/gpu_features.h"
#include "src/schedule/summary.h"
#include "src/target/device.h"
#include "src/target/gpu.h"
#include "src/templates/vta/vta_target.h"
#include "src/vta/simulator/simulator.h"
#include "src/vta/simulator/timing.h"

namespace tilewright::report {
namespace {

constexpr std::size_t kMostSpans = 1500;  // of each engine; those that touch become one

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
  // What nobody could see apart on a screen is one stretch.
  const double apart = winner.timing.cycles / static_cast<double>(kMostSpans);
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

void FillVta(const TemplateRegistry& templates, const std::vector<Trial>& fastest, TaskPage& page) {
  const auto target = VtaTargetOf(fastest.front().candidate.task.target);
  if (!target.ok()) return;
  VtaPage vta;
  vta.model = target->cycles.name;
  vta.points_of = page.ok;
  for (const Trial& trial : fastest) {
    const TemplateEntry* entry = templates.Find(trial.candidate.template_key);
    if (entry == nullptr || entry->build_stream == nullptr) continue;
    const bool winner = &trial == &fastest.front();
    const auto seen = SimulateTrial(*entry, trial, *target, winner);
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

void FillGpu(const TemplateEntry& entry, const Candidate& candidate, TaskPage& page) {
  const Target& target = candidate.task.target;
  auto kernel =
      ApplyTemplate(entry, candidate.task.workload, candidate.epilogue, target, candidate.config);
  if (!kernel.ok()) return;
  const auto summary = Summarize(kernel->schedule);
  const auto capability = ComputeCapabilityOf(target);
  if (!summary.ok() || !capability.ok()) return;
  const cost_model::GpuProfile profile = cost_model::ProfileOf(*summary, LimitsOf(*capability));
  page.gpu = {{"blocks", profile.blocks},
              {"threads of a block", profile.threads},
              {"registers of a thread (estimate)", profile.registers},
              {"bytes of shared memory of a block", profile.shared_bytes},
              {"occupancy", profile.occupancy}};
  if (profile.sector_bytes > 0) {
    page.gpu.emplace_back("share of moved bytes that were asked for",
                          profile.global_bytes / profile.sector_bytes);
  }
  if (profile.shared_loads > 0) {
    const double lanes = std::min(32.0, profile.threads);
    page.gpu.emplace_back("bank conflicts (ways; 1: none)",
                          profile.bank_passes * lanes / profile.shared_loads);
  }
}

}  // namespace

void FillDevicePages(const TemplateRegistry& templates, const std::vector<Trial>& fastest,
                     TaskPage& page) {
  if (fastest.empty()) return;
  const Candidate& winner = fastest.front().candidate;
  const TemplateEntry* entry = templates.Find(winner.template_key);
  if (entry == nullptr || entry->version != winner.template_version) return;
  if (entry->build_stream != nullptr) {
    FillVta(templates, fastest, page);
  } else if (DeviceTraitsOf(winner.task.target).grids) {
    FillGpu(*entry, winner, page);
  }
}

}  // namespace tilewright::report
