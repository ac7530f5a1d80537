#include "src/codegen/opencl/source.h"

#include "src/codegen/opencl/defined_functions.h"
#include "src/codegen/opencl/kernel_writer.h"

namespace tilewright::opencl {
namespace {

Status PrintProgram(const Program& program, DefinedFunctions& defined, std::string& kernels) {
  if (!program.body) return InvalidArgument(program.name + ": no body");
  const LaunchPlan plan = PlanLaunches(program);
  Program part = program;
  part.parameters.insert(part.parameters.end(), plan.workspace.begin(), plan.workspace.end());
  part.output_count += static_cast<int>(plan.workspace.size());
  for (const Launch& launch : plan.launches) {
    part.name = launch.name;
    part.body = launch.body;
    const LaunchLimits limits;
    TW_ASSIGN_OR_RETURN(
        const auto storage,
        emit::PlanStorage(part, {.register_bytes = limits.registers_per_thread * 4, .gpu = true}));
    TW_ASSIGN_OR_RETURN(auto text, KernelWriter(launch, part, storage, defined).Write());
    if (!kernels.empty()) kernels += "\n";
    kernels += text;
  }
  return {};
}

}  // namespace

Result<std::string> PrintSource(const std::vector<Program>& programs) {
  DefinedFunctions defined;
  std::string kernels;
  for (const Program& program : programs) {
    TW_RETURN_IF_ERROR(PrintProgram(program, defined, kernels).WithContext(program.name));
  }
  return defined.Text() + kernels;
}

}  // namespace tilewright::opencl
