#pragma once

#include <span>

#include "src/compiler/check/verify.h"
#include "src/compiler/plan/vta_plan.h"

namespace tilewright {

/// Runs a network and compares what each operator of the accelerator makes with the reference
/// evaluation of the same operators, and the outputs with those of `source`, the model as it was
/// read. What the host does in between is that evaluation, and not compared.
/// Errors: kInvalidArgument if the plan's inputs or outputs are not those of `source`; those of
///         RunVta.
Result<VerifyReport> VerifyVta(const VtaPlan& plan, const Graph& source,
                               std::span<const Tensor> inputs, const VerifyOptions& options);

}  // namespace tilewright
