// Planning: from the fused groups of a graph to the steps of a compiled model.
//
// For machine code, layouts are chosen for all groups together (layouts.h). For other targets they
// are chosen in execution order: an anchor's kernel determines the layouts of its data and its
// result, and every other operator uses the layout of its largest input if it can. A layout change
// is added only where two disagree, once per value and layout. Inputs and outputs of the model have
// the graph's layouts.

#include "src/compiler/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/strings.h"
#include "src/compiler/plan/choose_vta_kernel.h"
#include "src/compiler/plan/open_attention.h"
#include "src/compiler/plan/open_join.h"
#include "src/compiler/plan/plan_builder.h"
#include "src/schedule/lower/lower.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/templates/attention_schedule.h"
#include "src/templates/recurrence_kernel.h"
#include "src/templates/registry.h"
#include "src/tensor/compute/define_list.h"

namespace tilewright {
namespace {

/// Returns the text with '_' in place of characters that are invalid in a symbol.
std::string SymbolPart(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
}

/// Returns the origin of a group in the file: its node, or the first and the last one.
std::string OriginsOf(const Graph& graph, const FusedGroup& group) {
  const std::string first = graph.DescribeOrigin(group.nodes.front());
  const std::string last = graph.DescribeOrigin(group.output);
  return first == last || graph.origins.empty() ? last : first + " up to " + last;
}

/// Returns the error for a kernel that exceeds a limit, with advice, because the stage names in
/// `status` mean nothing to the user.
Status NoKernel(const Status& status) {
  if (status.code() == StatusCode::kInternal) return status;
  return Unsupported(
      "there is no kernel for these sizes: give smaller ones (--shape, --dim), or "
      "export the model without it (in the kernel: " +
      status.message() + ")");
}

}  // namespace

Status PlanBuilder::AddAlias(const FusedGroup& group) {
  const int input = group.inputs.front();
  const bool unchanged = std::ranges::all_of(
      group.nodes, [&](int id) { return graph_.node(id).op.kind == OpKind::kIdentity; });
  if (unchanged && !stored_[static_cast<std::size_t>(input)].empty()) {
    stored_[static_cast<std::size_t>(group.output)] = stored_[static_cast<std::size_t>(input)];
    return Status();
  }
  views_[group.output] = input;
  return Status();
}

Result<int> PlanBuilder::InputBuffer(const Workload& workload, const KernelSignature& signature,
                                     std::size_t input, int value) {
  const KernelParameter& parameter = signature.parameters[input];
  const KernelLayouts& layouts = signature.layouts;
  std::string key;  // identifies the constant
  if (IsTable(value) && parameter.role != ParameterRole::kData &&
      parameter.role != ParameterRole::kBroadcast) {
    return Unsupported("weights that depend on the position");
  }
  switch (parameter.role) {
    case ParameterRole::kData:
      return BufferOf(value, Canonical(workload.data, {workload.data_layout, layouts.data}));
    case ParameterRole::kWeight:
      if (graph_.node(value).kind != NodeKind::kConstant) {
        return BufferOf(value,
                        Canonical(workload.weight, {workload.kernel_layout, layouts.weight}));
      }
      key = fmt::format("{} weight {} {} {} {}", value, workload.kernel_layout, layouts.weight,
                        layouts.multiply_dtype ? DataTypeName(*layouts.multiply_dtype) : "",
                        layouts.winograd_tile);
      break;
    case ParameterRole::kCompensation:
      key = fmt::format("{} compensation {}", value, parameter.type.elements());
      break;
    case ParameterRole::kBroadcast:
      return BufferOf(value, PhysicalLayout());
    case ParameterRole::kChannel:
      if (graph_.node(value).kind != NodeKind::kConstant) return ChannelBuffer(parameter, value);
      key = fmt::format("{} channel {} {}", value, parameter.type.elements(),
                        parameter.padding_value);
      break;
    default:
      return Internal("an input that is read as it is");
  }
  if (auto known = constant_buffers_.find(key); known != constant_buffers_.end()) {
    return known->second;
  }
  const Tensor* contents = graph_.Contents(value);
  if (contents == nullptr) {
    return InvalidArgument("constant " + graph_.node(value).name + " has no contents");
  }
  TW_ASSIGN_OR_RETURN(auto tensor, ParameterTensor(workload, signature, input, *contents));
  return AddConstant(key, std::move(tensor));
}

Result<int> PlanBuilder::ChannelBuffer(const KernelParameter& parameter, int value) {
  const std::int64_t wanted = parameter.type.elements();
  const TensorType& type = graph_.node(value).type;
  if (wanted == type.elements()) return BufferOf(value, PhysicalLayout());
  // Blocks are padded with zeros, as those of any other value.
  const auto channel = std::ranges::find_if(type.shape, [](auto extent) { return extent != 1; });
  std::string logical = PlainLayout(type.shape.size());
  PhysicalLayout blocked{logical, logical};
  const char letter = logical[static_cast<std::size_t>(channel - type.shape.begin())];
  blocked.layout += fmt::format("{}{}", wanted, static_cast<char>(letter - 'A' + 'a'));
  return BufferOf(value, blocked);
}

std::string PlanBuilder::LayoutSummary(const FusedGroup& group) const {
  std::string text;
  for (int input : group.inputs) {
    for (const Stored& stored : stored_[static_cast<std::size_t>(input)]) {
      text += stored.layouts.layout + ",";
    }
    text += ";";
  }
  return text;
}

double PlanBuilder::LayoutSecondsOf(const Workload& workload, const FusedGroup& group,
                                    const KernelLayouts& layouts) const {
  // Approximate time of a layout change on every measured machine (7 GB/s).
  constexpr double kSecondsPerByte = 1 / 7e9;
  const auto cost = [](const TensorType& type) {
    return static_cast<double>(type.bytes()) * kSecondsPerByte;
  };
  double seconds = 0;
  const PhysicalLayout data = Canonical(workload.data, {workload.data_layout, layouts.data});
  if (Find(group.inputs[0], data) == nullptr) seconds += cost(workload.data);
  auto logical_layout = workload.OutputLayout();
  if (!logical_layout.ok() || logical_layout->size() != 4) return seconds;
  const TensorType& type = graph_.node(group.output).type;
  const PhysicalLayout result = Canonical(type, {*logical_layout, layouts.output});
  if (!result.is_logical()) seconds += cost(type);
  for (std::size_t i = 2; i < group.inputs.size(); ++i) {
    const Node& operand = graph_.node(group.inputs[i]);
    if (operand.kind == NodeKind::kConstant || operand.type.shape != type.shape) continue;
    if (Find(group.inputs[i], result) == nullptr) seconds += cost(operand.type);
  }
  return seconds;
}

Result<Workload> PlanBuilder::AnchorOf(const FusedGroup& group) const {
  return Workload::FromOperator(graph_.node(*group.anchor).op, graph_.node(group.inputs[0]).type,
                                graph_.node(group.inputs[1]).type);
}

Status PlanBuilder::AddAnchor(const FusedGroup& group) {
  const int data = group.inputs[0], weight = group.inputs[1];
  TW_ASSIGN_OR_RETURN(auto workload, AnchorOf(group));
  const bool plain_weight = graph_.node(weight).kind != NodeKind::kConstant;
  const KernelOption* option = layout_ != nullptr && layout_->kernel ? &*layout_->kernel : nullptr;
  const std::string key =
      workload.Key() + (plain_weight ? " plain " : " ") + group.epilogue.ToString() + " " +
      LayoutSummary(group) +
      (option != nullptr ? " " + option->layouts.data + " " + option->layouts.output : "");
  auto known = choices_.find(key);
  if (known == choices_.end()) {
    const auto layout_seconds = [&](const KernelLayouts& layouts) {
      return LayoutSecondsOf(workload, group, layouts);
    };
    // Layers of a few rows are chosen for blocks of entries, whose kernels share the weight.
    std::optional<BlockChoice> chosen;
    if (options_.open && PositionsOf(options_) == nullptr) {
      TW_ASSIGN_OR_RETURN(chosen, ChooseBlocks(workload, group.epilogue, plain_weight, options_));
    }
    if (!chosen) {
      TW_ASSIGN_OR_RETURN(auto choice, ChooseKernel(workload, group.epilogue, plain_weight,
                                                    layout_seconds, options_, option));
      chosen = BlockChoice{std::move(choice), {}, {}};
    }
    const int kernel = AddKernel(chosen->one.program, SymbolPart(workload.op_name()));
    known = choices_
                .emplace(key, AnchorChoice{std::move(chosen->one), kernel,
                                           std::move(chosen->blocks), std::move(chosen->choice)})
                .first;
  }
  const auto& [choice, kernel, blocks, block_choice] = known->second;
  TW_ASSIGN_OR_RETURN(auto signature, SignatureOf(workload, group.epilogue, choice.layouts,
                                                  choice.program.parameters));
  TW_ASSIGN_OR_RETURN(auto logical_layout, workload.OutputLayout());
  PlanStep step;
  const TensorType& type = graph_.node(group.output).type;
  step.layouts = Canonical(type, {logical_layout, choice.layouts.output});

  std::vector<int> buffers;
  const auto add = [&](Result<int> buffer) -> Status {
    TW_RETURN_IF_ERROR(buffer);
    const std::int64_t bytes = plan_.buffers[static_cast<std::size_t>(*buffer)].bytes;
    if (signature.parameters[buffers.size()].type.bytes() != bytes) {
      return Internal(fmt::format("operand {} of {} has {} bytes", buffers.size(), key, bytes));
    }
    buffers.push_back(*buffer);
    return Status();
  };
  for (const KernelParameter& input : signature.inputs()) {
    // The operands of the epilogue follow data and weight.
    const int value = input.role == ParameterRole::kData ? data
                      : input.operand < 0
                          ? weight
                          : group.inputs[2 + static_cast<std::size_t>(input.operand)];
    TW_RETURN_IF_ERROR(add(input.role == ParameterRole::kTensor
                               ? BufferOf(value, step.layouts)
                               : InputBuffer(workload, signature, buffers.size(), value)));
  }
  TW_ASSIGN_OR_RETURN(auto shape, MemoryShape(type, step.layouts));
  step.result_bytes = TensorType{shape, type.dtype}.bytes();
  TW_RETURN_IF_ERROR(add(AddBuffer(BufferSpace::kArena, step.result_bytes)));
  Store(group.output, step.layouts, buffers.back());
  step.report = choice.report;
  const bool as_chosen = option == nullptr || SameLayouts(choice.layouts, option->layouts);
  if (layout_ != nullptr && layout_->changed && as_chosen) {
    step.report.explanation +=
        "; in layouts that cost the network less than those of the preferred kernel";
  }
  step.report.op = DescribeGroup(graph_, group, workload.op_name());
  step.report.macs = workload.macs();
  KernelStep call{.kernel = kernel,
                  .int8 = workload.data.dtype.bits == 8 && workload.weight.dtype.bits == 8,
                  .bfloat16 = workload.data.dtype == kBFloat16 && MultipliesPairs() &&
                              signature.layouts.winograd_tile == 0,
                  .winograd_tile = signature.layouts.winograd_tile,
                  .blocks = blocks,
                  .block_choice = block_choice};
  if (const auto conv = ConvShapeOf(workload); conv.ok() && call.winograd_tile > 0) {
    call.winograd_kernel = conv->r;
  }
  step.action = call;
  AddStep(std::move(step), group.output, buffers);
  return Status();
}

/// Returns the layout of the largest input that is not stored in its logical layout.
PhysicalLayout PlanBuilder::LayoutWithoutAnchor(const FusedGroup& group) const {
  PhysicalLayout best;
  std::int64_t most = 0;
  for (int input : group.inputs) {
    const auto& stored = stored_[static_cast<std::size_t>(input)];
    const std::int64_t bytes = graph_.node(input).type.bytes();
    if (Find(input, PhysicalLayout()) != nullptr || stored.empty() || bytes <= most) continue;
    best = stored.front().layouts;
    most = bytes;
  }
  return best;
}

bool PlanBuilder::FindTransposed(const FusedGroup& group) {
  const Node& node = graph_.node(group.nodes.front());
  if (node.op.kind != OpKind::kTranspose) return false;
  const int input = node.inputs[0];
  int source = input;
  while (views_.contains(source)) source = views_.at(source);
  const TensorType& type = graph_.node(source).type;
  for (const Stored& stored : stored_[static_cast<std::size_t>(source)]) {
    if (stored.layouts.is_logical()) continue;
    const auto order = TransposedOrder(type, stored.layouts.logical_layout,
                                       graph_.node(input).type.shape, node.op.attributes.axes);
    if (order.empty() ||
        order != MemoryOrder(type, stored.layouts.logical_layout, stored.layouts.layout)) {
      continue;
    }
    Store(group.nodes.front(), PhysicalLayout(), stored.buffer);
    return true;
  }
  return false;
}

Status PlanBuilder::AddUnanchored(const FusedGroup& given) {
  FusedGroup group = given;
  if (FindTransposed(group)) {
    group.nodes.erase(group.nodes.begin());
    if (group.nodes.empty()) return Status();
  }
  const PhysicalLayout layouts = layout_ != nullptr ? layout_->layouts : LayoutWithoutAnchor(group);
  if (!layouts.is_logical()) {
    const Status status = AddUnanchoredIn(group, layouts);
    if (status.ok() || status.code() != StatusCode::kUnsupported) return status;
  }
  return AddUnanchoredIn(group, PhysicalLayout());
}

Status PlanBuilder::AddUnanchoredIn(const FusedGroup& group, const PhysicalLayout& layouts) {
  TW_ASSIGN_OR_RETURN(auto in_place, AddInPlace(group, layouts));
  if (in_place) return Status();
  TW_ASSIGN_OR_RETURN(auto kernel, ListGroup(graph_, group, layouts, TablesOf(options_)));
  TW_ASSIGN_OR_RETURN(auto tuned, AddTuned(group, layouts, kernel));
  if (tuned) return Status();
  TW_ASSIGN_OR_RETURN(auto compute, DefineList(kernel.operators));
  auto schedule = FixedSchedule(std::move(compute), options_.target);
  if (!schedule.ok()) return NoKernel(schedule.status());
  auto program = Lower(*schedule, "kernel");
  if (!program.ok()) return NoKernel(program.status());
  const auto main =
      std::ranges::find_if(group.nodes, [&](int id) { return !IsHalfWideningCast(graph_, id); });
  const std::string name{
      OpName(graph_.node(main == group.nodes.end() ? group.output : *main).op.kind)};
  PlanStep step;
  step.report.op = DescribeGroup(graph_, group, name);
  if (layout_ != nullptr && layout_->changed) {
    step.report.explanation =
        "in a layout that costs the network less than that of its largest input";
  }
  TW_RETURN_IF_ERROR(AddListed(group, layouts, kernel, *std::move(program), std::move(step), name));
  const TensorType& type = graph_.node(group.output).type;
  const TensorType& result = kernel.operators.result();
  PlanStep& added = plan_.steps.back();
  for (std::size_t i = 0; i < kernel.inputs.size(); ++i) {
    const GroupInput& input = kernel.inputs[i];
    const Node& node = graph_.node(input.node);
    // An operand that is also read elsewhere in the kernel must keep its contents.
    if (input.elementwise && node.kind != NodeKind::kConstant && input.shape == result.shape &&
        node.type.dtype.bytes() == type.dtype.bytes() &&
        std::ranges::count(added.buffers, added.buffers[i]) == 1) {
      added.may_overwrite.push_back(added.buffers[i]);
    }
  }
  return Status();
}

bool PlanBuilder::MultipliesPairs() const {
  const auto features = FeaturesOf(options_.target);
  return device_.machine_code && features.ok() && features->avx512_bf16;
}

Status PlanBuilder::AddListed(const FusedGroup& group, const PhysicalLayout& layouts,
                              const GroupKernel& kernel, Program program, PlanStep step,
                              const std::string& name) {
  std::vector<int> buffers;
  for (const GroupInput& input : kernel.inputs) {
    const bool constant = graph_.node(input.node).kind == NodeKind::kConstant;
    TW_ASSIGN_OR_RETURN(auto buffer, constant ? PackConstant(input.node, input.layouts, input.shape)
                                              : BufferOf(input.node, input.layouts));
    buffers.push_back(buffer);
  }
  const bool narrow = std::ranges::any_of(kernel.inputs, [&](const GroupInput& input) {
    return graph_.node(input.node).type.dtype == kBFloat16;
  });
  step.action = KernelStep{.kernel = AddKernel(std::move(program), name),
                           .bfloat16 = narrow && step.report.macs > 0 && MultipliesPairs()};
  step.layouts = Canonical(graph_.node(group.output).type, layouts);
  step.result_bytes = kernel.operators.result().bytes();
  buffers.push_back(AddBuffer(BufferSpace::kArena, step.result_bytes));
  Store(group.output, step.layouts, buffers.back());
  AddStep(std::move(step), group.output, buffers);
  return Status();
}

Status PlanBuilder::AddAttention(const FusedGroup& group) {
  TW_ASSIGN_OR_RETURN(auto kernel, ListGroup(graph_, group, PhysicalLayout(), TablesOf(options_)));
  TW_ASSIGN_OR_RETURN(auto compute, DefineList(kernel.operators));
  PlanStep step;
  step.report.op = "attention";
  step.report.macs = compute.macs;
  const auto schedule = AttentionSchedule(std::move(compute), options_.target);
  if (!schedule) return Unsupported("no schedule");
  auto program = Lower(*schedule, "kernel");
  if (!program.ok()) return Unsupported(program.status().message());
  return AddListed(group, PhysicalLayout(), kernel, *std::move(program), std::move(step),
                   "attention");
}

Status PlanBuilder::CopyToArena(int node) {
  while (views_.contains(node)) node = views_.at(node);
  if (!SequenceOf(options_)->axes.contains(graph_.node(node).name)) return Status();
  for (Stored& stored : stored_[static_cast<std::size_t>(node)]) {
    const PlanBuffer& memory = plan_.buffers[static_cast<std::size_t>(stored.buffer)];
    if (memory.space != BufferSpace::kInput) continue;
    const int copy = AddBuffer(BufferSpace::kArena, memory.bytes);
    TW_RETURN_IF_ERROR(AddCopy(node, stored.buffer, copy));
    stored.buffer = copy;
  }
  return Status();
}

Status PlanBuilder::AddOpenAttention(const FusedGroup& group) {
  TW_ASSIGN_OR_RETURN(auto kernel, ListGroup(graph_, group, PhysicalLayout(), TablesOf(options_)));
  for (const GroupInput& input : kernel.inputs) TW_RETURN_IF_ERROR(CopyToArena(input.node));
  TW_ASSIGN_OR_RETURN(auto any_length,
                      OpenAttention(*SequenceOf(options_), group, kernel.inputs, options_.target));
  TW_ASSIGN_OR_RETURN(auto compute, DefineList(kernel.operators));
  TW_ASSIGN_OR_RETURN(const auto schedule, FixedSchedule(std::move(compute), options_.target));
  TW_ASSIGN_OR_RETURN(auto program, Lower(schedule, "kernel"));
  PlanStep step;
  step.report.op = "attention";
  step.report.macs = any_length.macs_of_position;
  TW_RETURN_IF_ERROR(
      AddListed(group, PhysicalLayout(), kernel, std::move(program), std::move(step), "attention"));
  auto& call = std::get<KernelStep>(plan_.steps.back().action);
  call.any_length = std::move(any_length.program);
  call.block_of_length = OpenAttentionBlock(options_.target);
  return Status();
}

Status PlanBuilder::AddJoin(const FusedGroup& group) {
  TW_ASSIGN_OR_RETURN(auto kernel, ListGroup(graph_, group, PhysicalLayout(), TablesOf(options_)));
  TW_ASSIGN_OR_RETURN(auto any_length,
                      OpenJoin(*SequenceOf(options_), group, kernel.inputs, options_.target));
  TW_ASSIGN_OR_RETURN(auto compute, DefineList(kernel.operators));
  TW_ASSIGN_OR_RETURN(const auto schedule, FixedSchedule(std::move(compute), options_.target));
  TW_ASSIGN_OR_RETURN(auto program, Lower(schedule, "kernel"));
  const std::string name{OpName(graph_.node(group.nodes.front()).op.kind)};
  PlanStep step;
  step.report.op = DescribeGroup(graph_, group, name);
  TW_RETURN_IF_ERROR(
      AddListed(group, PhysicalLayout(), kernel, std::move(program), std::move(step), name));
  std::get<KernelStep>(plan_.steps.back().action).any_length = std::move(any_length);
  return Status();
}

Status PlanBuilder::AddJoined(const JoinedGroups& joined) {
  if (SequenceOf(options_) != nullptr) {
    const Status open = AddOpenAttention(joined.whole);
    if (open.code() != StatusCode::kUnsupported) return open;
    return Unsupported(fmt::format("--dim {}: attention that {}; give one size, or several",
                                   options_.open->range.ToString(), open.message()));
  }
  const Status status = AddAttention(joined.whole);
  if (status.ok() || status.code() != StatusCode::kUnsupported) return status;
  for (std::size_t part : joined.parts) TW_RETURN_IF_ERROR(AddGroup(part));
  return Status();
}

Status PlanBuilder::AddRecurrence(const FusedGroup& group) {
  const Node& node = graph_.node(group.output);
  std::vector<TensorType> types;
  for (int input : node.inputs) types.push_back(graph_.node(input).type);
  TW_ASSIGN_OR_RETURN(auto kernel, BuildRecurrenceKernel(node.op, types, options_.target));
  std::optional<Program> any_length;
  if (const SequenceNetwork* sequence = SequenceOf(options_);
      sequence != nullptr && sequence->Joins(group)) {
    TW_ASSIGN_OR_RETURN(
        auto open, BuildRecurrenceKernel(node.op, types, options_.target, sequence->range.most));
    any_length = std::move(open.program);
  }
  std::vector<int> buffers;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::string& layout = kernel.layouts[i];
    TW_ASSIGN_OR_RETURN(
        auto buffer,
        BufferOf(node.inputs[i], layout.empty() ? PhysicalLayout() : PhysicalLayout{"NK", layout}));
    buffers.push_back(buffer);
  }
  PlanStep step;
  step.report.macs = kernel.macs;
  step.action = KernelStep{.kernel = AddKernel(std::move(kernel.program), "recurrence"),
                           .any_length = std::move(any_length)};
  step.result_bytes = node.type.bytes();
  step.report.op = DescribeGroup(graph_, group, std::string(OpName(node.op.kind)));
  buffers.push_back(AddBuffer(BufferSpace::kArena, step.result_bytes));
  Store(group.output, step.layouts, buffers.back());
  AddStep(std::move(step), group.output, buffers);
  return Status();
}

