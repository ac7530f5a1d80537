// Interpreter of loops and of definitions that tests compare with. It keeps numbers as int64 or
// double and rounds them to their type after every operation.

#include "tests/support/interpreter.h"

#include <algorithm>
#include <cmath>

#include "src/base/math.h"
#include "src/base/random.h"
#include "src/ir/fold.h"
#include "src/schedule/intrinsics.h"
#include "src/tensor/half.h"

namespace tilewright {
namespace {

double Rounded(DataType dtype, double value) {
  if (dtype == kFloat16) return HalfToFloat(FloatToHalf(static_cast<float>(value)));
  return dtype.bits == 32 ? static_cast<double>(static_cast<float>(value)) : value;
}

Scalar InType(DataType dtype, Scalar value) {
  if (dtype.is_float()) return {0, Rounded(dtype, value.f)};
  return {WrapToType(dtype, value.i), 0};
}

Scalar Converted(DataType from, DataType to, Scalar value) {
  if (to.is_float()) {
    return {0, Rounded(to, from.is_float() ? value.f : static_cast<double>(value.i))};
  }
  if (!from.is_float()) return {WrapToType(to, value.i), 0};
  return {WrapToType(to, static_cast<std::int64_t>(std::trunc(value.f))), 0};
}

Scalar ElementOf(const Tensor& tensor, std::int64_t position) {
  if (tensor.dtype().is_float()) return {0, tensor.At(position)};
  if (tensor.dtype() == kInt64) {
    return {tensor.As<std::int64_t>()[static_cast<std::size_t>(position)], 0};
  }
  return {static_cast<std::int64_t>(tensor.At(position)), 0};
}

void SetElement(Tensor& tensor, std::int64_t position, Scalar value) {
  if (tensor.dtype() == kInt64) {
    tensor.As<std::int64_t>()[static_cast<std::size_t>(position)] = value.i;
  } else {
    tensor.Set(position, tensor.dtype().is_float() ? value.f : static_cast<double>(value.i));
  }
}

Scalar Combined(Combiner combiner, DataType dtype, Scalar a, Scalar b) {
  const bool real = dtype.is_float();
  switch (combiner) {
    case Combiner::kSum:
      return InType(dtype, {a.i + b.i, a.f + b.f});
    case Combiner::kMax:
      return real ? Scalar{0, std::fmax(a.f, b.f)} : Scalar{std::max(a.i, b.i), 0};
    case Combiner::kMin:
      return real ? Scalar{0, std::fmin(a.f, b.f)} : Scalar{std::min(a.i, b.i), 0};
    case Combiner::kProduct:
      return InType(dtype, {a.i * b.i, a.f * b.f});
    case Combiner::kNone:
      break;
  }
  return b;
}

/// Calls `visit` with every point of a box of these extents, the last index fastest.
template <typename Visit>
void ForEachPoint(const std::vector<std::int64_t>& extents, const Visit& visit) {
  std::vector<std::int64_t> point(extents.size(), 0);
  const std::int64_t count = Product(extents);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t d = extents.size(); d-- > 0;) {
      point[d] = rest % extents[d];
      rest /= extents[d];
    }
    visit(point);
  }
}

std::vector<std::int64_t> ExtentsOf(const std::vector<Axis>& axes) {
  std::vector<std::int64_t> extents;
  for (const Axis& axis : axes) extents.push_back(axis.extent);
  return extents;
}

}  // namespace

void Interpreter::SetContents(const Buffer& buffer, const Tensor& contents) {
  if (contents.type() != TensorType{buffer->shape, buffer->dtype}) {
    return Fail(buffer->name + " is given " + contents.type().ToString());
  }
  Memory memory;
  for (std::int64_t i = 0; i < contents.elements(); ++i) {
    memory.values.push_back(ElementOf(contents, i));
  }
  memory.written.assign(memory.values.size(), true);
  memory_[buffer.get()] = std::move(memory);
}

void Interpreter::MakeRoom(const Buffer& buffer) {
  const auto size = static_cast<std::size_t>(buffer->elements());
  memory_[buffer.get()] = {std::vector<Scalar>(size, Scalar{-123, -12345}),
                           std::vector<bool>(size, false)};
}

