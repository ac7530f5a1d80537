#include "src/report/network.h"

#include <algorithm>
#include <limits>
#include <map>

#include "src/report/statistics.h"

namespace tilewright::report {
namespace {

/// Properties of the device and typical ratios, from the tasks of a document.
struct Known {
  std::map<std::string, const TaskPage*> tasks;          // by workload key
  double gain = 1;                                       // default / best, the median
  double efficiency = 1;                                 // bound / default, the median
  double operations = 0, far_bytes = 0, near_bytes = 0;  // per second
};

Known KnownOf(const Document& document, const std::string& metric) {
  Known known;
  std::vector<double> gains, shares;
  for (const JobPage& job : document.jobs) {
    for (const TaskPage& task : job.tasks) {
      if (task.metric != metric) continue;
      known.tasks.emplace(task.key, &task);
      if (task.default_value > 0 && task.best_value > 0) gains.push_back(task.speedup());
      if (task.roofline.bound > 0 && task.default_value > 0) {
        shares.push_back(task.roofline.bound / task.default_value);
      }
      if (metric != "seconds") continue;  // steps on the host have no cycles
      known.operations = std::max(known.operations, task.roofline.peak_operations);
      known.far_bytes = std::max(known.far_bytes, task.roofline.far_bytes);
      known.near_bytes = std::max(known.near_bytes, task.roofline.near_bytes);
    }
  }
  if (!gains.empty()) known.gain = std::max(1.0, Median(gains));
  if (!shares.empty()) known.efficiency = std::clamp(Median(shares), 0.05, 1.0);
  return known;
}

double Estimate(const Known& known, const OperatorReport& report) {
  if (known.far_bytes <= 0) return 0;
  const double moved = static_cast<double>(report.bytes) / known.far_bytes;
  const double computed =
      known.operations > 0 ? 2 * static_cast<double>(report.macs) / known.operations : 0;
  return report.macs > 0 ? std::max(moved, computed) / known.efficiency : moved;
}

void FillTime(const Known& known, const OperatorReport& report, NetworkStep& step) {
  const auto found = known.tasks.find(report.workload_key);
  const TaskPage* task =
      report.workload_key.empty() || found == known.tasks.end() ? nullptr : found->second;
  const bool hit = report.answer == records::AnswerLevel::kHit;
  if (task != nullptr && report.tuned && hit) step.cost = task->best_value;
  if (task != nullptr && !report.tuned) step.cost = task->default_value;
  if (step.cost <= 0) {
    step.cost = Estimate(known, report);
    step.estimated = step.cost > 0;
  }
  if (report.workload_key.empty() || hit) return;
  const double slower = report.expected_slowdown > 1 ? report.expected_slowdown : known.gain;
  step.miss_cost = step.cost * (1 - 1 / slower);
}

/// Returns the bytes of the arena in use during each step; overlapping buffers count once.
std::vector<std::int64_t> LiveBytes(const Plan& plan) {
  const std::size_t steps = plan.steps.size();
  std::vector<std::size_t> first(plan.buffers.size(), steps), last(plan.buffers.size(), 0);
  const auto top_of = [&plan](int buffer) {
    while (plan.buffers[static_cast<std::size_t>(buffer)].whole >= 0) {
      buffer = plan.buffers[static_cast<std::size_t>(buffer)].whole;
    }
    return static_cast<std::size_t>(buffer);
  };
  for (std::size_t step = 0; step < steps; ++step) {
    for (const int buffer : plan.steps[step].buffers) {
      const std::size_t top = top_of(buffer);
      first[top] = std::min(first[top], step);
      last[top] = std::max(last[top], step);
    }
  }
  std::vector<std::int64_t> bytes(steps, 0);
  std::vector<std::pair<std::int64_t, std::int64_t>> alive;
  for (std::size_t step = 0; step < steps; ++step) {
    alive.clear();
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
      const PlanBuffer& buffer = plan.buffers[i];
      if (buffer.space != BufferSpace::kArena || first[i] > step || last[i] < step) continue;
      alive.emplace_back(buffer.offset, buffer.offset + buffer.bytes);
    }
    std::ranges::sort(alive);
    std::int64_t end = 0;
    for (const auto& [from, to] : alive) {
      bytes[step] += std::max<std::int64_t>(0, to - std::max(from, end));
      end = std::max(end, to);
    }
  }
  return bytes;
}

}  // namespace

NetworkPage NetworkOf(const Plan& plan, const std::string& graph, const Document& document) {
  NetworkPage page;
  if (!document.jobs.empty() && !document.jobs.front().tasks.empty()) {
    page.metric = document.jobs.front().tasks.front().metric;
  }
  const Known known = KnownOf(document, page.metric);
  page.graph = graph;
  page.target = plan.target.ToString();
  page.arena_bytes = plan.arena_bytes;
  page.constant_bytes = plan.constant_bytes;
  page.layout_changes = plan.transforms;
  page.layout_choices = plan.layouts.choices;
  page.layouts_changed = plan.layouts.changed;
  page.layout_seconds = plan.layouts.seconds;
  page.layout_rule_seconds = plan.layouts.rule_seconds;
  const std::vector<std::int64_t> live = LiveBytes(plan);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& planned = plan.steps[i];
    const StreamStep* stream = planned.stream();
    const OperatorReport& report =
        stream != nullptr ? plan.StreamOf(*stream).report : planned.report;
    NetworkStep step;
    const Node& node = plan.graph.node(planned.node);
    step.value = report.value;
    step.layer = node.source.empty() ? report.value : node.source;
    for (const std::int64_t size : node.type.shape) {
      step.shape += (step.shape.empty() ? "" : "x") + std::to_string(size);
    }
    step.workload = report.workload_key;
    step.op = report.op.empty() ? planned.report.op : report.op;
    step.layout = report.layout;
    step.template_key = report.template_key;
    step.config = report.config;
    step.explanation = report.explanation;
    step.where = planned.host() != nullptr ? "host" : stream != nullptr ? "VTA" : "";
    step.macs = report.macs;
    step.bytes = report.bytes;
    step.live_bytes = live[i];
    step.transform = step.op == "layout_transform";
    step.answer = report.workload_key.empty()
                      ? "no task"
                      : std::string(records::AnswerLevelName(report.answer));
    FillTime(known, report, step);
    ++page.coverage[step.answer];
    page.steps.push_back(std::move(step));
  }
  return page;
}

}  // namespace tilewright::report
