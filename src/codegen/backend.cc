#include "src/codegen/backend.h"

#include "src/target/device.h"

namespace tilewright {

Result<const Backend*> BackendFor(const Target& target) {
  const DeviceTraits& device = DeviceTraitsOf(target);
  if (device.machine_code) return &emit::kBackend;
  if (device.grids_are_source) return &opencl::kBackend;
  if (device.grids_are_code_objects) return &amdgpu::kBackend;
  if (device.launches_grids) return &nvptx::kBackend;
  return Unsupported("no code generator for target kind " + target.kind_name());
}

}  // namespace tilewright
