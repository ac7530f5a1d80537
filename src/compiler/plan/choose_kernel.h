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

/// Kernel chosen for one workload with its epilogue, and the reason.
struct KernelChoice {
  KernelLayouts layouts;
  Program program;
  vta::Stream stream;     ///< replaces layouts and program where templates write streams
  OperatorReport report;  ///< workload_key, template_key, config, tuned, answer, explanation
};

/// Returns the seconds that layout changes around a kernel with these layouts take.
using LayoutSeconds = std::function<double(const KernelLayouts&)>;

/// Candidate kernel of a workload, not built yet.
struct KernelOption {
  const TemplateEntry* entry = nullptr;
  Config config;
  KernelLayouts layouts;
  std::shared_ptr<const records::Record>
      record;          ///< of a store's answer; then every option has one
  double seconds = 0;  ///< of a call, as records are compared; with a record
};

/// Returns true if data and result have the same layouts.
inline bool SameLayouts(const KernelLayouts& a, const KernelLayouts& b) {
  return a.data == b.data && a.output == b.output;
}

/// Returns the candidate kernels of a workload. The first is the kernel that ChooseKernel takes by
/// itself, as far as that is known without building it. The others have other layouts: for each
/// layout the fastest config of the store of a hit or, if no store has an answer, the templates'
/// configs. Errors: kUnsupported if no template serves the workload; those of the stores.
Result<std::vector<KernelOption>> KernelOptions(const Workload& workload, const Epilogue& epilogue,
                                                bool plain_weight, const CompileOptions& options);

/// Configs of a workload that were measured on this device.
struct MeasuredConfigs {
  OperatorReport report;              ///< of the hit; see ChooseKernel
  std::vector<KernelOption> options;  ///< the hit first, then by time; layouts are not set
};

/// Returns the configs that may replace a hit of the stores, and the hit; none without a hit.
/// Errors: those of the stores.
Result<MeasuredConfigs> MeasuredKernels(const Workload& workload, const Epilogue& epilogue,
                                        const CompileOptions& options);

/// Queries the stores for the best config. Without an option, it also takes a config of the
/// workload with other layouts that is slower by less than the layout changes it saves. It falls
/// back to the default config of the preferred template that can serve the workload. If a stream
/// cannot be built with the epilogue, it first tries the best of the neighboring configs. With
/// `plain_weight` it accepts only kernels whose weight differs by a mere change of layout (for
/// weights computed at run time). layout_seconds: null if layouts are fixed. option: if not null,
/// the kernel that replaces a hit if it has a record, and that comes first if the stores have no
/// answer. Errors: kUnsupported if no template serves the workload; those of the stores.
Result<KernelChoice> ChooseKernel(const Workload& workload, const Epilogue& epilogue,
                                  bool plain_weight, const LayoutSeconds& layout_seconds,
                                  const CompileOptions& options,
                                  const KernelOption* option = nullptr);

}  // namespace tilewright
