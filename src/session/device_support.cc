// Per-device functions of the program: completion and checks of targets, device lookup, and
// rooflines.

#include "src/session/device_support.h"

#include <algorithm>
#include <array>

#include "src/codegen/cpu_target.h"
#include "src/runtime/roofline.h"
#include "src/session/target.h"
#include "src/session/user_paths.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/target/gpu.h"
#include "src/target/presets.h"
#include "src/templates/vta/vta_target.h"
#include "src/tensor/work.h"

namespace tilewright::session {
namespace {

using Tasks = std::vector<search::TuneTask>;

/// Errors: those of FeaturesOf and CheckCpuTarget; kInvalidArgument for an unknown -model without a
/// triple, because the triple of this machine would be used.
Status CheckCpu(const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto features, FeaturesOf(target));
  const bool arm = std::ranges::count(target.keys(), "arm_cpu") > 0;
  if (arm && target.Option("mtriple").empty() && !features.neon) {
    return InvalidArgument(
        "-model=" + target.Option("model") +
        ": no board of this model, expected -mtriple, or a board: " + BoardNames());
  }
  return CheckCpuTarget(target);
}

Status CompleteCpu(const std::string& /*vta_config*/, Target& target) {
  return CheckCpu(target).WithContext("target");
}

MachinePeaks CpuPeaks(const Target& target) {
  const auto features = FeaturesOf(target);
  return MeasurePeaks(features.ok() && features->avx512 ? 512 : 256);
}

/// Returns lower bounds in seconds.
std::vector<RooflineBound> CpuBounds(const Tasks& tasks, const Target& target,
                                     const MachinePeaks& peaks) {
  const auto features = FeaturesOf(target);
  std::vector<RooflineBound> bounds;
  for (const search::TuneTask& task : tasks) {
    const Workload& w = task.task.workload;
    // Two products of bfloat16 take the time of one multiply-add of float32.
    const bool pairs = w.data.dtype == kBFloat16 && features.ok() && features->avx512_bf16;
    const std::int64_t operations = pairs ? w.macs() / 2 : w.macs();
    bounds.push_back(RooflineOf(peaks, operations, WorkOf(w).bytes, !w.data.dtype.is_float(),
                                target.num_threads()));
  }
  return bounds;
}

Status CompleteCuda(const std::string& /*vta_config*/, Target& target) {
  return ComputeCapabilityOf(target).status().WithContext("target");
}

Status FindGpu(const Target& target, const DeviceChoice& device,
               measure::ProcessMeasurerSettings& settings) {
  TW_ASSIGN_OR_RETURN(auto gpu, device.Find(target));
  settings.device = gpu.device;
  settings.runner.cuda.ordinal = gpu.ordinal;
  return {};
}

/// Code for OpenCL takes any device; the driver compiles it.
Status CompleteOpenCl(const std::string& /*vta_config*/, Target& /*target*/) { return {}; }

Status CompleteVta(const std::string& vta_config, Target& target) {
  if (!vta_config.empty()) {
    TW_ASSIGN_OR_RETURN(auto design, ReadDesign(vta_config));
    const std::string model = target.Option("model", design.Model());
    if (model != design.Model()) {
      return InvalidArgument("target: -model=" + model + ", but the design describes " +
                             design.Model());
    }
    target.SetOption("model", model);
  }
  if (target.Option("model").empty()) {
    return InvalidArgument(
        "vta-config: a VTA needs its design, a file or a shipped one's name such as sim, or "
        "-model=... "
        "in the target");
  }
  return ToStatus(VtaTargetOf(target));
}

/// Returns lower bounds in the target's metric. Cycles: one tile product, or one ALU operation for
/// each tile of the result, per cycle. Bytes: each tensor is loaded or stored once.
std::vector<RooflineBound> VtaBounds(const Tasks& tasks, const Target& target,
                                     const MachinePeaks& /*peaks*/) {
  const auto vta = VtaTargetOf(target);
  std::vector<RooflineBound> bounds;
  for (const search::TuneTask& task : tasks) {
    const Workload& w = task.task.workload;
    const auto output = w.OutputType();
    const double entry = static_cast<double>(vta->design.batch()) * vta->design.block();
    const auto results = static_cast<double>(output.ok() ? output->elements() : 0);
    const std::int64_t loaded = w.data.bytes() + (w.has_weight() ? w.weight.bytes() : 0);
    const double cycles = IsAnchor(w.op)
                              ? static_cast<double>(w.macs()) / (entry * vta->design.block())
                              : results / entry;
    bounds.push_back(vta->metric == kVtaDramBytes
                         ? RooflineBound{0, static_cast<double>(loaded) + results}
                         : RooflineBound{cycles, 0});
  }
  return bounds;
}

// The peaks of a GPU that a target names are unmeasured.
constexpr std::array kSupported = {
    DeviceTableRow<DeviceSupport>{
        "llvm", {.complete = &CompleteCpu, .bounds = &CpuBounds, .peaks = &CpuPeaks}},
    DeviceTableRow<DeviceSupport>{
        "cuda",
        {.complete = &CompleteCuda, .find = &FindGpu, .only_here = "a GPU is one of this machine"}},
    DeviceTableRow<DeviceSupport>{"opencl",
                                  {.complete = &CompleteOpenCl,
                                   .find = &FindGpu,
                                   .only_here = "an OpenCL device is one of this machine"}},
    DeviceTableRow<DeviceSupport>{
        "rocm",
        {.complete = &CompleteCuda, .find = &FindGpu, .only_here = "a GPU is one of this machine"}},
    DeviceTableRow<DeviceSupport>{
        "vta",
        {.complete = &CompleteVta,
         .takes_design = true,
         .bounds = &VtaBounds,
         .only_here = "candidates for a VTA run on the simulator of this program"}},
};

}  // namespace

const DeviceSupport* DeviceSupportOf(const Target& target) {
  return FindDeviceRow(kSupported, target);
}

std::string BoardNames() {
  const auto boards = ReadPresets(ShippedPath("targets"));
  std::string names;
  if (!boards.ok()) return names;
  for (const TargetPreset& board : *boards) names += (names.empty() ? "" : ", ") + board.name;
  return names;
}

}  // namespace tilewright::session
