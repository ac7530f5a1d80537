#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/plan/plan.h"

namespace tilewright {

/// Additional tables of a GPU's model (src/runtime/gpu_model.h).
struct GpuTables {
  std::string definitions;  ///< LLVM IR
  std::string fields;       ///< of the TwGpuModel after its TwModel; the first character is a comma
};

/// code: of each kernel of the plan, PTX, OpenCL C or a code object. Errors: those of
/// ComputeCapabilityOf.
Result<GpuTables> MakeGpuTables(const Plan& plan, const std::vector<std::string>& code);

/// Returns the file of the driver that a GPU's model loads by default.
const char* DriverLibraryOf(const Target& target);

/// Returns an array of LLVM IR with the characters of a text and a zero byte: `[3 x i8] c"ab\00"`.
std::string IrString(std::string_view text);

}  // namespace tilewright
