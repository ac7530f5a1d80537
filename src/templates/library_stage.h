#pragma once

#include <string>

#include "src/templates/registry.h"

namespace tilewright {

// Pieces of templates that have a library compute the anchor.

/// The sum by the library, the rest by code for the target, with the whole sum in memory between.
/// library: its name, as in -libs.
Result<Kernel> LibraryCallWithEpilogue(const Workload& workload, const Epilogue& epilogue,
                                       const Target& target, const KernelLayouts& layouts,
                                       std::string_view library, TwLibraryShape shape);
/// What the library is told of a convolution; layouts are to be added. Requires that it is one.
TwLibraryShape ConvolutionCall(const Workload& workload);

/// A template without knobs that has a library compute `op` (dense or batch_matmul). The second
/// operand of a batch_matmul is no constant. Library: has kName and Refuses(workload, target).
std::string RefusesProducts(const Workload& workload, OpKind op);
Result<Kernel> CallProducts(const Workload& workload, const Epilogue& epilogue,
                            const Target& target, std::string_view library);
Result<ConfigSpace> NoKnobs(const Workload& workload, const Target& target);
Result<Config> OnlyConfig(const Workload& workload, const Target& target);
template <OpKind kOp, typename Library>
TemplateEntry LibraryProducts(std::string_view key, std::string_view device) {
  return {key,
          1,
          device,
          {},
          +[](const Workload& workload, const Target& target) {
            std::string reason = RefusesProducts(workload, kOp);
            return reason.empty() ? Library::Refuses(workload, target) : reason;
          },
          &NoKnobs,
          &OnlyConfig,
          +[](const Workload& workload, const Epilogue& epilogue, const Target& target,
              const Config&) { return CallProducts(workload, epilogue, target, Library::kName); }};
}

}  // namespace tilewright
