#include "src/compiler/run/gpu_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/codegen/simt/simt.h"
#include "src/compiler/check/check_process.h"
#include "src/compiler/check/operator_verifier.h"
#include "src/graph/ir/evaluate.h"
#include "src/graph/passes/passes.h"
#include "src/runtime/guarded_buffer.h"
#include "src/schedule/tolerance.h"
#include "src/target/device.h"

namespace tilewright {
namespace {

class Emulator final : public GpuExecutor {
 public:
  explicit Emulator(std::vector<SimtKernel> kernels) : kernels_(std::move(kernels)) {}
  Status Run(std::size_t kernel, std::span<void* const> arguments) override {
    return kernels_[kernel].Run(arguments);
  }

 private:
  std::vector<SimtKernel> kernels_;
};

/// The memory of one run.
class Memory {
 public:
  static Result<Memory> Create(const GpuPlan& plan, std::span<const Tensor> inputs) {
    Memory memory(plan.plan);
    auto arena = GuardedBuffer::Create(plan.plan.arena_bytes);
    TW_RETURN_IF_ERROR(arena);
    memory.arena_.emplace(*std::move(arena));
    for (const Tensor& input : inputs) memory.inputs_.push_back(input.Clone());
    for (const Tensor& constant : plan.plan.constants) {
      memory.constants_.push_back(constant.Clone());
    }
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
  /// Errors: kCorrupt if a kernel wrote beside the working memory.
  Status Check() const { return arena_->CheckRedZone().WithContext("working memory"); }
  std::vector<Tensor> TakeOutputs() { return std::move(outputs_); }

 private:
  explicit Memory(const Plan& plan) : plan_(plan) {}
  const Plan& plan_;
  std::optional<GuardedBuffer> arena_;
  std::vector<Tensor> inputs_, constants_, outputs_;
};

Status RunStep(const PlanStep& step, GpuExecutor& executor, Memory& memory) {
  if (step.kernel < 0) {
    std::memcpy(memory.At(step.buffers.back()), memory.At(step.buffers.front()),
                static_cast<std::size_t>(step.result_bytes));
    return {};
  }
  std::vector<void*> arguments;
  for (const int buffer : step.buffers) arguments.push_back(memory.At(buffer));
  return executor.Run(static_cast<std::size_t>(step.kernel), arguments);
}

}  // namespace

Result<GpuPlan> PlanGpu(Graph graph, const CompileOptions& options) {
  if (!DeviceTraitsOf(options.target).grids) {
    return InvalidArgument("target kind " + options.target.kind_name() + ", expected cuda");
  }
  auto optimized = Optimize(std::move(graph));
  TW_RETURN_IF_ERROR(optimized);
  auto plan = MakePlan(*optimized, options);
  TW_RETURN_IF_ERROR(plan);
  return GpuPlan{*std::move(optimized), options.target, *std::move(plan)};
}

Result<std::unique_ptr<GpuExecutor>> EmulateGpu(const GpuPlan& plan) {
  std::vector<SimtKernel> kernels;
  for (const Program& program : plan.plan.kernels) {
    auto kernel = SimtKernel::Build(program, plan.target);
    if (!kernel.ok()) return kernel.status().WithContext(program.name);
    kernels.push_back(*std::move(kernel));
  }
  return std::unique_ptr<GpuExecutor>(std::make_unique<Emulator>(std::move(kernels)));
}

Result<std::vector<Tensor>> RunGpu(const GpuPlan& plan, GpuExecutor& executor,
                                   std::span<const Tensor> inputs, const GpuObserver& observe,
                                   CheckProgress* progress) {
  TW_RETURN_IF_ERROR(CheckGraphInputs(plan.graph, inputs));
  auto memory = Memory::Create(plan, inputs);
  TW_RETURN_IF_ERROR(memory);
  for (std::size_t i = 0; i < plan.plan.steps.size(); ++i) {
    const PlanStep& step = plan.plan.steps[i];
    const std::string& name = plan.graph.node(step.node).name;
    if (progress != nullptr) progress->Begin(static_cast<std::int64_t>(i));
    const Status ran = RunStep(step, executor, *memory);
    if (progress != nullptr) progress->End();
    TW_RETURN_IF_ERROR(ran.WithContext(name));
    if (observe == nullptr) continue;
    auto result =
        ToNative(plan.graph.node(step.node).type, step.form, memory->At(step.buffers.back()));
    TW_RETURN_IF_ERROR(result);
    TW_RETURN_IF_ERROR(observe(i, *result));
  }
  TW_RETURN_IF_ERROR(memory->Check());
  return memory->TakeOutputs();
}

Result<VerifyReport> VerifyGpu(const GpuPlan& plan, GpuExecutor& executor,
                               std::span<const Tensor> inputs, const VerifyOptions& options) {
  TW_RETURN_IF_ERROR(CheckGraphInputs(plan.graph, inputs));
  OperatorVerifier verifier(plan.graph, inputs, options);
  const auto observe = [&](std::size_t index, const Tensor& result) -> Status {
    const PlanStep& step = plan.plan.steps[index];
    // Copies of inputs and constants are no operators.
    if (plan.graph.node(step.node).kind != NodeKind::kOperator) return {};
    const auto least = step.kernel >= 0
                           ? ToleranceOf(plan.plan.kernels[static_cast<std::size_t>(step.kernel)])
                           : std::nullopt;
    return verifier.Check(step.node, step.report.op, result.Clone(), least);
  };
  const auto run = RunGpu(plan, executor, inputs, observe, options.progress);
  TW_RETURN_IF_ERROR(run);
  return verifier.Finish();
}

}  // namespace tilewright
