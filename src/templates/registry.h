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
#include "src/space/trial.h"
#include "src/tensor/workload.h"
#include "src/vta/stream_builder.h"

namespace tilewright {

struct OpenTask;  // src/templates/open/open_task.h

/// Schedule of a kernel, with the layouts of its tensors.
struct Kernel {
  Schedule schedule;
  KernelLayouts layouts;  ///< layouts of data, packed weight and output; see PackWeight
  /// Changes of the computation before it was scheduled, in the words of schedule texts
  /// (docs/schedules.md): "joined", "turn, 1".
  std::vector<std::string> arranged = {};
};

/// Returns the kernel of a schedule. Errors: the first one of the schedule.
Result<Kernel> FinishKernel(Schedule schedule, KernelLayouts layouts = {},
                            std::vector<std::string> arranged = {});

/// Documentation of one knob of a template, for `tilewright space` and docs/knobs.md.
struct KnobDoc {
  /// Name of the knob. "tile_<axis>" is every knob "tile_" with a number.
  std::string_view name;
  /// One or two sentences: what the knob decides and what its values mean, with units. The factors
  /// of a split are named in their order.
  std::string_view description;
};

/// Schedule template: the workloads it serves, its space, and how a config becomes a schedule of
/// loops or, for the VTA, a stream of instructions. Exactly one of `apply` and `build_stream` is
/// not null; ApplyTemplate and BuildVtaStream report the wrong choice.
struct TemplateEntry {
  std::string_view key;     ///< stored in records; never reused, never renamed
  int version;              ///< raised when the meaning or order of any knob changes
  std::string_view device;  ///< DeviceTraits::name
  /// All knobs that its spaces can have; empty for templates of plugins and texts.
  std::span<const KnobDoc> knobs = {};
  /// Returns an empty text if the template serves the workload on the target, else the reason why
  /// not.
  Callback<std::string(const Workload&, const Target&)> refuses = nullptr;
  Callback<Result<ConfigSpace>(const Workload&, const Target&)> define_space = nullptr;
  /// Returns the config of an untuned operator (AutoTVM: fallback).
  Callback<Result<Config>(const Workload&, const Target&)> default_config = nullptr;
  /// Returns the kernel of a config.
  /// Errors: kInvalidArgument with the reason if the config is illegal (outcome `invalid`).
  Callback<Result<Kernel>(const Workload&, const Epilogue&, const Target&, const Config&)> apply =
      nullptr;
  /// Returns the VTA stream of a config. Buffers of the stream, after the micro-ops: data, weight,
  /// output, then the tensor operands of the epilogue in order (VtaEpilogue has their addends).
  /// Without products: data, output, the second tensor if there is one, then those operands.
  /// Errors: as apply.
  Callback<Result<vta::Stream>(const Workload&, const Epilogue&, const Target&, const Config&)>
      build_stream = nullptr;
  /// Null, or returns whether the template is preferred to all others on a workload that it serves.
  Callback<bool(const Workload&, const Target&)> is_preferred = nullptr;
  /// Whether float results differ from the definition's by the order of sums alone. False for
  /// algorithms that multiply other values than the elements of the operands, and for libraries
  /// that may choose one.
  bool only_reorders_sums = true;
  /// Null, or returns configs that can replace the default one in a network that keeps other
  /// layouts: one for each useful pair of layouts of data and result.
  Callback<Result<std::vector<Config>>(const Workload&, const Target&)> layout_configs = nullptr;
  /// Null, or the open task whose space this is (src/templates/open). `apply` then only checks the
  /// conditions of the space.
  const OpenTask* open = nullptr;
};

/// Returns the entry of a template that makes loops, its optional members at their defaults.
TemplateEntry LoopTemplate(std::string_view key, int version, std::string_view device,
                           std::span<const KnobDoc> knobs, decltype(TemplateEntry::refuses) refuses,
                           decltype(TemplateEntry::define_space) define_space,
                           decltype(TemplateEntry::default_config) default_config,
                           decltype(TemplateEntry::apply) apply);
/// Makes the entry of one built-in template.
using TemplateMaker = TemplateEntry (*)();

/// Templates of this program and of plugins and texts that were added. Created once at the start of
/// a program and passed on; pointers to its entries are valid while it lives and nothing is added.
class TemplateRegistry {
 public:
  /// Registry of the built-in templates (built_in/built_in.cc).
  static TemplateRegistry BuiltIn();
  /// Adds a template of a plugin or text or, to an empty registry, a built-in one. It comes last in
  /// the order of preference. All that the entry points to has to outlive the registry.
  /// Errors: kInvalidArgument if the key exists already, is neither that of a built-in template nor
  /// an IsPluginKey, if the version is below 1, if no code can be generated for the device, or if a
  /// function is missing.
  Status Add(const TemplateEntry& entry);
  /// Keeps the text of a template that was added, for TextOf. `text` owns all that the entry points
  /// to.
  void Keep(std::string_view key, std::shared_ptr<const std::string> text);
  /// Adds the templates of another registry that are texts, and shares what these own. Keys that
  /// this registry has keep their templates.
  void AddTextsOf(const TemplateRegistry& other);
  /// Text of a template that is a text (src/templates/text), in canonical form; null for other
  /// templates.
  const std::string* TextOf(std::string_view key) const;
  /// Copy of the registry without the templates that change float results by more than the order of
  /// sums.
  TemplateRegistry OnlyReorderingSums() const;

