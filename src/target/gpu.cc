#include "src/target/gpu.h"

#include <algorithm>

#include "src/base/strings.h"
#include "src/target/device.h"

namespace tilewright {
namespace {

struct Model {
  std::string_view name;
  int capability;
};

/// GPU models of the public record packages, and current data-center models.
constexpr Model kModels[] = {
    {"1080ti", 61}, {"titanx", 52}, {"tx2", 62},  {"jetson-nano", 53}, {"v100", 70}, {"t4", 75},
    {"a100", 80},   {"a10", 86},    {"3090", 86}, {"l4", 89},          {"4090", 89}, {"h100", 90},
};

/// Threads of a compute unit: 10 wavefronts for each of 4 SIMD units on GCN, 8 on CDNA 2 and 3; 20
/// or 16 for each of 2 on RDNA.
constexpr std::int64_t kGcn = 4 * 10 * 64, kCdna = 4 * 8 * 64, kRdna1 = 2 * 20 * 32,
                       kRdna = 2 * 16 * 32;
constexpr AmdProcessor kAmdProcessors[] = {
    {"gfx803", 64, kGcn},    {"gfx900", 64, kGcn},    {"gfx902", 64, kGcn},
    {"gfx904", 64, kGcn},    {"gfx906", 64, kGcn},    {"gfx908", 64, kGcn},
    {"gfx909", 64, kGcn},    {"gfx90a", 64, kCdna},   {"gfx90c", 64, kGcn},
    {"gfx940", 64, kCdna},   {"gfx941", 64, kCdna},   {"gfx942", 64, kCdna},
    {"gfx1010", 32, kRdna1}, {"gfx1011", 32, kRdna1}, {"gfx1012", 32, kRdna1},
    {"gfx1013", 32, kRdna1}, {"gfx1030", 32, kRdna},  {"gfx1031", 32, kRdna},
    {"gfx1032", 32, kRdna},  {"gfx1033", 32, kRdna},  {"gfx1034", 32, kRdna},
    {"gfx1035", 32, kRdna},  {"gfx1036", 32, kRdna},  {"gfx1100", 32, kRdna},
    {"gfx1101", 32, kRdna},  {"gfx1102", 32, kRdna},  {"gfx1103", 32, kRdna},
    {"gfx1150", 32, kRdna},  {"gfx1151", 32, kRdna},  {"gfx1152", 32, kRdna},
    {"gfx1200", 32, kRdna},  {"gfx1201", 32, kRdna},
};
constexpr std::string_view kDefaultAmdProcessor = "gfx900";

constexpr std::string_view kCuda = "cuda";
constexpr int kDefault = 70;
constexpr int kOldest = 50;

}  // namespace

Result<int> ComputeCapabilityOf(const Target& target) {
  const DeviceTraits& device = DeviceTraitsOf(target);
  if (device.grids_are_code_objects) TW_RETURN_IF_ERROR(AmdProcessorOf(target));
  if (device.grid_capability > 0) return device.grid_capability;
  if (target.device() != kCuda) {
    return InvalidArgument("target kind " + target.kind_name() + ", expected cuda");
  }
  const std::string arch = target.Option("arch");
  if (!arch.empty()) {
    constexpr std::string_view kPrefix = "sm_";
    const auto number = arch.starts_with(kPrefix) ? ParseInt64(arch.substr(kPrefix.size()))
                                                  : Result<std::int64_t>(InvalidArgument(""));
    if (!number.ok() || *number < 10 || *number > 999) {
      return InvalidArgument("-arch=" + arch + ", expected sm_70, sm_75, sm_80 or the like");
    }
    if (*number < kOldest) {
      return Unsupported("-arch=" + arch + ", expected sm_" + std::to_string(kOldest) +
                         " or newer");
    }
    return static_cast<int>(*number);
  }
  const std::string model = target.Option("model", "unknown");
  if (model == "unknown") return kDefault;
  const auto* found = std::ranges::find(kModels, model, &Model::name);
  if (found == std::end(kModels)) {
    return InvalidArgument("-model=" + model +
                           ": unknown device, expected -arch=sm_75 or the like");
  }
  return found->capability;
}

std::span<const AmdProcessor> AmdProcessors() { return kAmdProcessors; }

Result<AmdProcessor> AmdProcessorOf(const Target& target) {
  if (!DeviceTraitsOf(target).grids_are_code_objects) {
    return InvalidArgument("target kind " + target.kind_name() + ", expected rocm");
  }
  const std::string model = target.Option("model", "unknown");
  const bool of_model = target.Option("mcpu").empty();
  const std::string name = !of_model            ? target.Option("mcpu")
                           : model == "unknown" ? std::string(kDefaultAmdProcessor)
                                                : model;
  const auto* found = std::ranges::find(kAmdProcessors, name, &AmdProcessor::name);
  if (found != std::end(kAmdProcessors)) return *found;
  return InvalidArgument((of_model ? "-model=" : "-mcpu=") + name +
                         ": not a processor of AMD GPUs, expected gfx906, gfx90a, gfx1030 or the "
                         "like (-mcpu names it beside another -model)");
}

Result<DeviceFingerprint> GenericGpuFor(const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  DeviceFingerprint device;
  device.kind = target.device();
  if (DeviceTraitsOf(target).grids_are_source) return device;
  if (DeviceTraitsOf(target).grids_are_code_objects) {
    TW_ASSIGN_OR_RETURN(const auto processor, AmdProcessorOf(target));
    device.isa = {std::string(processor.name)};
    return device;
  }
  for (int one = capability; one / 10 == capability / 10; ++one) {
    device.isa.push_back("sm_" + std::to_string(one));
  }
  return device;
}

bool AllowsTf32(const Target& target) {
  return target.device() == kCuda && target.Option("tf32") == "1";
}

Status CheckTf32(const Target& target) {
  if (target.device() != kCuda) return {};
  constexpr int kFirst = 80;
  const std::string value = target.Option("tf32", "0");
  if (value == "0") return {};
  if (value != "1") {
    return InvalidArgument("-tf32=" + value + ", expected -tf32 or 1 to allow it, or 0");
  }
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  if (capability >= kFirst) return {};
  return InvalidArgument("-tf32 on sm_" + std::to_string(capability) + ", expected -arch=sm_" +
                         std::to_string(kFirst) + " or newer");
}

MultiprocessorLimits LimitsOf(int capability) {
  struct Row {
    int capability;
    MultiprocessorLimits limits;
  };
  constexpr std::int64_t kKilo = 1024, kRegisters = 65536;
  constexpr Row kRows[] = {
      {50, {2048, 32, 64 * kKilo, kRegisters, 48 * kKilo}},
      {52, {2048, 32, 96 * kKilo, kRegisters, 48 * kKilo}},
      {53, {2048, 32, 64 * kKilo, kRegisters, 48 * kKilo}},
      {61, {2048, 32, 96 * kKilo, kRegisters, 48 * kKilo}},
      {62, {2048, 32, 64 * kKilo, kRegisters, 48 * kKilo}},
      {70, {2048, 32, 96 * kKilo, kRegisters, 96 * kKilo}},
      {75, {1024, 16, 64 * kKilo, kRegisters, 64 * kKilo}},
      {80, {2048, 32, 164 * kKilo, kRegisters, 163 * kKilo}},
      {86, {1536, 16, 100 * kKilo, kRegisters, 99 * kKilo}},
      {87, {1536, 16, 164 * kKilo, kRegisters, 163 * kKilo}},
      {89, {1536, 24, 100 * kKilo, kRegisters, 99 * kKilo}},
      {90, {2048, 32, 228 * kKilo, kRegisters, 227 * kKilo}},
      {120, {1536, 24, 100 * kKilo, kRegisters, 99 * kKilo}},
  };
  const Row* found = &kRows[0];
  for (const Row& row : kRows) {
    if (row.capability <= capability) found = &row;
  }
  return found->limits;
}

Result<MultiprocessorLimits> LimitsOf(const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto capability, ComputeCapabilityOf(target));
  if (!DeviceTraitsOf(target).grids_are_code_objects) return LimitsOf(capability);
  TW_ASSIGN_OR_RETURN(const auto processor, AmdProcessorOf(target));
  constexpr std::int64_t kLocalBytes = 64 * 1024;
  MultiprocessorLimits limits;
  limits.threads = processor.resident_lanes;
  limits.shared_bytes = limits.block_shared_bytes = kLocalBytes;
  return limits;
}

}  // namespace tilewright
