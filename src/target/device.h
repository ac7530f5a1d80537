#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "src/target/target.h"

namespace tilewright {

/// Properties common to all targets of one device kind. Modules query them instead of comparing
/// kind names, so a new device only needs a row. Module-specific properties are in one table per
/// module with a row for every device (DeviceTableRow); docs/design.md lists them.
struct DeviceTraits {
  /// Name in targets, shipped models and packages: "cuda". Empty for kinds that only imported
  /// records have and for which no code is generated.
  std::string_view name = {};
  /// Another target kind for the same device, together with a key; empty for none. If the key is
  /// empty, the kind suffices.
  std::string_view other_kind = {}, other_key = {};
  /// Name of the templates of such targets in AutoTVM: "cpu", "cuda", "vta"; empty for none.
  std::string_view autotvm_family = {};
  /// Increased whenever the code generated for a config may change. Stored with every trial; a
  /// record of another version is not served. Applies to this device only, so records of other
  /// devices stay valid.
  int codegen_version = 1;
  /// True if kernels are machine code of a processor. A process calls them on its own memory with
  /// up to -num-threads threads.
  bool machine_code = false;
  /// True if loops are bound to blocks and threads of grids that a driver launches. The rest of a
  /// model runs on the host's processor.
  bool launches_grids = false;
  /// True if the driver compiles grids from source text (OpenCL C).
  bool grids_are_source = false;
  /// True if the driver loads grids as machine code (ELF code objects of AMD GPUs). If neither,
  /// they are PTX.
  bool grids_are_code_objects = false;
  /// Compute capability whose instructions grids may use; 0: the target names it.
  int grid_capability = 0;
  /// Another device whose templates serve the targets too; empty for none.
  std::string_view templates_of = {};
  /// True if a candidate is a loop nest, which is lowered and summarized; else its template writes
  /// the code.
  bool loops = true;
  /// True if the device computes a part of a network, and the host the operators without a
  /// template.
  bool has_host_fallback = false;
};

/// Returns the traits of the target's device. Target::device() is its name.
const DeviceTraits& DeviceTraitsOf(const Target& target);
/// Returns the traits of the device of this name; traits with an empty name if there is no such
/// device.
const DeviceTraits& FindDeviceTraits(std::string_view name);
/// Returns the device name for a target's kind and keys; empty for none.
std::string_view DeviceNameOf(const Target& target);
/// Returns all devices that code is generated for, in the order used in messages.
std::span<const DeviceTraits> AllDevices();

/// Row of a module's device table: the module's data for the device of this name.
template <typename Part>
struct DeviceTableRow {
  std::string_view device;
  Part part;
};

/// Returns the target's entry of such a table; null if the table has none for its device.
template <typename Table>
auto FindDeviceRow(const Table& table, std::string_view device) {
  const auto found = std::ranges::find_if(
      table, [&](const auto& row) { return !device.empty() && row.device == device; });
  return found == std::end(table) ? nullptr : &found->part;
}
template <typename Table>
auto FindDeviceRow(const Table& table, const Target& target) {
  return FindDeviceRow(table, target.device());
}

}  // namespace tilewright
