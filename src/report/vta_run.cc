#include "src/report/vta_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/format_printable.h"
#include "src/base/json.h"
#include "src/base/text/plural.h"

namespace tilewright::report {
namespace {

/// Returns the counters under the names that the reference simulator gives them.
std::vector<std::pair<std::string_view, std::int64_t>> Named(const vta::Statistics& s) {
  return {{"inp_load_nbytes", s.inp_load_nbytes},
          {"wgt_load_nbytes", s.wgt_load_nbytes},
          {"acc_load_nbytes", s.acc_load_nbytes},
          {"uop_load_nbytes", s.uop_load_nbytes},
          {"out_store_nbytes", s.out_store_nbytes},
          {"gemm_counter", s.gemm_counter},
          {"alu_counter", s.alu_counter}};
}

std::vector<std::pair<std::string_view, std::int64_t>> Named(const vta::InstructionCounts& c) {
  return {{"inp", c.inp},       {"wgt", c.wgt},      {"acc", c.acc}, {"uop", c.uop},
          {"gemm", c.gemm},     {"alu", c.alu},      {"out", c.out}, {"idle", c.idle},
          {"finish", c.finish}, {"total", c.Total()}};
}

/// Summed cost of one or several launches.
struct Cost {
  std::vector<std::pair<std::string_view, std::int64_t>> statistics, instructions;
  std::int64_t dram_bytes = 0;
  std::vector<double> cycles;                                                 // by model
  std::vector<std::array<vta::EngineTime, vta::kEngineCount>> engine_cycles;  // by model
};

void AddLaunchCounts(const std::vector<std::pair<std::string_view, std::int64_t>>& counts,
                     std::int64_t times,
                     std::vector<std::pair<std::string_view, std::int64_t>>& sums) {
  if (sums.empty()) {
    sums = counts;
    for (auto& [name, sum] : sums) sum = 0;
  }
  for (std::size_t i = 0; i < counts.size(); ++i) sums[i].second += times * counts[i].second;
}

void AddLaunches(const VtaLaunchCost& launch, int times, Cost& sum) {
  AddLaunchCounts(Named(launch.summary.statistics), times, sum.statistics);
  AddLaunchCounts(Named(launch.summary.counts), times, sum.instructions);
  sum.dram_bytes += times * launch.summary.dram_bytes;
  if (sum.cycles.size() < launch.timings.size()) {
    sum.cycles.resize(launch.timings.size(), 0);
    sum.engine_cycles.resize(launch.timings.size());
  }
  for (std::size_t m = 0; m < launch.timings.size(); ++m) {
    const vta::Timing& timing = launch.timings[m];
    sum.cycles[m] += times * timing.cycles;
    for (std::size_t e = 0; e < vta::kEngineCount; ++e) {
      vta::EngineTime& engine = sum.engine_cycles[m][e];
      engine.busy += times * timing.engines[e].busy;
      engine.starved += times * timing.engines[e].starved;
      engine.stalled += times * timing.engines[e].stalled;
      engine.idle += times * timing.engines[e].idle;
    }
  }
}

/// Returns the cost of a whole run. Kernels that never ran contribute only their names.
Cost Total(const Plan& plan, const VtaCosts& run) {
  Cost total;
  AddLaunches(VtaLaunchCost(), 0, total);
  for (std::size_t k = 0; k < plan.streams.size(); ++k) {
    AddLaunches(run.cost[k], run.launches[k], total);
  }
  return total;
}

std::array<std::pair<const char*, double>, 4> Shares(const vta::EngineTime& time, double cycles) {
  const double whole = cycles > 0 ? cycles : 1;
  return {{{"busy", time.busy / whole},
           {"starved", time.starved / whole},
           {"stalled", time.stalled / whole},
           {"idle", time.idle / whole}}};
}

Json CostJson(const Cost& cost, std::span<const char* const> models) {
  Json json;
  for (const auto& [name, value] : cost.statistics) json[std::string(name)] = value;
  json["dram_bytes"] = cost.dram_bytes;
  for (std::size_t m = 0; m < cost.cycles.size(); ++m) json["cycles"][models[m]] = cost.cycles[m];
  for (const auto& [name, value] : cost.instructions) {
    json["instructions"][std::string(name)] = value;
  }
  for (std::size_t m = 0; m < cost.engine_cycles.size(); ++m) {
    for (std::size_t e = 0; e < vta::kEngineCount; ++e) {
      Json& engine =
          json["engines"][models[m]][std::string(EngineName(static_cast<vta::Engine>(e)))];
      for (const auto& [what, share] : Shares(cost.engine_cycles[m][e], cost.cycles[m])) {
        engine[what] = share;
      }
    }
  }
  return json;
}

std::string TotalText(const Cost& total, std::span<const char* const> models) {
  std::string out;
  out += FormatPrintable("Execution statistics:\n");
  for (const auto& [name, value] : total.statistics)
    out += FormatPrintable("  {:<18} {:>14}\n", name, value);
  out += FormatPrintable("  {:<18} {:>14}\n", "dram_bytes", total.dram_bytes);
  out += FormatPrintable("  {:<18} {:>14} ", "instructions", total.instructions.back().second);
  for (std::size_t i = 0; i + 1 < total.instructions.size(); ++i) {
    out += FormatPrintable(" {} {}", total.instructions[i].first, total.instructions[i].second);
  }
  out += FormatPrintable("\n");
  for (std::size_t m = 0; m < total.cycles.size(); ++m) {
    out += FormatPrintable("  {:<18} {:>14.0f}\n", std::string("cycles ") + models[m],
                           total.cycles[m]);
    for (std::size_t e = 0; e < vta::kEngineCount; ++e) {
      out += FormatPrintable("    {:<8}", EngineName(static_cast<vta::Engine>(e)));
      for (const auto& [what, share] : Shares(total.engine_cycles[m][e], total.cycles[m])) {
        out += FormatPrintable(" {} {:>5.1f} %", what, 100 * share);
      }
      out += FormatPrintable("\n");
    }
  }
  return out;
}

std::string LayersText(const Plan& plan, const VtaCosts& run, std::span<const char* const> models) {
  std::string out;
  out += FormatPrintable(
      "Layers (of one launch):\n{:>3} {:>9} {:>9} {:>9} {:>8} {:>9} {:>8} {:>8} {:>7}", "x", "inp",
      "wgt", "acc", "uop", "out", "gemm", "alu", "instr.");
  for (const char* model : models) out += FormatPrintable(" {:>11}", std::string("cyc. ") + model);
  out += FormatPrintable("\n");
  for (std::size_t k = 0; k < plan.streams.size(); ++k) {
    const StreamKernel& kernel = plan.streams[k];
    const OperatorReport& report = kernel.report;
    const vta::Statistics& s = run.cost[k].summary.statistics;
    out += FormatPrintable("{} + {}\n  {} {}\n  {}{}\n", report.workload_key,
                           kernel.epilogue.ToString(), report.template_key, report.config,
                           report.explanation,
                           report.source.empty() ? "" : " (" + report.source + ")");
    out += FormatPrintable("{:>3} {:>9} {:>9} {:>9} {:>8} {:>9} {:>8} {:>8} {:>7}", run.launches[k],
                           s.inp_load_nbytes, s.wgt_load_nbytes, s.acc_load_nbytes,
                           s.uop_load_nbytes, s.out_store_nbytes, s.gemm_counter, s.alu_counter,
                           run.cost[k].summary.counts.Total());
    for (const vta::Timing& timing : run.cost[k].timings)
      out += FormatPrintable(" {:>11.0f}", timing.cycles);
    out += FormatPrintable("\n");
  }
  return out;
}

}  // namespace

Json VtaRunJson(const Plan& plan, const VtaCosts& run, std::span<const char* const> models) {
  Json layers = Json::array();
  for (std::size_t k = 0; k < plan.streams.size(); ++k) {
    const StreamKernel& kernel = plan.streams[k];
    const OperatorReport& report = kernel.report;
    Cost cost;
    AddLaunches(run.cost[k], 1, cost);
    const auto config = ParseJson(report.config);
    Json layer = {{"workload", report.workload_key},
                  {"epilogue", kernel.epilogue.ToString()},
                  {"count", run.launches[k]},
                  {"template", report.template_key},
                  {"config", config.ok() ? *config : Json(report.config)},
                  {"tuned", report.tuned},
                  {"source", report.source},
                  {"why", report.explanation}};
    layer.update(CostJson(cost, models));
    layers.push_back(std::move(layer));
  }
  Json operators = Json::array();
  for (const PlanStep& step : plan.steps) {
    if (step.copies()) continue;
    const StreamStep* stream = step.stream();
    operators.push_back({{"value", step.report.value},
                         {"op", step.report.op},
                         {"on", stream == nullptr ? "host" : "vta"},
                         {"layer", stream == nullptr ? Json(nullptr) : Json(stream->stream)},
                         {"why", step.report.explanation}});
  }
  return {{"target", plan.target.ToString()},
          {"vta", CostJson(Total(plan, run), models)},
          {"layers", std::move(layers)},
          {"operators", std::move(operators)},
          {"simulator_seconds", run.simulator_seconds},
          {"host_seconds", run.host_seconds}};
}

std::string VtaRunText(const Plan& plan, const VtaCosts& run, std::span<const char* const> models) {
  std::string out = FormatPrintable("{}\n", plan.target.ToString());
  out += TotalText(Total(plan, run), models);
  out += LayersText(plan, run, models);
  out += FormatPrintable("On the host, by the reference evaluator:\n");
  for (const PlanStep& step : plan.steps) {
    if (step.host() == nullptr) continue;
    out += FormatPrintable("  {:<10} {:<44} {}\n", step.report.value, step.report.op,
                           step.report.explanation);
  }
  out += FormatPrintable("{} on the VTA in {:.1f} s, {} on the host in {:.1f} s\n",
                         Counted(static_cast<std::int64_t>(VtaSteps(plan)), "operator"),
                         run.simulator_seconds, HostSteps(plan), run.host_seconds);
  return out;
}

std::int64_t HostSteps(const Plan& plan) {
  return std::ranges::count_if(plan.steps,
                               [](const PlanStep& step) { return step.host() != nullptr; });
}

std::int64_t VtaSteps(const Plan& plan) {
  return std::ranges::count_if(plan.steps,
                               [](const PlanStep& step) { return step.stream() != nullptr; });
}

}  // namespace tilewright::report
