#include "src/report/code_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/codegen/amdgpu/code_object.h"
#include "src/schedule/launch.h"
#include "src/target/device.h"

namespace tilewright::report {

Status CheckCodeForm(std::string_view form, const Target& target) {
  struct Form {
    std::string_view name, of;
    bool ptx, source, code_object;
  };
  constexpr std::array kForms = {Form{"ptx", "cuda", true, false, false},
                                 Form{"opencl", "opencl", false, true, false},
                                 Form{"hsaco", "rocm", false, false, true},
                                 Form{"resources", "cuda or rocm", true, false, true}};
  const auto* found = std::ranges::find(kForms, form, &Form::name);
  if (found == kForms.end()) return {};
  const DeviceTraits& device = DeviceTraitsOf(target);
  const bool other = device.grids_are_source || device.grids_are_code_objects;
  if ((found->source && device.grids_are_source) ||
      (found->code_object && device.grids_are_code_objects) ||
      (found->ptx && device.launches_grids && !other)) {
    return {};
  }
  return InvalidArgument(fmt::format("--emit {}: the target is '{}', expected {}", form,
                                     target.kind_name(), found->of));
}

Result<std::string> AmdResourcesText(const Program& program, const std::string& code_object) {
  TW_ASSIGN_OR_RETURN(const auto kernels, ResourcesOfCodeObject(code_object));
  const LaunchPlan plan = PlanLaunches(program);
  std::string text;
  for (const AmdKernelResources& kernel : kernels) {
    const auto launch = std::ranges::find(plan.launches, kernel.kernel, &Launch::name);
    const std::int64_t given = launch == plan.launches.end() ? 0 : launch->dynamic_shared_bytes();
    text += fmt::format(
        "{}: {} vector registers, {} scalar registers, {} bytes of shared memory, {} bytes of "
        "private memory, spills: {} vector registers, {} scalar registers\n",
        kernel.kernel, kernel.vector_registers, kernel.scalar_registers, kernel.local_bytes + given,
        kernel.private_bytes, kernel.vector_spills, kernel.scalar_spills);
  }
  return text;
}

}  // namespace tilewright::report
