#pragma once

#include <onnx/onnx_pb.h>

#include "src/base/status.h"

namespace tilewright {

/// Replaces every name of the model (values, nodes, operators, attributes, dimensions) by what
/// Printable makes of it, so that messages, reports, headers and libraries can show it. Names with
/// a zero byte stay as they are, to be refused by name. Contents and paths are not touched. Errors:
/// kInvalidArgument for two names that are printed alike.
Status MakeNamesPrintable(onnx::ModelProto& model);

}  // namespace tilewright
