#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/ir/stmt.h"
#include "src/target/cpu.h"
#include "src/target/target.h"

namespace tilewright {

/// Operations that differ between the forms of code when programs become a module and then text or
/// objects. Only .cc files of src/codegen include this header.
struct Backend {
  /// Returns the features of the processor whose vectors the loops use.
  /// Errors: those of FeaturesOf.
  Result<CpuFeatures> (*features)(const Target&);
  /// Errors: kUnsupported or kInvalidArgument for options that LLVM does not support.
  Result<std::unique_ptr<llvm::TargetMachine>> (*make_machine)(const Target&);
  /// Adds a program's functions to a module of this machine.
  /// Errors: those of Generate.
  Status (*emit)(const Program&, const Target&, const CpuFeatures&, const llvm::TargetMachine&,
                 llvm::Module&);
  /// Pass over the optimized module before it becomes text or code; may be null.
  void (*finish)(llvm::Module&);
  /// Prints source text in place of assembly and objects; null: LLVM generates these.
  /// Errors: those of Generate.
  Result<std::string> (*print)(const std::vector<Program>&) = nullptr;
  /// Makes of an object the file that a driver loads; null: the object is it.
  /// Errors: those of LinkShared.
  Result<std::string> (*link)(const std::string& object) = nullptr;
  bool position_independent = false;  ///< for objects of any size
  bool object_is_assembly = false;    ///< PTX: another assembler translates it further
};

namespace emit {
extern const Backend kBackend;
}
namespace nvptx {
extern const Backend kBackend;
}

namespace amdgpu {
extern const Backend kBackend;
}
namespace opencl {
extern const Backend kBackend;
}

/// Returns the backend for machine code or for grids, as the target's device requires.
/// Errors: kUnsupported for other devices.
Result<const Backend*> BackendFor(const Target& target);

}  // namespace tilewright
