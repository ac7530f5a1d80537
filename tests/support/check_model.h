#pragma once

#include <string>

#include "src/compiler/compile.h"

namespace tilewright {

enum class ModelOutcome : std::uint8_t {
  kRight,
  kRefused,   ///< with a message for the user
  kInternal,  ///< rejected by an internal check
  kWrong,     ///< an operator or an output differs from the reference
};

struct ModelCheck {
  ModelOutcome outcome = ModelOutcome::kRight;
  std::string message;  ///< empty if correct
};

/// Reads an ONNX model, compiles it into `folder`, and runs it on synthetic inputs. Compares each
/// operator, and compares the outputs with those of the imported graph before any pass.
ModelCheck CheckModel(const std::string& bytes, const CompileOptions& options,
                      const std::string& folder);

}  // namespace tilewright
