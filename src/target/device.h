#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "src/target/target.h"

namespace tilewright {

/// What is the same for all targets of one kind, and what is asked instead of which kind it is: a
/// new device answers these questions, and nobody who asks them has to know its name. What else a
/// device is stands in the modules that need it, in one table each with a row for every device
/// (DeviceTableRow): docs/design.md has the list.
struct DeviceTraits {
  /// As targets, shipped models and packages spell it: "cuda". Empty for kinds of
  /// which only imported records know, and that no code is made for.
  std::string_view name = {};
  /// The kind of targets that means it too, and only together with a key; empty for none. Where the
  /// key is empty the kind is enough.
  std::string_view other_kind = {}, other_key = {};
  /// What AutoTVM called the templates of such targets: "cpu", "cuda", "vta"; empty for none.
  std::string_view autotvm_family = {};
  /// Raised whenever the code made of one config may change; stored with every trial, and a record
  /// of another version is not served. Of this device alone: the records of others stay.
  int codegen_version = 1;
  /// Kernels are machine code of a processor: a process there calls them, on its own memory and
  /// with -num-threads of its threads.
  bool machine_code = false;
  /// Loops are bound to blocks and threads of grids, which a driver launches; the rest of a model
  /// runs on this machine's processor.
  bool launches_grids = false;
  /// A candidate is a nest of loops, which is lowered and summarized; else what its template
  /// writes.
  bool loops = true;
  /// It computes a part of a network, and the host what no template of it serves.
  bool has_host_fallback = false;
};

/// Of the target's device. Target::device() is its name.
const DeviceTraits& DeviceTraitsOf(const Target& target);
/// By name; those of no device (name empty) where there is none.
const DeviceTraits& FindDeviceTraits(std::string_view name);
/// The name for a target's kind and keys; empty for none.
std::string_view DeviceNameOf(const Target& target);
/// All that code is made for, in the order in which they are told to people.
std::span<const DeviceTraits> AllDevices();

/// A row of a module's table of devices: its part of the one of this name.
template <typename Part>
struct DeviceTableRow {
  std::string_view device;
  Part part;
};

/// The target's part of such a table. Null if the table has none for its device.
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
