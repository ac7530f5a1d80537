#pragma once

#include <optional>
#include <string_view>

#include "src/ir/dtype.h"
#include "src/target/cpu.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// How the products of 8-bit data are summed on a CPU.
struct DotChoice {
  std::string_view name;  ///< of the intrinsic (src/schedule/intrinsics.h)
  int depth = 0;          ///< products summed into one lane
  /// Vectors beside the sums and the weights: a value of the data, and what a product takes on its
  /// way to the sum.
  int registers = 1;
  // What the form (KernelLayouts) of a kernel that uses it says:
  bool shift_data = false;
  std::optional<DataType> multiply_dtype;
};

/// Of 8-bit data and int8 weights. By bytes where the target multiplies bytes fast, shifted to its
/// signedness where that takes a type, and on AVX2, whose sums of two products saturate at 16 bits,
/// where no weights can make them; else by 16-bit words.
DotChoice ChooseDot(const CpuFeatures& features, const Workload& workload);

}  // namespace tilewright
