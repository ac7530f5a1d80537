#pragma once

#include <optional>
#include <string_view>

#include "src/ir/dtype.h"
#include "src/target/cpu.h"

namespace tilewright {

/// How the products of 8-bit data are summed on a CPU.
struct DotChoice {
  std::string_view name;  ///< of the intrinsic (src/schedule/intrinsics.h)
  int depth = 0;          ///< products summed into one lane
  // What the form (AnchorForm) of a kernel that uses it says:
  bool shift_data = false;
  std::optional<DataType> multiply_dtype;
};

/// data: type of the activations, int8 or uint8. By bytes where the target multiplies bytes fast,
/// shifted to its signedness where that takes a type; else by 16-bit words.
DotChoice ChooseDot(const CpuFeatures& features, DataType data);

}  // namespace tilewright
