#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/compiler/plan/plan.h"

namespace tilewright {

/// Additional tables of a GPU's model (src/runtime/gpu_model.h).
struct GpuTables {
  std::string definitions;  ///< LLVM IR
  std::string fields;       ///< of the TwGpuModel after its TwModel; the first character is a comma
};

/// ptx: of each kernel of the plan. capability: minimum of the device, 75 for 7.5.
GpuTables MakeGpuTables(const Plan& plan, const std::vector<std::string>& ptx, int capability);

/// Returns an array of LLVM IR with the characters of a text and a zero byte: `[3 x i8] c"ab\00"`.
std::string IrString(std::string_view text);

}  // namespace tilewright
