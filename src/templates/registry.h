#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/callback.h"
#include "src/schedule/schedule.h"
#include "src/space/config.h"
#include "src/tensor/workload.h"
#include "src/vta/stream_builder.h"

namespace tilewright {

/// What a kernel expects beside its schedule.
struct Kernel {
  Schedule schedule;
  KernelLayouts layouts;  ///< layouts of data, packed weight and output; see PackWeight
  /// What was done to the computation before it was scheduled, as the text of a schedule says it
  /// (docs/schedules.md): "joined", "turn, 1".
  std::vector<std::string> arranged = {};
};

/// Documentation of one knob of a template, for `tilewright space` and docs/knobs.md.
struct KnobDoc {
  /// Name of the knob. "tile_<axis>" is every knob "tile_" with a number.
  std::string_view name;
  /// One or two sentences: what the knob decides and what its values mean, with units. The factors
  /// of a split are named in their order.
  std::string_view description;
};

/// One schedule template: which workloads it serves, its space, and how a config becomes a
/// schedule of loops or, for the VTA, a stream of instructions. Exactly one of `apply` and
/// `build_stream` is not null; ApplyTemplate and BuildVtaStream report the wrong choice.
struct TemplateEntry {
  std::string_view key;     ///< stored in records; never reused, never renamed
  int version;              ///< raised when the meaning or order of any knob changes
  std::string_view device;  ///< DeviceTraits::name
  /// All knobs that its spaces can have; empty for templates of plugins and texts.
  std::span<const KnobDoc> knobs = {};
  /// Empty if it serves the workload on the target, else the reason why not.
  Callback<std::string(const Workload&, const Target&)> refuses = nullptr;
  Callback<Result<ConfigSpace>(const Workload&, const Target&)> define_space = nullptr;
  /// The config used when nothing is known (AutoTVM: fallback).
  Callback<Result<Config>(const Workload&, const Target&)> default_config = nullptr;
  /// Errors: kInvalidArgument with the reason if the config is illegal (outcome `invalid`).
  Callback<Result<Kernel>(const Workload&, const Epilogue&, const Target&, const Config&)> apply =
      nullptr;
  /// The same for the VTA. Buffers of the stream, after the micro-ops: data, weight, output, then
  /// the tensor operands of the epilogue in order (VtaEpilogue says what is added to them); without
  /// products data, output, the second tensor if there is one, then those operands.
  Callback<Result<vta::Stream>(const Workload&, const Epilogue&, const Target&, const Config&)>
      build_stream = nullptr;
  /// Null, or whether it goes before all others on a workload that it serves.
  Callback<bool(const Workload&, const Target&)> is_preferred = nullptr;
  /// Float results differ from the definition's by the order of sums alone. False for algorithms
  /// that multiply something else than the operands' elements, and libraries that may choose one.
  bool only_reorders_sums = true;
  /// Null, or configs that stand for the default one in a network that keeps other layouts: one for
  /// each pair of layouts of data and result that the template may be wanted in.
  Callback<Result<std::vector<Config>>(const Workload&, const Target&)> layout_configs = nullptr;
};

/// Returns the entry of a template that makes loops, its optional members at their defaults.
TemplateEntry LoopTemplate(std::string_view key, int version, std::string_view device,
                           std::span<const KnobDoc> knobs, decltype(TemplateEntry::refuses) refuses,
                           decltype(TemplateEntry::define_space) define_space,
                           decltype(TemplateEntry::default_config) default_config,
                           decltype(TemplateEntry::apply) apply);
/// Makes the entry of one built-in template.
using TemplateMaker = TemplateEntry (*)();

/// The templates there are: those of this program, and what was added to them. Made once, where a
/// program starts, and passed on; pointers to its entries hold while it does, and is not added to.
class TemplateRegistry {
 public:
  /// Those of this program.
  static TemplateRegistry BuiltIn();
  /// Adds one that is not of this program, or to an empty registry some of those that are; what the
  /// entry points to outlives the registry. It is preferred to none that was there before it.
  /// Errors: kInvalidArgument for a key that is there already, a key that is neither one of this
  /// program's templates nor an IsPluginKey, a version below 1, a device that code is not made for,
  /// or functions that lack.
  Status Add(const TemplateEntry& entry);
  /// Keeps what a template that was added is: a text, which is given out as TextOf. `text` owns
  /// what the entry points to.
  void Keep(std::string_view key, std::shared_ptr<const std::string> text);
  /// The text of a template that is one (src/templates/text), in canonical form; null of the
  /// others.
  const std::string* TextOf(std::string_view key) const;
  /// The same without the templates that do more to floats than to order sums another way.
  TemplateRegistry OnlyReorderingSums() const;

  /// All of them, sorted by key.
  std::span<const TemplateEntry> all() const { return entries_; }
  /// Null if there is none.
  const TemplateEntry* Find(std::string_view key) const;
  /// Whether OnlyReorderingSums has left out a template of this key.
  bool IsExcluded(std::string_view key) const;
  /// Those that serve the workload on the target, preferred first (the first one's default config
  /// is what an untuned operator gets); those of a library only if the target names it (-libs).
  std::vector<const TemplateEntry*> For(const Workload& workload, const Target& target) const;

 private:
  std::vector<TemplateEntry> entries_;
  std::vector<std::string_view> preference_, excluded_;
  std::vector<std::pair<std::string_view, std::shared_ptr<const std::string>>> texts_;
};
/// Why a record or an order that names this template cannot be followed: there is none, or not this
/// version of it.
std::string TemplateUnavailableReason(const TemplateRegistry& templates, std::string_view key,
                                      int version);
/// Why no template serves a workload on a VTA: what those of its operator say, or that there are
/// none.
std::string VtaRefusalOf(const TemplateRegistry& templates, const Workload& workload,
                         const Target& target);

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
