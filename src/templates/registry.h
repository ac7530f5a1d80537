#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/schedule/schedule.h"
#include "src/space/config.h"
#include "src/tensor/workload.h"
#include "src/vta/stream_builder.h"

namespace tilewright {

/// What a kernel expects beside its schedule.
struct Kernel {
  Schedule schedule;
  AnchorForm form;  ///< layouts of data, packed weight and output; see PackWeight
};

/// One schedule template: which workloads it serves, its space, and how a config becomes a
/// schedule of loops or, for the VTA, a stream of instructions. Exactly one of `apply` and
/// `build_stream` is not null; ApplyTemplate and BuildVtaStream report the wrong choice.
struct TemplateEntry {
  std::string_view key;     ///< stored in records; never reused, never renamed
  int version;              ///< raised when the meaning or order of any knob changes
  std::string_view device;  ///< DeviceTraits::name
  /// Empty if it serves the workload on the target, else the reason why not.
  std::string (*refuses)(const Workload&, const Target&);
  Result<ConfigSpace> (*define_space)(const Workload&, const Target&);
  /// The config used when nothing is known (AutoTVM: fallback).
  Result<Config> (*default_config)(const Workload&, const Target&);
  /// Errors: kInvalidArgument with the reason if the config is illegal (outcome `invalid`).
  Result<Kernel> (*apply)(const Workload&, const Epilogue&, const Target&, const Config&);
  /// The same for the VTA. Buffers of the stream, after the micro-ops: data, weight, output, then
  /// the tensor operands of the epilogue in order (VtaEpilogue says what is added to them); without
  /// products data, output, the second tensor if there is one, then those operands.
  Result<vta::Stream> (*build_stream)(const Workload&, const Epilogue&, const Target&,
                                      const Config&);
};

/// All templates, sorted by key.
std::span<const TemplateEntry> Templates();
/// Null if there is none.
const TemplateEntry* FindTemplate(std::string_view key);
/// Those that serve the workload on the target, preferred first (the first one's default config is
/// what an untuned operator gets); those of a library only if the target names it (-libs).
std::vector<const TemplateEntry*> TemplatesFor(const Workload& workload, const Target& target);
/// Why no template serves a workload on a VTA: what those of its operator say, or that there are
/// none.
std::string VtaRefusalOf(const Workload& workload, const Target& target);

/// The loops of a config. Errors: kUnsupported if the template writes VTA streams; those of
/// `apply`.
Result<Kernel> ApplyTemplate(const TemplateEntry& entry, const Workload& workload,
                             const Epilogue& epilogue, const Target& target, const Config& config);
/// The VTA stream of a config. Errors: kUnsupported if the template makes loops; those of
/// `build_stream`.
Result<vta::Stream> BuildVtaStream(const TemplateEntry& entry, const Workload& workload,
                                   const Epilogue& epilogue, const Target& target,
                                   const Config& config);

/// Good fixed schedule for an operator that is not tuned (parallel outer, vectorized inner loops,
/// elementwise stages inlined).
Result<Schedule> FixedSchedule(Compute compute, const Target& target);

}  // namespace tilewright
