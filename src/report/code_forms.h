#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/ir/stmt.h"
#include "src/target/target.h"

namespace tilewright::report {

/// Checks that a target has a form of code: "ptx", "opencl", "hsaco" or "resources". Every target
/// has other forms. Errors: kInvalidArgument naming the option --emit.
Status CheckCodeForm(std::string_view form, const Target& target);

/// Returns a line for each kernel of an AMD code object: registers, bytes of memory and spills.
///
/// program: what the code object was generated from. Errors: those of ResourcesOfCodeObject.
Result<std::string> AmdResourcesText(const Program& program, const std::string& code_object);

}  // namespace tilewright::report
