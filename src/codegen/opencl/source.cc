#include "src/codegen/opencl/source.h"

#include "src/codegen/opencl/defined_functions.h"
#include "src/codegen/opencl/kernel_writer.h"

namespace tilewright::opencl {
namespace {

/// Returns the lines that declare the images of a program to the runtime
/// (TwOpenClNextImage).
std::string ImageLines(const Program& program, const std::vector<WorkspaceImage>& images) {
  std::string lines;
  for (const WorkspaceImage& image : images) {
    lines += "// tw_image " + program.name + " " + std::to_string(image.argument) + " " +
             std::to_string(image.width) + " " + std::to_string(image.height) +
             (image.buffer->dtype == kFloat16 ? " half\n" : " float\n");
  }
  return lines;
}

struct Text {
  std::string images, kernels;
};

Status PrintProgram(const Program& program, DefinedFunctions& defined, Text& out) {
  if (!program.body) return InvalidArgument(program.name + ": no body");
  const LaunchPlan plan = PlanLaunches(program);
  TW_ASSIGN_OR_RETURN(const auto images, WorkspaceImagesOf(program, plan));
  out.images += ImageLines(program, images);
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
    TW_ASSIGN_OR_RETURN(auto text, KernelWriter(launch, part, storage, images, defined).Write());
    if (!out.kernels.empty()) out.kernels += "\n";
    out.kernels += text;
  }
  return {};
}

}  // namespace

Result<std::string> PrintSource(const std::vector<Program>& programs) {
  DefinedFunctions defined;
  Text text;
  for (const Program& program : programs) {
    TW_RETURN_IF_ERROR(PrintProgram(program, defined, text).WithContext(program.name));
  }
  return text.images + defined.Text() + text.kernels;
}

}  // namespace tilewright::opencl
