#pragma once

#include <string>
#include <vector>

#include "tests/graph/onnx/builder.h"
#include "tests/graph/onnx/definitions.h"

namespace tilewright {

using Doubles = std::vector<double>;

Tensor TensorOf(const onnx_definitions::Array& array, DataType dtype = kFloat32);
DataType TypeNamed(const std::string& name);
/// Compares element by element. Elements may differ by `relative` times max(1, |expected|).
void ExpectEqual(const Tensor& actual, const onnx_definitions::Array& expected,
                 double relative = 0);

/// Model of y = op(x, constants…): `x` is an input of the network, all other operands are constants
/// in the file.
class OneOperator {
 public:
  OneOperator(const std::string& op, const onnx_definitions::Array& x, std::int64_t opset = 13,
              DataType dtype = kFloat32);
  OneOperator& With(const onnx_definitions::Array& operand, DataType dtype = kFloat32);
  OneOperator& Scalar(double value, DataType dtype = kFloat32);
  /// A single value becomes a scalar.
  OneOperator& Vector(const Doubles& values, DataType dtype = kFloat32);
  /// A list of integers, also if it has one element.
  OneOperator& List(const Ints& values);
  /// An omitted optional input.
  OneOperator& Skip();
  /// Attributes that differ from their defaults.
  OneOperator& Attributes(const onnx_definitions::Window& window, bool pool);
  OnnxBuilder& model() { return model_; }
  Tensor Run() const { return EvaluateModel(model_, {&x_}); }

 private:
  OnnxBuilder model_;
  Tensor x_;
};

}  // namespace tilewright
