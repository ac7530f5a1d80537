#include "src/templates/limits.h"

#include <algorithm>
#include <string>

#include "src/base/strings.h"
#include "src/target/device.h"
#include "src/target/gpu.h"

namespace tilewright {
namespace {

/// Limits of nearly every OpenCL device; TVM's defaults for the target, too.
constexpr std::int64_t kSourceThreads = 256, kSourceSharedBytes = 32 * 1024;
/// Work-items of a group on nearly every Adreno, along each axis. AutoTVM's records have more than
/// their targets' -max_num_threads, which is TVM's default.
constexpr std::int64_t kAdrenoThreads = 1024;
/// Private memory of a group in registers of a CUDA device: 2 MiB.
constexpr std::int64_t kPrivateOfRegisters = 8;

std::int64_t NumberOf(const Target& target, std::string_view option, std::int64_t otherwise) {
  const auto number = ParseInt64(target.Option(option));
  return number.ok() && *number > 0 ? std::min(*number, 4 * otherwise) : otherwise;
}

}  // namespace

LowerLimits LowerLimitsFor(const Target& target) {
  LowerLimits limits;
  if (!DeviceTraitsOf(target).launches_grids) return limits;
  if (DeviceTraitsOf(target).grids_are_source) {
    // Registers are the compiler's: private arrays can be memory.
    limits.launch.registers_per_thread = limits.launch.registers_per_block;
    limits.launch.registers_per_block *= kPrivateOfRegisters;
    limits.launch.threads_per_block = NumberOf(target, "max_num_threads", kSourceThreads);
    if (std::ranges::count(target.keys(), "adreno") > 0) {
      limits.launch.threads_per_block = limits.launch.block[2] = kAdrenoThreads;
    }
    limits.launch.shared_bytes =
        NumberOf(target, "max_shared_memory_per_block", kSourceSharedBytes);
    return limits;
  }
  if (DeviceTraitsOf(target).grids_are_code_objects) {
    limits.launch.block[2] = limits.launch.block[0];
    const std::int64_t most = limits.launch.threads_per_block;
    limits.launch.threads_per_block = std::min(most, NumberOf(target, "max_num_threads", most));
  }
  const auto device = LimitsOf(target);
  if (device.ok()) limits.launch.shared_bytes = device->block_shared_bytes;
  return limits;
}

Status CheckUnrolledProducts(std::int64_t products) {
  if (products <= kMaxUnrolledProducts) return {};
  return InvalidArgument("unrolled body of " + std::to_string(products) +
                         " products, expected at most " + std::to_string(kMaxUnrolledProducts));
}

Status CheckPassBytes(std::int64_t bytes) {
  const std::int64_t most = LowerLimits().max_local_bytes;
  if (bytes <= most) return {};
  return InvalidArgument("local buffers of " + std::to_string(bytes) +
                         " bytes per pass, expected at most " + std::to_string(most));
}

}  // namespace tilewright
