#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Sizes and values that a model file leaves open, as whoever reads it gives them.
struct Bindings {
  /// What an input always is.
  struct Value {
    std::string text;  ///< its elements in row-major order ("1,2,3"), or a file's name
    std::optional<Tensor> contents;  ///< of that file
  };
  template <typename T>
  using ByName = std::map<std::string, T, std::less<>>;

  ByName<std::vector<std::int64_t>> shapes;  ///< of inputs
  ByName<std::int64_t> dims;                 ///< symbolic dimensions, wherever they stand
  ByName<Value> values;                      ///< of inputs, which then are constants

  bool empty() const { return shapes.empty() && dims.empty() && values.empty(); }
  /// The options that say the same, in one order: "--dim height=320", "--shape x=1x3x320x320",
  /// "--value sr=16000".
  std::vector<std::string> Options() const;
  Bindings Clone() const;
};

/// Bindings as texts: of `--shape`, `--dim` and `--value`, and of the fields of a job file.
struct BindingTexts {
  std::vector<std::string> shapes;  ///< "x=1x3x320x320"; several: "x=1x3x320x320,1x3x640x640"
  std::vector<std::string> dims;    ///< "height=320"; several: "height=320,640"
  std::vector<std::string> values;  ///< "sr=16000", "axes=0,2", "mask=mask.npy"
  bool empty() const { return shapes.empty() && dims.empty() && values.empty(); }
};

/// One for each set of sizes: the first shape and size of every name, the second ones, …; what is
/// said once holds for all sets. A name may have '=' in it: the last one ends it. Files are not
/// read.
/// Errors: kInvalidArgument as "--shape TEXT: what is wrong, expected …".
Result<std::vector<Bindings>> ParseBindings(const BindingTexts& texts);

/// "1x3x320x320"; a scalar: "scalar".
std::string ShapeToString(const std::vector<std::int64_t>& shape);

/// Elements of a value's text as a tensor.
/// Errors: kInvalidArgument for other than as many elements as the type has, and for one that the
/// element type does not hold.
Result<Tensor> TensorOfText(std::string_view text, const TensorType& type);

}  // namespace tilewright