Tensor Interpreter::Contents(const Buffer& buffer) const {
  Tensor tensor(TensorType{buffer->shape, buffer->dtype});
  const auto found = memory_.find(buffer.get());
  if (found == memory_.end()) return tensor;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    SetElement(tensor, i, found->second.values[static_cast<std::size_t>(i)]);
  }
  return tensor;
}

std::int64_t Interpreter::Position(const Buffer& buffer, const std::vector<std::int64_t>& indices) {
  if (indices.size() != buffer->shape.size()) {
    Fail("number of indices of " + buffer->name);
    return -1;
  }
  std::int64_t position = 0;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (indices[d] < 0 || indices[d] >= buffer->shape[d]) {
      Fail("index " + std::to_string(indices[d]) + " of dimension " + std::to_string(d) + " of " +
           buffer->name + ", size " + std::to_string(buffer->shape[d]));
      return -1;
    }
    position = position * buffer->shape[d] + indices[d];
  }
  return position;
}

std::vector<std::int64_t> Interpreter::Indices(const std::vector<Expr>& indices) {
  std::vector<std::int64_t> values;
  for (const Expr& index : indices) values.push_back(Value(index).i);
  return values;
}

Scalar Interpreter::Load(const Buffer& buffer, const std::vector<std::int64_t>& indices) {
  const auto found = memory_.find(buffer.get());
  if (found == memory_.end()) {
    Fail("load from " + buffer->name + ", which does not exist here");
    return {};
  }
  const std::int64_t position = Position(buffer, indices);
  if (position < 0) return {};
  const auto at = static_cast<std::size_t>(position);
  if (!found->second.written[at]) Fail("load from " + buffer->name + " before a store");
  return found->second.values[at];
}

void Interpreter::Store(const Buffer& buffer, const std::vector<std::int64_t>& indices,
                        Scalar value) {
  const auto found = memory_.find(buffer.get());
  if (found == memory_.end()) return Fail("store to " + buffer->name + ", which is not here");
  const std::int64_t position = Position(buffer, indices);
  if (position < 0) return;
  const auto at = static_cast<std::size_t>(position);
  found->second.values[at] = InType(buffer->dtype, value);
  found->second.written[at] = true;
}

void Interpreter::Execute(const Stmt& stmt) {
  if (!error_.empty()) return;
  const StmtNode& node = *stmt;
  switch (node.kind) {
    case StmtKind::kBlock:
      for (const Stmt& part : node.body) Execute(part);
      break;
    case StmtKind::kFor:
      Loop(node);
      break;
    case StmtKind::kStore:
      Store(node.buffer, Indices(node.indices), Value(node.value));
      break;
    case StmtKind::kIf:
      if (Value(node.condition).i != 0) {
        Execute(node.body[0]);
      } else if (node.body.size() > 1 && node.body[1]) {
        Execute(node.body[1]);
      }
      break;
    case StmtKind::kAllocate:
      MakeRoom(node.buffer);
      Execute(node.body[0]);
      memory_.erase(node.buffer.get());
      break;
    case StmtKind::kIntrinsic:
      Dot(node);
      break;
    case StmtKind::kPrefetch:
      break;
    default:
      Fail("statement the interpreter does not know");
  }
}

void Interpreter::Loop(const StmtNode& loop) {
  for (std::int64_t i = 0; i < loop.extent && error_.empty(); ++i) {
    // Parallel iterations may run in any order; the interpreter runs them backwards.
    vars_[loop.var.get()] = loop.loop == LoopKind::kParallel ? loop.extent - 1 - i : i;
    Execute(loop.body[0]);
  }
  vars_.erase(loop.var.get());
}

void Interpreter::Evaluate(const ComputeOp& stage) {
  if (stage.body.dtype() != stage.output->dtype) return Fail("type of stage " + stage.name);
  MakeRoom(stage.output);
  ForEachPoint(ExtentsOf(stage.axes), [&](const std::vector<std::int64_t>& point) {
    if (!error_.empty()) return;
    for (std::size_t d = 0; d < point.size(); ++d) vars_[stage.axes[d].var.get()] = point[d];
    Scalar result;
    bool first = true;
    ForEachPoint(ExtentsOf(stage.reduce_axes), [&](const std::vector<std::int64_t>& inner) {
      for (std::size_t d = 0; d < inner.size(); ++d) {
        vars_[stage.reduce_axes[d].var.get()] = inner[d];
      }
      const Scalar value = Value(stage.body);
      result = first ? value : Combined(stage.combiner, stage.output->dtype, result, value);
      first = false;
    });
    Store(stage.output, point, result);
  });
}

