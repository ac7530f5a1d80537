#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// What ptxas says of one kernel.
struct KernelResources {
  std::string kernel;
  int registers = 0;                                                          ///< of one thread
  std::int64_t stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;  ///< of one thread
  std::int64_t shared_bytes = 0;                                              ///< of one block
};

/// Path of NVIDIA's assembler, which is no part of Debian; empty where there is none.
std::string FindPtxas();

/// Reads what `ptxas -v` writes: a line names the kernel, the next ones are about it. What is not
/// understood is passed over.
std::vector<KernelResources> ParsePtxasReport(const std::string& text);

/// The resources of every kernel in a PTX text, in ptxas's order.
/// cubin: if not null, the machine code goes there.
/// Errors: kInvalidArgument with ptxas's words if it refuses the text; kUnavailable if it cannot be
/// run.
Result<std::vector<KernelResources>> RunPtxas(const std::string& ptxas, const std::string& ptx,
                                              int compute_capability, std::string* cubin = nullptr);

}  // namespace tilewright
