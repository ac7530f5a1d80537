#include "src/compiler/emit/gpu_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "src/base/math.h"
#include "src/runtime/cuda_functions.h"
#include "src/runtime/gpu_model.h"
#include "src/runtime/opencl/functions.h"
#include "src/schedule/launch.h"
#include "src/target/device.h"
#include "src/target/gpu.h"

namespace tilewright {
namespace {

constexpr std::string_view kGpuTypes =
    "%Launch = type { ptr, [3 x i32], [3 x i32], i32 }\n"
    "%Kernel = type { ptr, ptr, i64, ptr, i64 }\n";
static_assert(sizeof(TwGpuLaunch) == 40 && sizeof(TwGpuKernel) == 40 &&
              sizeof(TwGpuModel) == sizeof(TwModel) + 56);

/// Driver of a target's device, and what the code needs.
struct GpuCode {
  const char* driver;           ///< symbol
  int capability = 0;           ///< TwGpuModel::capability
  std::int64_t code_bytes = 1;  ///< alignment of the code
};

/// Returns the processor as a number: 0x906 for gfx906.
Result<int> ProcessorNumber(const Target& target) {
  constexpr std::string_view kPrefix = "gfx";
  TW_ASSIGN_OR_RETURN(const auto processor, AmdProcessorOf(target));
  int number = 0;
  const std::string_view digits = processor.name.substr(kPrefix.size());
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  TW_CHECK(read.ec == std::errc(), std::string(processor.name));
  return number;
}

/// Errors: those of ComputeCapabilityOf.
Result<GpuCode> CodeOf(const Target& target) {
  const DeviceTraits& device = DeviceTraitsOf(target);
  if (device.grids_are_source) return GpuCode{"TwOpenClDriver"};
  if (device.grids_are_code_objects) {
    constexpr std::int64_t kPage = 4096;  // as compilers of HIP align code
    TW_ASSIGN_OR_RETURN(const auto processor, ProcessorNumber(target));
    return GpuCode{"TwHipDriver", processor, kPage};
  }
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  return GpuCode{"TwCudaDriver", capability};
}

std::string GridText(const std::array<std::int64_t, 3>& sizes) {
  return fmt::format("[3 x i32] [i32 {}, i32 {}, i32 {}]", sizes[0], sizes[1], sizes[2]);
}

/// Adds the tables of one kernel. Returns the `%Kernel` constant that refers to them.
std::string AddKernel(const Program& program, const std::string& code, std::size_t number,
                      std::int64_t code_alignment, std::int64_t alignment,
                      std::int64_t& workspace_bytes, std::string& text) {
  const LaunchPlan plan = PlanLaunches(program);
  std::string launches, offsets;
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    const Launch& launch = plan.launches[i];
    text += fmt::format("@entry{}_{} = internal constant {}\n", number, i, IrString(launch.name));
    launches += fmt::format("{}%Launch {{ ptr @entry{}_{}, {}, {}, i32 {} }}", i == 0 ? "" : ", ",
                            number, i, GridText(launch.grid), GridText(launch.block),
                            launch.dynamic_shared_bytes());
  }
  std::int64_t end = 0;
  for (const Buffer& buffer : plan.workspace) {
    offsets += fmt::format("{}i64 {}", offsets.empty() ? "" : ", ", end);
    end += RoundUp(buffer->bytes(), alignment);
  }
  workspace_bytes = std::max(workspace_bytes, end);
  text += fmt::format(
      "@code{0} = internal constant {1}, align {6}\n"
      "@launches{0} = internal constant [{2} x %Launch] [{3}]\n"
      "@workspace{0} = internal constant [{4} x i64] [{5}]\n",
      number, IrString(code), plan.launches.size(), launches, plan.workspace.size(), offsets,
      code_alignment);
  return fmt::format(
      "%Kernel {{ ptr @code{0}, ptr @launches{0}, i64 {1}, ptr @workspace{0}, i64 {2} }}", number,
      plan.launches.size(), plan.workspace.size());
}

}  // namespace

const char* DriverLibraryOf(const Target& target) {
  const DeviceTraits& device = DeviceTraitsOf(target);
  if (device.grids_are_source) return TW_OPENCL_LIBRARY;
  return device.grids_are_code_objects ? TW_HIP_LIBRARY : TW_CUDA_LIBRARY;
}

std::string IrString(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
    if (plain) {
      escaped += c;
    } else {
      escaped += fmt::format("\\{:02X}", static_cast<unsigned char>(c));
    }
  }
  return fmt::format("[{} x i8] c\"{}\\00\"", text.size() + 1, escaped);
}

Result<GpuTables> MakeGpuTables(const Plan& plan, const std::vector<std::string>& code) {
  TW_ASSIGN_OR_RETURN(const auto made, CodeOf(plan.target));
  const std::int64_t alignment = AlignmentOf(plan.target);
  GpuTables tables;
  tables.definitions =
      std::string(kGpuTypes) + fmt::format("@{} = external constant i8\n", made.driver);
  std::int64_t workspace_bytes = 0;
  std::string kernels, steps;
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    const std::string kernel = AddKernel(plan.kernels[i], code[i], i, made.code_bytes, alignment,
                                         workspace_bytes, tables.definitions);
    kernels += (i == 0 ? "\n  " : ",\n  ") + kernel;
  }
  for (const PlanStep& step : plan.steps) {
    const KernelStep* call = step.kernel();  // -1 tells the runtime to copy
    steps +=
        fmt::format("{}i32 {}", steps.empty() ? "" : ", ", call == nullptr ? -1 : call->kernel);
  }
  tables.definitions += fmt::format(
      "@kernels = internal constant [{} x %Kernel] [{}]\n"
      "@step_kernels = internal constant [{} x i32] [{}]\n",
      plan.kernels.size(), kernels, plan.steps.size(), steps);
  tables.fields =
      fmt::format(", ptr @kernels, i64 {}, ptr @step_kernels, i64 {}, i64 {}, i64 {}, ptr @{}",
                  plan.kernels.size(), workspace_bytes, made.capability, alignment, made.driver);
  return tables;
}

}  // namespace tilewright
