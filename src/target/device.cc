// Table of the devices that code is generated for. A row has the traits that all modules query.
// Properties that need more than a target are in tables of their modules.

#include "src/target/device.h"

#include <array>

namespace tilewright {
namespace {

constexpr std::array kDevices = {
    DeviceTraits{
        // 2: exp and functions computed from it; epilogues with long functions are loops of their
        // own.
        // 3: tanh, erf, log and pow are vector code.
        // 4: register tiles of 16-bit products are in the order of their sums, too.
        // 5: tiles that leave their registers transposed do so in a loop; no scheduling after
        // register allocation.
        // 6: the same code, timed with cold weights.
        // 7: maxima and minima keep NaN; functions of one argument are instructions of the IR.
        // 8: tails of dot products in full lanes; pairs of 16-bit stores are joined.
        // 9: reductions of rows in few vectors, and values made in the loop of their sum; axes that
        // are not whole vectors in vectors of half or a quarter of the lanes.
        .name = "llvm",
        .autotvm_family = "cpu",
        .codegen_version = 9,
        .machine_code = true},
    DeviceTraits{.name = "cuda",
                 .other_kind = "nvptx",
                 .autotvm_family = "cuda",
                 // 2: exp and functions computed from it; 3: tanh and erf; 4: as 7 of llvm
                 .codegen_version = 4,
                 .launches_grids = true},
    // Products of four bytes are arithmetic in the text; tensor cores and asynchronous copies have
    // no words in OpenCL C 1.2. Records name the template, so the versions of the code differ from
    // all of cuda's: they begin with 1001.
    DeviceTraits{.name = "opencl",
                 .autotvm_family = "cuda",
                 .codegen_version = 1001,
                 .launches_grids = true,
                 .grids_are_source = true,
                 .grid_capability = 61,
                 .templates_of = "cuda"},
    // As for opencl; products of four bytes are one instruction where the processor has it.
    DeviceTraits{.name = "rocm",
                 .autotvm_family = "cuda",
                 .codegen_version = 2001,
                 .launches_grids = true,
                 .grids_are_code_objects = true,
                 .grid_capability = 61,
                 .templates_of = "cuda"},
    DeviceTraits{.name = "vta",
                 .other_kind = "ext_dev",
                 .other_key = "vta",
                 .autotvm_family = "vta",
                 .codegen_version = 1,
                 .loops = false,
                 .has_host_fallback = true},
    // Last, and not in AllDevices: commands of users (open tasks), for which no code is generated.
    // The version is that of the measurement.
    DeviceTraits{.name = "program", .codegen_version = 1, .loops = false},
};
constexpr std::size_t kDevicesWithCode = kDevices.size() - 1;
constexpr DeviceTraits kNoDevice = {};

}  // namespace

const DeviceTraits& DeviceTraitsOf(const Target& target) {
  return FindDeviceTraits(target.device());
}

const DeviceTraits& FindDeviceTraits(std::string_view name) {
  const auto* found = std::ranges::find(kDevices, name, &DeviceTraits::name);
  return found == kDevices.end() ? kNoDevice : *found;
}

std::string_view DeviceNameOf(const Target& target) {
  const auto means = [&](const DeviceTraits& device) {
    if (device.name == target.kind_name()) return true;
    if (device.other_kind.empty() || device.other_kind != target.kind_name()) return false;
    return device.other_key.empty() || std::ranges::count(target.keys(), device.other_key) > 0;
  };
  const auto* found = std::ranges::find_if(kDevices, means);
  return found == kDevices.end() ? std::string_view() : found->name;
}

std::span<const DeviceTraits> AllDevices() { return std::span(kDevices).first(kDevicesWithCode); }

}  // namespace tilewright
