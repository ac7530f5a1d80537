#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/ir/stmt.h"
#include "src/tensor/compute/kernel_signature.h"

namespace tilewright {

/// Conversion between the workload's own tensor of a kernel's parameter and the kernel's.
struct ParameterPacking {
  /// Type and layout of the workload's tensor: the weight for a compensation. The layout of a list
  /// of channels is empty. A packed input of an expression has the dimensions that its layout
  /// joins.
  TensorType own;
  std::string own_layout;
  /// Shape of the kernel's tensor in its layout. The kernel may index the same memory by another
  /// shape.
  std::vector<std::int64_t> shape;
  /// Loops that compute the kernel's tensor from the workload's, as ParameterTensor does; for the
  /// result, the workload's from the kernel's. Parameters of the program: the source, then the
  /// target. No value if both have the same elements in the same order.
  std::optional<Program> loops;
};

/// Errors: as ParameterTensor.
Result<ParameterPacking> PackingOf(const Workload& workload, const KernelSignature& signature,
                                   std::size_t parameter);

}  // namespace tilewright
