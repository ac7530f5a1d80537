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

/// Sizes and values, given by the user, of dimensions and inputs that a model file leaves open.
struct Bindings {
  /// Constant value of an input.
  struct Value {
    std::string text;                ///< elements in row-major order ("1,2,3"), or a file name
    std::optional<Tensor> contents;  ///< contents of that file
  };
  template <typename T>
  using ByName = std::map<std::string, T, std::less<>>;

  ByName<std::vector<std::int64_t>> shapes;  ///< of inputs
  ByName<std::int64_t> dims;                 ///< of symbolic dimensions, in all inputs
  ByName<Value> values;                      ///< of inputs, which become constants

  bool empty() const { return shapes.empty() && dims.empty() && values.empty(); }
  /// Returns the options that give these bindings, in a fixed order: "--dim height=320", "--shape
  /// x=1x3x320x320", "--value sr=16000".
  std::vector<std::string> Options() const;
  Bindings Clone() const;
};

/// Unparsed bindings: arguments of `--shape`, `--dim` and `--value`, or fields of a job file.
struct BindingTexts {
  std::vector<std::string> shapes;  ///< "x=1x3x320x320"; several: "x=1x3x320x320,1x3x640x640"
  std::vector<std::string> dims;    ///< "height=320"; several: "height=320,640"
  std::vector<std::string> values;  ///< "sr=16000", "axes=0,2", "mask=mask.npy"
  bool empty() const { return shapes.empty() && dims.empty() && values.empty(); }
};

/// Parses bindings into one Bindings per shape variant: the first element of every name, then the
/// second elements, and so on. A name with one element has it in all variants. The last '=' of a
/// text ends the name, so a name may contain '='. Reads no files.
/// Errors: kInvalidArgument as "--shape TEXT: reason, expected …".
Result<std::vector<Bindings>> ParseBindings(const BindingTexts& texts);

/// Formats a shape: "1x3x320x320", or "scalar".
std::string ShapeToString(const std::vector<std::int64_t>& shape);

/// Parses the elements of a value's text into a tensor.
/// Errors: kInvalidArgument if the number of elements differs from the type's, or if the element
/// type cannot represent an element.
Result<Tensor> TensorOfText(std::string_view text, const TensorType& type);

}  // namespace tilewright