std::vector<Scalar> Interpreter::Elements(const Region& region,
                                          std::vector<std::vector<std::int64_t>>* where) {
  std::vector<Scalar> elements;
  ForEachPoint(region.extent, [&](std::vector<std::int64_t> point) {
    for (std::size_t d = 0; d < point.size(); ++d) point[d] += Value(region.min[d]).i;
    elements.push_back(Load(region.buffer, point));
    if (where != nullptr) where->push_back(std::move(point));
  });
  return elements;
}

void Interpreter::Dot(const StmtNode& node) {
  const DotIntrinsic* dot = FindDotIntrinsic(node.name);
  if (dot == nullptr) return Fail("no intrinsic " + node.name);
  std::vector<std::vector<std::int64_t>> where;
  std::vector<Scalar> acc = Elements(node.regions[0], &where);
  const std::vector<Scalar> a = Elements(node.regions[1]);
  const std::vector<Scalar> b = Elements(node.regions[2]);
  const auto depth = static_cast<std::size_t>(dot->depth);
  if (a.size() != depth || b.size() != depth * acc.size()) return Fail("operands of " + node.name);
  for (std::size_t lane = 0; lane < acc.size(); ++lane) {
    for (std::size_t j = 0; j < depth; ++j) {
      acc[lane].i += a[j].i * b[lane * depth + j].i;
      acc[lane].f += a[j].f * b[lane * depth + j].f;
    }
    Store(node.regions[0].buffer, where[lane], acc[lane]);
  }
}

Scalar Interpreter::Call(const Expr& expr) {
  const double a = Value(expr->args[0]).f;
  const double b = expr->args.size() > 1 ? Value(expr->args[1]).f : 0;
  const std::string& name = expr->name;
  if (name == "exp") return {0, std::exp(a)};
  if (name == "log") return {0, std::log(a)};
  if (name == "sqrt") return {0, std::sqrt(a)};
  if (name == "tanh") return {0, std::tanh(a)};
  if (name == "erf") return {0, std::erf(a)};
  if (name == "pow") return {0, std::pow(a, b)};
  if (name == "floor") return {0, std::floor(a)};
  if (name == "ceil") return {0, std::ceil(a)};
  if (name == "round") return {0, std::round(a)};
  if (name == "rint") return {0, std::nearbyint(a)};
  if (name == "abs") return {0, std::fabs(a)};
  if (name == "softplus")
    return {0, a < 0 ? std::log1p(std::exp(a)) : a + std::log1p(std::exp(-a))};
  if (name == "sigmoid") return {0, 1 / (1 + std::exp(-a))};
  if (name == "log1p") return {0, std::log1p(a)};
  if (name == "expm1") return {0, std::expm1(a)};
  if (name == "sin") return {0, std::sin(a)};
  if (name == "cos") return {0, std::cos(a)};
  if (name == "tan") return {0, std::tan(a)};
  if (name == "asin") return {0, std::asin(a)};
  if (name == "acos") return {0, std::acos(a)};
  if (name == "atan") return {0, std::atan(a)};
  if (name == "sinh") return {0, std::sinh(a)};
  if (name == "cosh") return {0, std::cosh(a)};
  if (name == "asinh") return {0, std::asinh(a)};
  if (name == "acosh") return {0, std::acosh(a)};
  if (name == "atanh") return {0, std::atanh(a)};
  Fail("call of " + name);
  return {};
}

