#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// Resources of one kernel as reported by ptxas.
struct KernelResources {
  std::string kernel;
  int registers = 0;                                                          ///< per thread
  std::int64_t stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;  ///< per thread
  std::int64_t shared_bytes = 0;                                              ///< per block
};

/// Returns the path of NVIDIA's assembler, which is not part of Debian; empty if it is not
/// installed.
std::string FindPtxas();

/// Parses the output of `ptxas -v`: a line names the kernel, the next ones describe it. Ignores
/// unknown text.
std::vector<KernelResources> ParsePtxasReport(const std::string& text);

/// Returns the resources of every kernel in a PTX text, in ptxas's order. cubin: if not null,
/// receives the machine code.
/// Errors: kInvalidArgument with ptxas's message if it rejects the text; kUnavailable if it cannot
/// be run.
Result<std::vector<KernelResources>> RunPtxas(const std::string& ptxas, const std::string& ptx,
                                              int compute_capability, std::string* cubin = nullptr);

}  // namespace tilewright
