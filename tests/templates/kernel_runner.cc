#include "tests/templates/kernel_runner.h"

#include <cstring>
#include <utility>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/random.h"
#include "src/codegen/codegen.h"
#include "src/codegen/runtime_archive.h"
#include "src/codegen/simt/simt.h"
#include "src/runtime/loader.h"
#include "src/runtime/thread_pool.h"
#include "src/schedule/lower/lower.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/templates/limits.h"
#include "src/tensor/compute/kernel_signature.h"
#include "src/tensor/layout.h"

namespace tilewright {
namespace {

void Fill(Tensor& tensor, Random& random) {
  const DataType dtype = tensor.dtype();
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    double value = 2 * random.Uniform() - 1;
    if (dtype.bits == 8) {
      const bool is_unsigned = dtype.code == TypeCode::kUInt;
      value = static_cast<double>(random.Below(256)) - (is_unsigned ? 0 : 128);
    } else if (dtype.is_integer()) {
      value = static_cast<double>(random.Below(2001)) - 1000;
    }
    tensor.Set(i, value);
  }
}

std::vector<std::int64_t> LogicalSizes(const TensorType& type, const std::string& layout) {
  auto parsed = Layout::Parse(layout);
  TW_CHECK(parsed.ok());
  return parsed->Unpack(type.shape);
}

/// Fills the result with a poison value to detect unwritten elements.
std::vector<void*> Prepare(std::vector<Tensor>& arguments) {
  std::vector<void*> pointers;
  for (Tensor& argument : arguments) pointers.push_back(argument.data());
  std::memset(arguments.back().data(), 0xC5, static_cast<std::size_t>(arguments.back().bytes()));
  return pointers;
}

Result<Tensor> RunInSimt(const Program& program, const Target& target,
                         std::vector<Tensor>& arguments) {
  auto kernel = SimtKernel::Build(program, target);
  TW_RETURN_IF_ERROR(kernel);
  TW_RETURN_IF_ERROR(kernel->Run(Prepare(arguments)));
  return std::move(arguments.back());
}

GpuExecutor gpu_executor, foreign_executor;
ObjectMaker object_maker;

Result<Tensor> RunBy(const GpuExecutor& executor, const Program& program, const Target& target,
                     std::vector<Tensor>& arguments) {
  (void)Prepare(arguments);
  TW_RETURN_IF_ERROR(executor(program, target, arguments));
  return std::move(arguments.back());
}

Result<Tensor> Run(const Program& program, const Target& target, std::vector<Tensor>& arguments) {
  if (DeviceTraitsOf(target).launches_grids) {
    return gpu_executor ? RunBy(gpu_executor, program, target, arguments)
                        : RunInSimt(program, target, arguments);
  }
  if (foreign_executor && ArchitectureOf(target) != HostArchitecture()) {
    return RunBy(foreign_executor, program, target, arguments);
  }
  auto object =
      object_maker ? object_maker(program, target) : Generate({program}, target, Emit::kObject);
  TW_RETURN_IF_ERROR(object);
  auto folder = ScopedTempDir::Create("tilewright-test");
  TW_RETURN_IF_ERROR(folder);
  const std::string path = folder->path() + "/kernel.so";
  TW_RETURN_IF_ERROR(LinkKernel(program, *object, target, path));
  auto kernel = LoadKernel(path, program.name);
  TW_RETURN_IF_ERROR(kernel);
  auto pool = ThreadPool::Create(target.num_threads(), /*pin=*/false);
  TW_RETURN_IF_ERROR(pool);
  Tensor workspace(TensorType{{kernel->entry.WorkspaceBytes(target.num_threads()) + 64}, kInt8});
  const std::vector<void*> pointers = Prepare(arguments);
  if (kernel->entry.run(pointers.data(), workspace.data(), pool->parallel()) != 0) {
    return Internal("the kernel returned an error");
  }
  return std::move(arguments.back());
}

}  // namespace

void MakeObjectsBy(ObjectMaker maker) { object_maker = std::move(maker); }

void ExecuteGpuKernelsBy(GpuExecutor executor) { gpu_executor = std::move(executor); }
void ExecuteForeignKernelsBy(GpuExecutor executor) { foreign_executor = std::move(executor); }

