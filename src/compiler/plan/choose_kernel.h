#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "src/compiler/options/options.h"
#include "src/compiler/options/report.h"
#include "src/ir/stmt.h"
#include "src/space/config.h"
#include "src/templates/registry.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/epilogue.h"
#include "src/tensor/workload.h"
#include "src/vta/stream_builder.h"

namespace tilewright {

/// The kernel of one workload with its epilogue, and why it is this one.
struct KernelChoice {
  KernelLayouts layouts;
  Program program;
  vta::Stream stream;     ///< in the place of both, where templates write streams
  OperatorReport report;  ///< workload_key, template_key, config, tuned, answer, explanation
};

/// Seconds that changes of layout around a kernel of this form take.
using LayoutSeconds = std::function<double(const KernelLayouts&)>;

/// A kernel that a workload may get, before it is built.
struct KernelOption {
  const TemplateEntry* entry = nullptr;
  Config config;
  KernelLayouts layouts;
  std::shared_ptr<const records::Record> record;  ///< of a store's answer, and then of each option
  double seconds = 0;  ///< of a call, as records are compared; with a record
};

/// Whether data and result lie alike.
inline bool SameLayouts(const KernelLayouts& a, const KernelLayouts& b) {
  return a.data == b.data && a.output == b.output;
}

/// What there is for a workload: the kernel that ChooseKernel takes by itself, as far as can be
/// said without building it, then others that work in other layouts: the fastest that the store of
/// a hit has in each, or if no store has an answer those of the templates. Errors: kUnsupported if
/// no template serves the workload; those of the stores.
Result<std::vector<KernelOption>> KernelOptions(const Workload& workload, const Epilogue& epilogue,
                                                bool plain_weight, const CompileOptions& options);

/// Asks the stores for the best config, or where there is no option for another one of the workload
/// that is slower by less than the changes of layout it saves, falling back to the default config
/// of the preferred template that can do it; where a stream cannot be built with the epilogue,
/// first to the best of the configs next to it. With `plain_weight` only kernels that take the
/// weight converted by a mere change of layout are accepted (for weights that are computed at run
/// time). layout_seconds: null where layouts are as they are. option: not null, the kernel to take
/// in the place of a hit if it has a record, and before any other if the stores have no answer.
/// Errors: kUnsupported if no template serves the workload; those of the stores.
Result<KernelChoice> ChooseKernel(const Workload& workload, const Epilogue& epilogue,
                                  bool plain_weight, const LayoutSeconds& layout_seconds,
                                  const CompileOptions& options,
                                  const KernelOption* option = nullptr);

}  // namespace tilewright
