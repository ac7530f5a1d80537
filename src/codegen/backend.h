#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "src/base/status.h"
#include "src/ir/stmt.h"
#include "src/target/cpu.h"
#include "src/target/target.h"

namespace tilewright {

/// What differs from one form of code to another when programs become a module and text or objects.
/// Included by .cc files of src/codegen only.
struct Backend {
  /// Of the processor whose vectors the loops are written for. Errors: those of FeaturesOf.
  Result<CpuFeatures> (*features)(const Target&);
  /// Errors: kUnsupported or kInvalidArgument for what LLVM does not know.
  Result<std::unique_ptr<llvm::TargetMachine>> (*make_machine)(const Target&);
  /// Adds a program's functions to a module of this machine.
  /// Errors: those of Generate.
  Status (*emit)(const Program&, const Target&, const CpuFeatures&, const llvm::TargetMachine&,
                 llvm::Module&);
  /// Null, or what is done to the optimized module before it becomes text or code.
  void (*finish)(llvm::Module&);
  bool position_independent = false;  ///< of any size
  bool object_is_assembly = false;    ///< PTX: something else translates it further
};

namespace emit {
extern const Backend kBackend;
}
namespace nvptx {
extern const Backend kBackend;
}

/// For machine code, or for grids, as the target's device has them. Errors: kUnsupported for
/// neither.
Result<const Backend*> BackendFor(const Target& target);

}  // namespace tilewright