  /// All entries, sorted by key.
  std::span<const TemplateEntry> all() const { return entries_; }
  /// Entry of a key; null if there is none.
  const TemplateEntry* Find(std::string_view key) const;
  /// Whether OnlyReorderingSums excluded a template of this key.
  bool IsExcluded(std::string_view key) const;
  /// Templates that serve the workload on the target, in the order of preference. An untuned
  /// operator gets the default config of the first one. Templates of a library are included only if
  /// the target names it (-libs).
  std::vector<const TemplateEntry*> For(const Workload& workload, const Target& target) const;

 private:
  void Insert(const TemplateEntry& entry);

  std::vector<TemplateEntry> entries_;
  std::vector<std::string_view> preference_, excluded_;
  std::vector<std::pair<std::string_view, std::shared_ptr<const std::string>>> texts_;
};
/// Whether code of the template can be generated for the target's device: it is the template's, or
/// takes its templates (DeviceTraits::templates_of).
bool MakesCodeFor(const TemplateEntry& entry, const Target& target);
/// Reason why a record or an order that names this template cannot be used: the template does not
/// exist, or has another version.
std::string TemplateUnavailableReason(const TemplateRegistry& templates, std::string_view key,
                                      int version);
/// Returns the template that builds a candidate.
/// Errors: kUnsupported if the registry lacks it or has another version.
Result<const TemplateEntry*> EntryToBuild(const TemplateRegistry& templates,
                                          const Candidate& candidate);
/// Reason why no template serves a workload on a VTA: the refusals of the templates of its
/// operator, or that it has none.
std::string VtaRefusalOf(const TemplateRegistry& templates, const Workload& workload,
                         const Target& target);

/// Returns the loops of a config.
/// Errors: kUnsupported if the template writes VTA streams; those of `apply`.
Result<Kernel> ApplyTemplate(const TemplateEntry& entry, const Workload& workload,
                             const Epilogue& epilogue, const Target& target, const Config& config);
/// Returns the VTA stream of a config.
/// Errors: kUnsupported if the template makes loops; those of `build_stream`.
Result<vta::Stream> BuildVtaStream(const TemplateEntry& entry, const Workload& workload,
                                   const Epilogue& epilogue, const Target& target,
                                   const Config& config);

/// Schedules an operator that is not tuned: outer loops parallel, inner loops vectorized,
/// elementwise stages inlined.
Result<Schedule> FixedSchedule(Compute compute, const Target& target);

}  // namespace tilewright
