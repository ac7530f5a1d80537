#include "tests/graph/one_operator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "src/graph/onnx/proto.h"

namespace tilewright {

using onnx_definitions::Array;
using onnx_definitions::Window;

Tensor TensorOf(const Array& array, DataType dtype) {
  return MakeTensor(dtype, array.shape, array.v);
}

DataType TypeNamed(const std::string& name) {
  return name == "uint8"    ? kUInt8
         : name == "int8"   ? kInt8
         : name == "uint16" ? kUInt16
         : name == "int16"  ? kInt16
                            : kInt32;
}

void ExpectEqual(const Tensor& actual, const Array& expected, double relative) {
  ASSERT_EQ(actual.shape(), expected.shape);
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double wanted = expected.v[static_cast<std::size_t>(i)];
    if (std::isnan(wanted) && std::isnan(actual.At(i))) continue;
    if (actual.At(i) == wanted) continue;  // equal infinite values too
    ASSERT_NEAR(actual.At(i), wanted, relative * std::max(1.0, std::abs(wanted)))
        << "element " << i;
  }
}

OneOperator::OneOperator(const std::string& op, const Array& x, std::int64_t opset, DataType dtype)
    : model_(opset), x_(TensorOf(x, dtype)) {
  model_.Input("x", x_.shape(), OnnxTypeOf(dtype)).Output("y").Node(op, {"x"}, {"y"});
}

OneOperator& OneOperator::With(const Array& operand, DataType dtype) {
  auto* node = model_.proto().mutable_graph()->mutable_node(0);
  const std::string name = "operand" + std::to_string(node->input_size());
  node->add_input(name);
  model_.Initializer(name, TensorOf(operand, dtype));
  return *this;
}

OneOperator& OneOperator::Scalar(double value, DataType dtype) {
  return With({{}, {value}}, dtype);
}

OneOperator& OneOperator::Vector(const Doubles& values, DataType dtype) {
  return values.size() == 1 ? Scalar(values[0], dtype)
                            : With({{static_cast<std::int64_t>(values.size())}, values}, dtype);
}

OneOperator& OneOperator::List(const Ints& values) {
  return With({{static_cast<std::int64_t>(values.size())}, Doubles(values.begin(), values.end())},
              kInt64);
}

OneOperator& OneOperator::Skip() {
  model_.proto().mutable_graph()->mutable_node(0)->add_input("");
  return *this;
}

OneOperator& OneOperator::Attributes(const Window& w, bool pool) {
  const Window plain;
  if (pool) model_.IntList("kernel_shape", w.kernel);
  if (w.strides != plain.strides) model_.IntList("strides", w.strides);
  if (w.dilations != plain.dilations) model_.IntList("dilations", w.dilations);
  if (w.pads != plain.pads) model_.IntList("pads", w.pads);
  if (w.auto_pad != plain.auto_pad) model_.Text("auto_pad", w.auto_pad);
  if (w.group != 1) model_.Int("group", w.group);
  if (w.ceil_mode) model_.Int("ceil_mode", 1);
  if (w.count_include_pad) model_.Int("count_include_pad", 1);
  if (w.output_padding != plain.output_padding) {
    model_.IntList("output_padding", w.output_padding);
  }
  if (!w.output_shape.empty()) model_.IntList("output_shape", w.output_shape);
  return *this;
}

}  // namespace tilewright
