#pragma once

#include <onnx/onnx_pb.h>

#include "src/base/status.h"

namespace tilewright {

/// Replaces every name of the model (values, nodes, operators, attributes, dimensions) by its
/// printable form (see Printable), so that messages, reports, headers and libraries can show it.
/// Keeps names with a zero byte, which the import rejects by name. Keeps contents and paths.
/// Returns kInvalidArgument if two names have the same printable form.
Status MakeNamesPrintable(onnx::ModelProto& model);

}  // namespace tilewright
