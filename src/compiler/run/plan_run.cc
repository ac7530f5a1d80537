// Run of a plan's steps in order, each by its executor, in one block of memory.

#include "src/compiler/run/plan_run.h"

#include <cstring>
#include <optional>
#include <utility>

#include "src/codegen/simt/simt.h"
#include "src/runtime/guarded_buffer.h"
#include "src/schedule/tolerance.h"
#include "src/target/device.h"

namespace tilewright {
namespace {

class Emulator final : public StepExecutor {
 public:
  explicit Emulator(std::vector<SimtKernel> kernels) : kernels_(std::move(kernels)) {}
  Status Run(const PlanStep& step, std::span<void* const> arguments) override {
    const auto number = static_cast<std::size_t>(std::get<KernelStep>(step.action).kernel);
    return kernels_[number].Run(arguments);
  }

 private:
  std::vector<SimtKernel> kernels_;
};

/// Memory of one run.
class Memory {
 public:
  static Result<Memory> Create(const Plan& plan, std::span<const Tensor> inputs) {
    Memory memory(plan);
    TW_ASSIGN_OR_RETURN(auto arena, GuardedBuffer::Create(plan.arena_bytes));
    memory.arena_.emplace(std::move(arena));
    for (const Tensor& input : inputs) memory.inputs_.push_back(input.Clone());
    for (const Tensor& constant : plan.constants) memory.constants_.push_back(constant.Clone());
    for (const int output : plan.graph.outputs()) {
      memory.outputs_.emplace_back(plan.graph.node(output).type);
    }
    return memory;
  }

  std::byte* At(int buffer) {
    const PlanBuffer& place = plan_.buffers[static_cast<std::size_t>(buffer)];
    const auto index = static_cast<std::size_t>(place.index);
    switch (place.space) {
      case BufferSpace::kArena:
        return static_cast<std::byte*>(arena_->data()) + place.offset;
      case BufferSpace::kConstant:
        return constants_[index].data();
      case BufferSpace::kInput:
        return inputs_[index].data();
      case BufferSpace::kOutput:
        return outputs_[index].data();
    }
    return nullptr;
  }
  /// Errors: kCorrupt if a step wrote outside of the working memory.
  Status Check() const { return arena_->CheckRedZone().WithContext("working memory"); }
  std::vector<Tensor> TakeOutputs() { return std::move(outputs_); }

 private:
  explicit Memory(const Plan& plan) : plan_(plan) {}
  const Plan& plan_;
  std::optional<GuardedBuffer> arena_;
  std::vector<Tensor> inputs_, constants_, outputs_;
};

Status RunStep(const PlanStep& step, StepExecutor& executor, Memory& memory) {
  if (step.copies()) {
    std::memcpy(memory.At(step.buffers.back()), memory.At(step.buffers.front()),
                static_cast<std::size_t>(step.result_bytes));
    return {};
  }
  std::vector<void*> arguments;
  for (const int buffer : step.buffers) arguments.push_back(memory.At(buffer));
  return executor.Run(step, arguments);
}

ModelOperator OperatorOf(const Plan& plan, const PlanStep& step) {
  const Node& node = plan.graph.node(step.node);
  ModelOperator op{{node.name, node.type}, step.report.op,   step.layouts.logical_layout,
                   step.layouts.layout,    step.report.macs, step.report.bytes};
  if (const KernelStep* kernel = step.kernel()) {
    op.int8 = kernel->int8;
    op.bfloat16 = kernel->bfloat16;
    op.tolerance = ToleranceOf(plan.KernelOf(*kernel));
    op.winograd_tile = kernel->winograd_tile;
    op.winograd_kernel = kernel->winograd_kernel;
  }
  // Copies of inputs and constants are no operators, and values that a host copies were compared
  // where they were computed.
  op.is_reference = node.kind != NodeKind::kOperator || step.host() != nullptr ||
                    (step.copies() && DeviceTraitsOf(plan.target).has_host_fallback);
  op.kernel = step.report.kernel;
  return op;
}

}  // namespace

Result<std::unique_ptr<StepExecutor>> EmulateGpu(const Plan& plan) {
  if (!DeviceTraitsOf(plan.target).launches_grids) {
    return InvalidArgument("target kind " + plan.target.kind_name() + ", expected cuda");
  }
  std::vector<SimtKernel> kernels;
  for (const Program& program : plan.kernels) {
    auto kernel = SimtKernel::Build(program, plan.target);
    if (!kernel.ok()) return kernel.status().WithContext(program.name);
    kernels.push_back(*std::move(kernel));
  }
  return std::unique_ptr<StepExecutor>(std::make_unique<Emulator>(std::move(kernels)));
}

PlannedNetwork::PlannedNetwork(const Plan& plan, StepExecutor& executor)
    : plan_(plan), executor_(executor) {
  name_ = plan.graph.name;
  inputs_ = ValuesOf(plan.graph, plan.graph.inputs());
  outputs_ = ValuesOf(plan.graph, plan.graph.outputs());
  for (const PlanStep& step : plan.steps) operators_.push_back(OperatorOf(plan, step));
}

Result<std::vector<Tensor>> PlannedNetwork::RunWithHooks(std::span<const Tensor> inputs,
                                                         const OnBegin& begin,
                                                         const OnResult& observe) const {
  TW_RETURN_IF_ERROR(CheckInputs(inputs));
  TW_ASSIGN_OR_RETURN(auto memory, Memory::Create(plan_, inputs));
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const PlanStep& step = plan_.steps[i];
    const Node& node = plan_.graph.node(step.node);
    if (begin != nullptr) begin(i);
    const Status ran = RunStep(step, executor_, memory);
    if (!ran.ok()) return ran.WithContext(plan_.graph.DescribeOrigin(step.node));
    if (observe == nullptr) continue;
    TW_ASSIGN_OR_RETURN(auto result,
                        ToLogical(node.type, step.layouts, memory.At(step.buffers.back())));
    TW_RETURN_IF_ERROR(observe(i, std::move(result)));
  }
  if (begin != nullptr) begin(plan_.steps.size());
  TW_RETURN_IF_ERROR(memory.Check());
  return memory.TakeOutputs();
}

}  // namespace tilewright
