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

/// Why matrix products of this operator are none that libraries compute; empty if they are.
std::string RefusesProducts(const Workload& workload, OpKind op);
Result<Kernel> CallProducts(const Workload& workload, const Epilogue& epilogue,
                            const Target& target, std::string_view library);

/// dense and batch_matmul by a library, without knobs. The second operand of a batch_matmul is no
/// constant. Library: has kName and Refuses(workload, target).
template <OpKind kOp, typename Library>
struct LibraryProducts {
  static std::string Refuses(const Workload& workload, const Target& target) {
    std::string reason = RefusesProducts(workload, kOp);
    return reason.empty() ? Library::Refuses(workload, target) : reason;
  }
  static Result<ConfigSpace> DefineSpace(const Workload&, const Target&) { return ConfigSpace(); }
  static Result<Config> DefaultConfig(const Workload&, const Target&) {
    return ConfigSpace().At(0);
  }
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config&) {
    return CallProducts(workload, epilogue, target, Library::kName);
  }
};

}  // namespace tilewright
