#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

#include "src/base/status.h"

namespace tilewright::emit {

/// Returns the module as assembly text or as an object file.
/// Errors: kUnsupported if the target cannot write that kind of file.
Result<std::string> EmitMachineCode(llvm::Module& module, llvm::TargetMachine& machine,
                                    bool assembly);

}  // namespace tilewright::emit