AnchorData MakeAnchorData(const Workload& w, const Epilogue& epilogue, std::uint64_t seed) {
  Random random(seed);
  AnchorData made{Tensor(w.data), Tensor(w.weight), {}};
  Fill(made.data, random);
  if (w.op == OpKind::kExpression) {
    for (std::size_t i = 1; i < w.expression.inputs.size(); ++i) {
      made.operands.emplace_back(w.expression.inputs[i].type);
      Fill(made.operands.back(), random);
    }
    return made;
  }
  Fill(made.weight, random);
  for (std::int64_t i = 0; w.reduced_range_weights && i < made.weight.elements(); ++i) {
    made.weight.Set(i, made.weight.At(i) / 2);
  }
  auto output = w.OutputType();
  auto layout = w.OutputLayout();
  TW_CHECK(output.ok() && layout.ok());
  const auto letters = Layout::Parse(*layout)->primal();
  const auto sizes = LogicalSizes(*output, *layout);
  const bool conv = w.op == OpKind::kConv2d || w.op == OpKind::kConv2dTranspose;
  const std::int64_t channels = sizes[letters.find(conv ? 'C' : 'N')];
  for (const EpilogueStep& step : epilogue.steps) {
    if (!step.has_parameter()) continue;
    TensorType type{output->shape, step.operand_dtype};
    if (step.operand == OperandKind::kChannel) type.shape = {channels};
    if (step.operand == OperandKind::kBroadcast) type.shape = step.BroadcastShape(type.shape);
    made.operands.emplace_back(std::move(type));
    Fill(made.operands.back(), random);
  }
  return made;
}

Result<Tensor> RunSchedule(const Schedule& schedule, const Target& target,
                           std::vector<Tensor>& arguments) {
  auto program = Lower(schedule, "tw_kernel", LowerLimitsFor(target));
  TW_RETURN_IF_ERROR(program);
  return Run(*program, target, arguments);
}

Result<Tensor> RunKernel(const Workload& w, const Epilogue& epilogue, const Target& target,
                         const Kernel& kernel, const AnchorData& operands) {
  auto program = Lower(kernel.schedule, "tw_kernel", LowerLimitsFor(target));
  TW_RETURN_IF_ERROR(program);
  return RunProgram(w, epilogue, target, *program, kernel.layouts, operands);
}

Result<Tensor> RunProgram(const Workload& w, const Epilogue& epilogue, const Target& target,
                          const Program& program, const KernelLayouts& layouts,
                          const AnchorData& operands) {
  auto output_layout = w.OutputLayout();
  TW_RETURN_IF_ERROR(output_layout);
  auto signature = SignatureOf(w, epilogue, layouts, program.parameters);
  TW_RETURN_IF_ERROR(signature);
  std::vector<Tensor> arguments;
  for (const KernelParameter& input : signature->inputs()) {
    const bool first = input.role == ParameterRole::kData ||
                       (input.role == ParameterRole::kInput && input.operand == 0);
    // The first input of an expression is the data.
    const int before = input.role == ParameterRole::kInput ? 1 : 0;
    const Tensor& source =
        first               ? operands.data
        : input.operand < 0 ? operands.weight
                            : operands.operands[static_cast<std::size_t>(input.operand - before)];
    auto argument = ParameterTensor(w, *signature, arguments.size(), source);
    TW_RETURN_IF_ERROR(argument);
    argument->Reshape(input.type.shape);
    arguments.push_back(*std::move(argument));
  }
  const BufferNode& result = *program.parameters.back();
  arguments.emplace_back(TensorType{result.shape, result.dtype});
  auto raw = Run(program, target, arguments);
  TW_RETURN_IF_ERROR(raw);

  auto own = w.OutputType();
  TW_RETURN_IF_ERROR(own);
  if (layouts.output.empty() || layouts.output == *output_layout) {
    raw->Reshape(own->shape);
    return raw;
  }
  // Converts from the kernel's blocked layout; padding channels are dropped.
  const auto sizes = LogicalSizes(*own, *output_layout);
  const auto own_letters = Layout::Parse(*output_layout)->primal();
  const auto form_layout = Layout::Parse(layouts.output);
  std::vector<std::int64_t> logical;
  for (char c : form_layout->primal()) logical.push_back(sizes[own_letters.find(c)]);
  raw->Reshape(form_layout->Pack(logical));
  return TransformLayout(*raw, layouts.output, *output_layout, logical);
}

}  // namespace tilewright