Status PlanBuilder::AddGroup(std::size_t number) {
  const FusedGroup& group = groups_[number];
  layout_ = layouts_.empty() ? nullptr : &layouts_[number];
  if (device_.has_host_fallback) return AddOffloaded(group);
  if (group.alias) return AddAlias(group);
  if (graph_.node(group.output).op.kind == OpKind::kRecurrence) return AddRecurrence(group);
  if (const SequenceNetwork* sequence = SequenceOf(options_);
      sequence != nullptr && sequence->Joins(group)) {
    const Status open = AddJoin(group);
    if (open.code() != StatusCode::kUnsupported) return open;
    return Unsupported(
        fmt::format("--dim {}: a kernel across positions that {}; give one size, or "
                    "several",
                    options_.open->range.ToString(), open.message()));
  }
  return group.anchor ? AddAnchor(group) : AddUnanchored(group);
}

Status PlanBuilder::AddCopy(int node, int from, int to) {
  PlanStep step;
  step.result_bytes = plan_.buffers[static_cast<std::size_t>(to)].bytes;
  step.report.op = "copy";
  AddStep(std::move(step), node, {from, to});
  return Status();
}

/// Moves the model's outputs to the caller's memory. Adds a copy only for an output that is an
/// input or a constant, is part of another buffer, has parts itself, is listed twice, or has room
/// for whole blocks of positions, which the caller's memory has not.
Status PlanBuilder::FinishOutputs() {
  for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
    const int node = graph_.outputs()[i];
    TW_ASSIGN_OR_RETURN(auto buffer, BufferOf(node, PhysicalLayout()));
    PlanBuffer& memory = plan_.buffers[static_cast<std::size_t>(buffer)];
    const bool padded = std::ranges::any_of(plan_.steps, [&](const PlanStep& step) {
      return step.kernel() != nullptr && step.kernel()->block_of_length > 1 &&
             std::ranges::find(step.buffers, buffer) != step.buffers.end();
    });
    if (memory.space == BufferSpace::kArena && memory.whole < 0 && !HasParts(buffer) && !padded) {
      memory.space = BufferSpace::kOutput;
      memory.index = static_cast<int>(i);
      continue;
    }
    const std::int64_t bytes = graph_.node(node).type.bytes();
    TW_RETURN_IF_ERROR(
        AddCopy(node, buffer, AddBuffer(BufferSpace::kOutput, bytes, static_cast<int>(i))));
  }
  return Status();
}

