#include "src/compiler/plan/position_blocks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "src/compiler/plan/choose_kernel.h"
#include "src/compiler/plan/group_kernel.h"
#include "src/schedule/lower/lower.h"
#include "src/target/library.h"
#include "src/templates/fixed_schedule.h"
#include "src/templates/limits.h"
#include "src/templates/registry.h"
#include "src/tensor/compute/define_list.h"

namespace tilewright {
namespace {

/// Template with a config that may serve a small block.
struct SmallConfig {
  const TemplateEntry* entry = nullptr;
  Config config;
};

Result<Workload> AnchorWorkload(const Graph& graph, int anchor) {
  const Node& node = graph.node(anchor);
  return Workload::FromOperator(node.op, graph.node(node.inputs[0]).type,
                                graph.node(node.inputs[1]).type);
}

}  // namespace

SmallBlocks::SmallBlocks(const PositionNetwork& network, std::int64_t unit, const Plan& plan,
                         const CompileOptions& options)
    : unit_(unit), plan_(plan), options_(options) {
  auto small = network.Block(unit);
  if (small.ok()) small_ = *std::move(small);
}

std::optional<Program> SmallBlocks::ProgramOf(const PlanStep& step) {
  if (!small_ || step.kernel() == nullptr) return std::nullopt;
  if (step.report.op == "layout_transform") return Transform(step);
  const auto group = std::ranges::find(small_->groups, step.node, &FusedGroup::output);
  if (group == small_->groups.end()) return std::nullopt;
  return group->anchor ? Anchor(*group, step) : Group(*group, step);
}

std::optional<Program> SmallBlocks::Anchor(const FusedGroup& group, const PlanStep& step) {
  const auto large = AnchorWorkload(plan_.graph, *group.anchor);
  const auto small = AnchorWorkload(small_->graph, *group.anchor);
  const TemplateEntry* entry = options_.templates->Find(step.report.template_key);
  const auto config = Config::Parse(step.report.config);
  if (!large.ok() || !small.ok() || entry == nullptr || !config.ok()) return std::nullopt;
  const std::string key =
      small->Key() + group.epilogue.ToString() + step.report.template_key + step.report.config;
  const auto known = anchors_.find(key);
  if (known != anchors_.end()) return known->second;
  std::optional<Program>& made = anchors_[key];
  const auto kernel = ApplyTemplate(*entry, *large, group.epilogue, options_.target, *config);
  if (!kernel.ok()) return std::nullopt;
  std::vector<SmallConfig> configs;
  const bool plain = plan_.graph.node(group.inputs[1]).kind != NodeKind::kConstant;
  if (auto options = KernelOptions(*small, group.epilogue, plain, options_); options.ok()) {
    for (KernelOption& option : *options) {
      if (!SameLayouts(option.layouts, kernel->layouts)) continue;
      configs.push_back({option.entry, std::move(option.config)});
    }
  }
  if (auto own = entry->default_config(*small, options_.target); own.ok()) {
    configs.push_back({entry, *std::move(own)});
  }
  if (const auto space = entry->define_space(*small, options_.target); space.ok()) {
    if (auto same = space->Locate(*config); same.ok()) configs.push_back({entry, *std::move(same)});
  }
  for (const TemplateEntry* other :
       options_.templates->For(*small, WithoutLibraries(options_.target))) {
    if (other->layout_configs == nullptr) continue;
    auto more = other->layout_configs(*small, options_.target);
    if (!more.ok()) continue;
    for (Config& one : *more) configs.push_back({other, std::move(one)});
  }
  for (const SmallConfig& one : configs) {
    auto few = ApplyTemplate(*one.entry, *small, group.epilogue, options_.target, one.config);
    if (!few.ok() || !(few->layouts == kernel->layouts)) continue;
    auto program = Lower(few->schedule, "kernel", LowerLimitsFor(options_.target));
    if (!program.ok() || !LibraryCallsOf(program->body).empty()) continue;
    made = *std::move(program);
    break;
  }
  return made;
}

std::optional<Program> SmallBlocks::Group(const FusedGroup& group, const PlanStep& step) const {
  if (!step.report.workload_key.empty()) return std::nullopt;  // the kernel of an expression
  auto kernel = ListGroup(small_->graph, group, step.layouts, {});
  if (!kernel.ok() || kernel->inputs.size() + 1 != step.buffers.size()) return std::nullopt;
  auto compute = DefineList(kernel->operators);
  if (!compute.ok()) return std::nullopt;
  const auto schedule = FixedSchedule(*std::move(compute), options_.target);
  if (!schedule.ok()) return std::nullopt;
  auto program = Lower(*schedule, "kernel");
  return program.ok() ? std::optional(*std::move(program)) : std::nullopt;
}

std::optional<Program> SmallBlocks::Transform(const PlanStep& step) const {
  PhysicalLayout from{step.layouts.logical_layout, {}};
  for (const PlanStep& other : plan_.steps) {
    if (other.buffers.back() == step.buffers[0] && !other.layouts.is_logical()) {
      from = other.layouts;
    }
  }
  const TensorType& type = small_->graph.node(step.node).type;
  const auto op = TransformBetween(type, from, step.layouts);
  auto shape = MemoryShape(type, from);
  if (!op.ok() || !shape.ok()) return std::nullopt;
  const TensorType input{*std::move(shape), type.dtype};
  auto compute = DefineOperator(*op, std::span(&input, 1));
  if (!compute.ok()) return std::nullopt;
  const auto schedule = FixedSchedule(*std::move(compute), options_.target);
  if (!schedule.ok()) return std::nullopt;
  auto program = Lower(*schedule, "kernel");
  return program.ok() ? std::optional(*std::move(program)) : std::nullopt;
}

}  // namespace tilewright