Scalar Interpreter::Binary(const Expr& expr) {
  const Scalar a = Value(expr->args[0]);
  // If the left operand decides "and" / "or", the right one may be invalid.
  if (expr->kind == ExprKind::kAnd && a.i == 0) return {0, 0};
  if (expr->kind == ExprKind::kOr && a.i != 0) return {1, 0};
  const Scalar b = Value(expr->args[1]);
  const DataType dtype = expr->args[0].dtype();
  if (dtype != expr->args[1].dtype()) Fail("operands of different types");
  if (!dtype.is_float()) {
    const auto value = FoldInt(expr->kind, dtype, a.i, b.i);
    if (!value) Fail("integer operation without a value: " + ToString(expr));
    return {value.value_or(0), 0};
  }
  if (const auto truth = FoldFloatComparison(expr->kind, a.f, b.f)) return {*truth ? 1 : 0, 0};
  switch (expr->kind) {
    case ExprKind::kAdd:
      return {0, a.f + b.f};
    case ExprKind::kSub:
      return {0, a.f - b.f};
    case ExprKind::kMul:
      return {0, a.f * b.f};
    case ExprKind::kDiv:
      return {0, a.f / b.f};
    case ExprKind::kMin:
      return {0, std::fmin(a.f, b.f)};
    case ExprKind::kMax:
      return {0, std::fmax(a.f, b.f)};
    default:
      Fail("operator the interpreter does not know");
      return {};
  }
}

Scalar Interpreter::Value(const Expr& expr) {
  switch (expr->kind) {
    case ExprKind::kInt:
      return {expr->int_value, 0};
    case ExprKind::kFloat:
      return {0, expr->float_value};
    case ExprKind::kVar: {
      const auto found = vars_.find(expr.get());
      if (found == vars_.end()) Fail("variable " + expr->name + " outside its loop");
      return {found == vars_.end() ? 0 : found->second, 0};
    }
    case ExprKind::kCast:
      return Converted(expr->args[0].dtype(), expr->dtype, Value(expr->args[0]));
    case ExprKind::kNot:
      return {Value(expr->args[0]).i == 0 ? 1 : 0, 0};
    case ExprKind::kSelect:
      return Value(expr->args[Value(expr->args[0]).i != 0 ? 1 : 2]);
    case ExprKind::kLoad:
      return Load(expr->buffer, Indices(expr->args));
    case ExprKind::kCall:
      return InType(expr->dtype, Call(expr));
    default: {
      const Scalar value = Binary(expr);
      return expr->dtype.is_float() ? InType(expr->dtype, value) : value;
    }
  }
}

Interpreted ExecuteProgram(const Program& program, std::span<const Tensor* const> inputs) {
  Interpreter interpreter;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    interpreter.SetContents(program.parameters[i], *inputs[i]);
  }
  for (std::size_t i = inputs.size(); i < program.parameters.size(); ++i) {
    interpreter.MakeRoom(program.parameters[i]);
  }
  interpreter.Execute(program.body);
  return {interpreter.Contents(program.parameters.back()), interpreter.error()};
}

Interpreted EvaluateCompute(const Compute& compute, std::span<const Tensor* const> inputs) {
  Interpreter interpreter;
  TW_CHECK(inputs.size() == compute.inputs.size(), "number of inputs");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    interpreter.SetContents(compute.inputs[i], *inputs[i]);
  }
  for (const ComputeOp& stage : compute.stages) interpreter.Evaluate(stage);
  return {interpreter.Contents(compute.stages.back().output), interpreter.error()};
}

Tensor Interpret(const Compute& compute, std::span<const Tensor* const> inputs) {
  Interpreted done = EvaluateCompute(compute, inputs);
  TW_CHECK(done.error.empty(), done.error);
  return std::move(done.result);
}

Tensor RandomTensor(TensorType type, std::uint64_t seed, std::int64_t limit) {
  Tensor tensor(std::move(type));
  Random random(seed);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (tensor.dtype().is_float()) {
      tensor.Set(i, 2 * random.Uniform() - 1);
      continue;
    }
    const bool has_sign = tensor.dtype().code == TypeCode::kInt;
    const auto range = static_cast<std::uint64_t>(has_sign ? 2 * limit + 1 : limit + 1);
    const auto drawn = static_cast<std::int64_t>(random.Below(range));
    tensor.Set(i, static_cast<double>(has_sign ? drawn - limit : drawn));
  }
  return tensor;
}

std::vector<const Tensor*> PointersTo(std::span<const Tensor> tensors) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& tensor : tensors) pointers.push_back(&tensor);
  return pointers;
}

std::vector<double> NumbersOf(const Tensor& tensor) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) numbers.push_back(tensor.At(i));
  return numbers;
}

}  // namespace tilewright