Result<Plan> PlanBuilder::Build() {
  if (device_.has_host_fallback) TW_RETURN_IF_ERROR(CheckContents());
  TW_RETURN_IF_ERROR(AddInputs());
  if (device_.machine_code) {
    TW_ASSIGN_OR_RETURN(auto choice, ChooseLayouts(graph_, groups_, options_));
    layouts_ = std::move(choice.groups);
    plan_.layouts = choice.report;
  }
  std::map<std::size_t, const JoinedGroups*> joined;  // by their parts
  std::vector<JoinedGroups> attention;
  if (const SequenceNetwork* sequence = SequenceOf(options_)) {
    attention = sequence->attention;
  } else if (device_.machine_code) {
    attention = FindAttention(graph_, groups_);
  }
  for (const JoinedGroups& each : attention) {
    for (std::size_t part : each.parts) joined[part] = &each;
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const auto whole = joined.find(i);
    if (whole != joined.end() && whole->second->parts.back() != i) continue;
    const Status status = whole == joined.end() ? AddGroup(i) : AddJoined(*whole->second);
    if (!status.ok()) {
      return status.WithContext(OriginsOf(graph_, groups_[i]));
    }
  }
  TW_RETURN_IF_ERROR(FinishOutputs());
  PlanMemory(plan_);
  return std::move(plan_);
}

