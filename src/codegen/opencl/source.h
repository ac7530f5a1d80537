#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/ir/stmt.h"

namespace tilewright::opencl {

/// Returns OpenCL C 1.2 of the kernels of the programs' launches (src/schedule/launch.h). Each
/// takes the program's parameters, then the buffers of its workspace, of which some
/// are images (src/schedule/workspace_images.h): lines at the beginning declare them. Without
/// cl_khr_fp16: float16 is stored and loaded by vstore_half and vload_half, and computed in float.
/// Errors:
/// kInvalidArgument for an invalid program; kUnsupported for code without words in OpenCL C (tensor
/// cores, asynchronous copies, library calls) and for bfloat16.
Result<std::string> PrintSource(const std::vector<Program>& programs);

}  // namespace tilewright::opencl
