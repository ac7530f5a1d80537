#pragma once

#include <optional>
#include <string_view>

#include "src/ir/dtype.h"
#include "src/target/cpu.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Dot product of 8-bit or bfloat16 data on a CPU.
struct DotChoice {
  std::string_view name;  ///< of the intrinsic (src/schedule/intrinsics.h)
  int depth = 0;          ///< products summed into one lane
  /// Vector registers in addition to those of sums and weights: for a value of the data, and for
  /// products that are not added at once.
  int registers = 1;
  // Members of the KernelLayouts of a kernel that uses it.
  bool shift_data = false;
  std::optional<DataType> multiply_dtype;
};

/// Chooses the dot product of 8-bit data and int8 weights, or of two bfloat16 operands. Multiplies
/// bytes if the target does so fast (the data are shifted if the instruction takes another
/// signedness), and on AVX2, whose sums of two products saturate at 16 bits, if no weights can make
/// them saturate; else multiplies 16-bit words.
DotChoice ChooseDot(const CpuFeatures& features, const Workload& workload);

}  // namespace tilewright