namespace {

/// Checks the preference's limit. Its shares were computed from records that the epilogue or layout
/// of an operator may exclude, and without the operators that only the plan has.
/// Errors: kInvalidArgument if the used records exceed the limit.
Status CheckLimit(const Plan& plan, const CompileOptions& options) {
  if (!options.prefer || options.prefer->shares.empty()) return {};
  constexpr double kRounding = 1e-9;  // of sums in different orders
  double sum = 0;
  for (const PlanStep& step : plan.steps) {
    const StreamStep* stream = step.stream();
    const OperatorReport& report = stream != nullptr ? plan.StreamOf(*stream).report : step.report;
    sum += report.limited.value_or(0);
  }
  if (sum <= options.prefer->limit * (1 + kRounding)) return {};
  return InvalidArgument("prefer: the records that this network can use come to " +
                         ShortestDouble(sum) + " " + options.prefer->limited +
                         ", above the limit of " + ShortestDouble(options.prefer->limit) +
                         ": some operators cannot use what the limit was shared out by; a lower "
                         "limit makes room for them");
}

}  // namespace

Result<Plan> MakePlan(PartitionedGraph network, const CompileOptions& options,
                      const std::vector<StreamKernel>* streams) {
  if (DeviceTraitsOf(options.target).has_host_fallback)
    TW_RETURN_IF_ERROR(CheckDesign(options.target));
  TW_ASSIGN_OR_RETURN(auto plan, PlanBuilder(std::move(network), options, streams).Build());
  TW_RETURN_IF_ERROR(CheckLimit(plan, options));
  return plan;
}

}  // namespace tilewright
