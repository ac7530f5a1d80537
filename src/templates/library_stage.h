#pragma once

#include <string>

#include "src/templates/registry.h"

namespace tilewright {

// Parts of the templates that have a library compute the anchor.

/// Builds a kernel whose sum is computed by the library and the rest by generated code; the whole
/// sum is stored in memory in between.
/// library: its name, as in -libs.
Result<Kernel> LibraryCallWithEpilogue(const Workload& workload, const Epilogue& epilogue,
                                       const Target& target, const KernelLayouts& layouts,
                                       std::string_view library, TwLibraryShape shape);
/// Shape of a convolution for a call of the library; the caller adds the layouts. Requires that the
/// workload is a convolution.
TwLibraryShape ConvolutionCall(const Workload& workload);

/// Entry of a template without knobs that has a library compute `op` (dense or batch_matmul). The
/// second operand of a batch_matmul is not a constant.
/// Library: a type with kName and Refuses(workload, target).
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
