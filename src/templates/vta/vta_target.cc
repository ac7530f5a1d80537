#include "src/templates/vta/vta_target.h"

#include <utility>

#include "src/base/hash.h"

namespace tilewright {

Result<VtaTarget> VtaTargetOf(const Target& target) {
  if (target.device() != "vta") {
    return InvalidArgument("target '" + target.ToString() + "': expected a VTA");
  }
  auto design = vta::Design::FromModel(target.Option("model"));
  if (!design.ok()) return design.status().WithContext("target option -model");
  auto cycles = vta::CycleModel::Preset(target.Option("cycles", "pynq"));
  if (!cycles.ok()) return cycles.status().WithContext("target option -cycles");
  std::string metric = target.Option("metric", kVtaCycles);
  if (metric != kVtaCycles && metric != kVtaDramBytes) {
    return InvalidArgument("target option -metric: '" + metric +
                           "', expected cycles or dram_bytes");
  }
  return VtaTarget{*std::move(design), *std::move(cycles), std::move(metric)};
}

DeviceFingerprint VtaDevice(const VtaTarget& vta) {
  DeviceFingerprint device;
  device.kind = "vta";
  device.model = "VTA simulator " + vta.design.Model() + ", cycle model " + vta.cycles.name;
  device.isa = {"cycles=" + vta.cycles.name + ":" + HexOf(Fnv1a64(vta.cycles.ToJson())),
                "design=" + vta.design.Model(), "metric=" + vta.metric};
  return device;
}

}  // namespace tilewright
