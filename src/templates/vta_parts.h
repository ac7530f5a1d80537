#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/target/cpu.h"
#include "src/templates/registry.h"
#include "src/vta/cycle_model.h"
#include "src/vta/design.h"
#include "src/vta/epilogue_writer.h"
#include "src/vta/packed_conv2d.h"

namespace tilewright {

// What VTA templates, and those who run their streams, are made of.

/// What the simulator measures: names of metrics of trials.
inline constexpr std::string_view kVtaCycles = "cycles";
inline constexpr std::string_view kVtaDramBytes = "dram_bytes";

/// Name of what a trial's value is on a target: "seconds", or the metric of a VTA.
std::string MetricOf(const Target& target);

/// What a VTA target string stands for, as in
/// `vta -model=sim_1x16_i8w8a32_15_15_18_17 -cycles=rtl`.
struct VtaTarget {
  vta::Design design;
  vta::CycleModel cycles;  ///< option -cycles: pynq (when absent), rtl or pynq_shared_bus
  std::string metric;      ///< option -metric: "cycles" (when absent), or "dram_bytes"
};
/// Errors: kInvalidArgument if the target is no VTA, or an option has an unknown value.
Result<VtaTarget> VtaTargetOf(const Target& target);

/// The simulator as a device to measure on: kind "vta", and in `isa` the design, the metric and the
/// cycle model with a hash of its numbers. Records are served only where all of these are equal.
DeviceFingerprint VtaDevice(const VtaTarget& vta);

/// What trials for a target are measured on: this machine's CPU, the simulator of a VTA, or
/// anything that runs the code: of a GPU, or of another kind of processor (AnyGpuFor, AnyCpuFor).
/// Errors: those of VtaTargetOf and AnyCpuFor.
Result<DeviceFingerprint> DeviceFor(const Target& target);

/// Only the functional simulator and the OpenCL design load int8 data into the accumulator and
/// multiply on the ALU.
bool IsExtended(const vta::Design& design);

/// An epilogue as the ALU executes it.
struct VtaEpilogue {
  std::vector<vta::EpilogueStep> steps;
  /// For each tensor operand of the epilogue, in order: what has to be added to its elements before
  /// the launch. A constant that follows a bias is merged into it and costs no operation.
  std::vector<std::int32_t> operand_addends;
};
/// Errors: kUnsupported with the step that the ALU cannot do; an epilogue has to end in int8, as
/// stores narrow to it.
/// gemm_adds: int8 tensors are added by products, so no design has to load them into the
///            accumulator.
Result<VtaEpilogue> VtaEpilogueOf(const vta::Design& design, const Epilogue& epilogue,
                                  bool gemm_adds = false);

/// "NCHW1n16c" and "OIHW16o16i" for the 1x16 design.
std::string VtaDataLayout(const vta::Design& design);
std::string VtaKernelLayout(const vta::Design& design);

/// Errors: kUnsupported unless int8 tensors of these layouts are multiplied by a design of 8 bits.
Status CheckPackedOperands(const vta::Design& design, const Workload& workload,
                           const std::string& data, const std::string& kernel);

/// The sizes, in scalars, of a convolution or a transposed one in the design's layouts.
/// Errors: those of CheckPackedOperands and ConvShapeOf; kUnsupported if it is dilated.
Result<ConvShape> PackedConvShapeOf(const vta::Design& design, const Workload& workload);

/// A convolution of one group, or of several, in blocks.
/// Errors: kUnsupported with what a packed convolution cannot be.
Result<vta::PackedConv2d> PackedConv2dOf(const vta::Design& design, const Workload& workload);
Result<vta::PackedConv2d> PackedGroupConv2dOf(const vta::Design& design, const Workload& workload);

/// The table's row for a VTA template class with the four static functions.
template <typename Template>
constexpr TemplateEntry VtaEntryOf(std::string_view key, int version) {
  return {key,
          version,
          TargetKind::kVta,
          &Template::Refuses,
          &Template::DefineSpace,
          &Template::DefaultConfig,
          nullptr,
          &Template::BuildStream};
}

}  // namespace tilewright
