#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/run/run.h"
#include "src/media/image_decode.h"
#include "src/tensor/tensor.h"

namespace tilewright::session {

/// Checks a rule for synthetic inputs: ramp, quantized, random, or quantized:SCALE:ZERO_POINT.
/// Errors: kInvalidArgument with the accepted forms.
Status CheckInputRule(const std::string& rule);

/// Where the inputs of a network come from.
struct InputSources {
  std::vector<std::string> files;  ///< of the first inputs: raw or .npy tensors, or pictures
  /// Rule for inputs that are not given (CheckInputRule); empty: the caller's default.
  std::string rule;
  ImageOptions image;

  /// Returns the inputs. fallback: rule of synthetic inputs if none is given.
  /// Errors: kInvalidArgument for more files than inputs, or a scale for an input that is not
  /// float; those of ReadTensorFile.
  Result<std::vector<Tensor>> Make(const std::vector<ModelValue>& values,
                                   const std::string& fallback = "ramp") const;
};

}  // namespace tilewright::session
