#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "src/base/status.h"

namespace tilewright::simt {

// Symbols shared by the instrumented module and the emulator.
inline constexpr const char* kMachineGlobal = "tw_simt_machine";    ///< pointer, first argument of:
inline constexpr const char* kIndexFunction = "tw_simt_index";      ///< i32 (ptr, i32 which)
inline constexpr const char* kBarrierFunction = "tw_simt_barrier";  ///< void (ptr, i32 which)
/// void (ptr, i32 memory, ptr address, i32 bytes, i32 write)
inline constexpr const char* kAccessFunction = "tw_simt_access";
/// void (ptr, i32 number in MmaIntrinsics(), ptr words)
inline constexpr const char* kProductFunction = "tw_simt_product";
/// void (ptr, i32 memory, ptr to, i32 memory, ptr from, i32 bytes, i32 bytes read)
inline constexpr const char* kCopyFunction = "tw_simt_copy";
inline constexpr const char* kCommitFunction = "tw_simt_commit";  ///< void (ptr)
inline constexpr const char* kWaitFunction = "tw_simt_wait";      ///< void (ptr, i32 pending)
inline constexpr const char* kEntrySuffix = ".simt";  ///< of the function (ptr arguments)

/// Shared array of the module. Its memory is an ordinary global there, or a part of one.
struct SharedArray {
  std::string name;
  std::string symbol;       ///< of the global
  std::int64_t offset = 0;  ///< into the global
  std::int64_t bytes = 0, element_bytes = 1;
};

/// Converts a module for NVPTX to one for a CPU: index registers and barriers become calls, and a
/// call precedes each load and store. Memory is numbered: the kernel's parameters, then the shared
/// arrays of the module, which are returned.
/// Errors: kUnsupported for an instruction that the emulator does not support.
Result<std::vector<SharedArray>> Instrument(llvm::Module& module);

}  // namespace tilewright::simt
