// Scalar expressions as OpenCL C. Integers of 8 and 16 bits are computed in int and cast back, so
// that they wrap.

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/codegen/llvm/indexer.h"
#include "src/codegen/opencl/kernel_writer.h"

namespace tilewright::opencl {
namespace {

struct Operation {
  ExprKind kind;
  int precedence;
  const char* symbol;
};
constexpr Operation kOperations[] = {
    {ExprKind::kOr, kOrElse, " || "},       {ExprKind::kAnd, kAndThen, " && "},
    {ExprKind::kEq, kEquality, " == "},     {ExprKind::kNe, kEquality, " != "},
    {ExprKind::kLt, kRelation, " < "},      {ExprKind::kLe, kRelation, " <= "},
    {ExprKind::kShiftLeft, kShift, " << "}, {ExprKind::kShiftRight, kShift, " >> "},
    {ExprKind::kAdd, kSum, " + "},          {ExprKind::kSub, kSum, " - "},
    {ExprKind::kMul, kProduct, " * "},      {ExprKind::kDiv, kProduct, " / "}};

std::string Enclosed(std::string text, int own, int outer) {
  return own < outer ? "(" + std::move(text) + ")" : text;
}

struct Function {
  const char* name;
  const char* own;     ///< of OpenCL C; null: a helper
  const char* helper;  ///< tw_…
};
constexpr Function kFunctions[] = {{"sigmoid", nullptr, "tw_sigmoid"},
                                   {"softplus", nullptr, "tw_softplus"},
                                   {"abs", "fabs", nullptr}};
/// Functions that have the same name and meaning in OpenCL C.
constexpr const char* kSame[] = {"exp",   "log",   "expm1", "log1p", "sqrt",  "erf",
                                 "pow",   "sin",   "cos",   "tan",   "asin",  "acos",
                                 "atan",  "sinh",  "cosh",  "tanh",  "asinh", "acosh",
                                 "atanh", "floor", "ceil",  "round", "rint",  "fma"};

}  // namespace

std::string TypeName(DataType dtype, bool memory) {
  if (dtype.is_bool()) return memory ? "uchar" : "int";
  if (dtype == kFloat16) return memory ? "ushort" : "float";
  if (dtype.is_float()) return dtype.bits == 64 ? "double" : "float";
  const char* name = dtype.bits == 8    ? "char"
                     : dtype.bits == 16 ? "short"
                     : dtype.bits == 32 ? "int"
                                        : "long";
  return dtype.code == TypeCode::kUInt ? std::string("u") + name : name;
}

std::string KernelWriter::Value(const Expr& expr, int outer) { return Text(expr, outer, false); }
std::string KernelWriter::Index(const Expr& expr, int outer) { return Text(expr, outer, true); }

std::string KernelWriter::Text(const Expr& expr, int outer, bool index) {
  const ExprNode& node = *expr;
  if (node.dtype == kBFloat16) Fail(Unsupported("bfloat16 in OpenCL C"));
  if (node.dtype == kFloat64) defined_.UseDouble();
  switch (node.kind) {
    case ExprKind::kInt:
      return Number(node, index);
    case ExprKind::kFloat:
      return Real(node);
    case ExprKind::kVar: {
      const std::string& name = NameOf(node);
      return index || wide_ ? name : Enclosed("(long)" + name, kPrefix, outer);
    }
    case ExprKind::kCast:
      return Cast(expr);
    case ExprKind::kNot:
      return Enclosed("!" + Value(node.args[0], kPrefix), kPrefix, outer);
    case ExprKind::kSelect:
      return Enclosed(Value(node.args[0], kConditional + 1) + " ? " +
                          Text(node.args[1], kConditional + 1, index) + " : " +
                          Text(node.args[2], kConditional + 1, index),
                      kConditional, outer);
    case ExprKind::kLoad:
      return Load(node);
    case ExprKind::kCall:
      return Call(expr);
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
      return FloorDivision(expr, outer, index);
    case ExprKind::kMin:
    case ExprKind::kMax:
      return Extreme(expr, index);
    default:
      return Binary(expr, outer, index);
  }
}

std::string KernelWriter::Number(const ExprNode& node, bool index) const {
  const std::int64_t value = node.int_value;
  if (value == std::numeric_limits<std::int64_t>::min()) return "LONG_MIN";
  if (node.dtype.bits <= 32 && value == std::numeric_limits<std::int32_t>::min()) return "INT_MIN";
  std::string text = std::to_string(value);
  const bool is_long = node.dtype.bits == 64 && (!index || wide_);
  if (node.dtype.code == TypeCode::kUInt && node.dtype.bits >= 32) text += "u";
  if (is_long && !index) text += "L";
  return value < 0 ? "(" + text + ")" : text;
}

std::string KernelWriter::Real(const ExprNode& node) const {
  const double value = node.float_value;
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value < 0 ? "(-INFINITY)" : "INFINITY";
  std::string text = ToString(MakeFloat(node.dtype == kFloat64 ? kFloat64 : kFloat32, value));
  return value < 0 || std::signbit(value) ? "(" + text + ")" : text;
}

std::string KernelWriter::Binary(const Expr& expr, int outer, bool index) {
  const auto* operation = std::ranges::find(kOperations, expr->kind, &Operation::kind);
  if (operation == std::end(kOperations)) {
    Fail(Internal("expression without a text: " + ToString(expr)));
    return {};
  }
  const int own = operation->precedence;
  // Comparisons of indices.
  const bool compares = own == kEquality || own == kRelation;
  const bool of_index =
      index || (compares && emit::IsIndexExpr(expr->args[0]) && emit::IsIndexExpr(expr->args[1]));
  const bool narrow = expr->dtype.is_integer() && expr->dtype.bits < 32;
  const bool half = expr->dtype == kFloat16;
  std::string left = Text(expr->args[0], own, of_index);
  const char* symbol = operation->symbol;
  const Expr& second = expr->args[1];
  std::int64_t value = 0;
  std::string text;
  if (of_index && expr->kind == ExprKind::kAdd && second.IsInt(&value) && value < 0) {
    text = left + " - " + std::to_string(value).substr(1);
  } else {
    text = left + symbol + Text(second, own + 1, of_index);
  }
  // Signed sums and products wrap, which C leaves undefined.
  const bool wraps = !of_index && expr->dtype.code == TypeCode::kInt && expr->dtype.bits >= 32 &&
                     (own == kSum || expr->kind == ExprKind::kMul);
  if (wraps) {
    const std::string type = TypeName(expr->dtype);
    return "(" + type + ")((u" + type + ")" + Text(expr->args[0], kPrimary, false) + symbol + "(u" +
           type + ")" + Text(second, kPrimary, false) + ")";
  }
  if (half) return defined_.Use("tw_half") + "(" + text + ")";
  if (narrow) return "(" + TypeName(expr->dtype) + ")(" + text + ")";
  return Enclosed(std::move(text), own, outer);
}

std::string KernelWriter::FloorDivision(const Expr& expr, int outer, bool index) {
  const bool divides = expr->kind == ExprKind::kFloorDiv;
  const Expr& a = expr->args[0];
  const Expr& b = expr->args[1];
  const bool of_index = index || emit::IsIndexExpr(expr);
  std::int64_t divisor = 0;
  const bool positive = b.IsInt(&divisor) && divisor > 0;
  const auto bounds = expr->dtype == kInt64 ? BoundsOf(a, ranges_) : std::nullopt;
  const bool natural =
      (positive && bounds && bounds->min >= 0) || expr->dtype.code == TypeCode::kUInt;
  if (natural) {
    return Enclosed(
        Text(a, kProduct, of_index) + (divides ? " / " : " % ") + Text(b, kProduct + 1, of_index),
        kProduct, outer);
  }
  const bool is_long = of_index ? wide_ : expr->dtype.bits == 64;
  const std::string name = divides ? "tw_floordiv" : "tw_floormod";
  return defined_.Use(name + (is_long ? "_long" : "")) + "(" + Text(a, 0, of_index) + ", " +
         Text(b, 0, of_index) + ")";
}

std::string KernelWriter::Extreme(const Expr& expr, bool index) {
  const bool least = expr->kind == ExprKind::kMin;
  const DataType dtype = expr->dtype;
  std::string name = least ? "min" : "max";
  if (dtype.is_float()) {
    name = defined_.Use("tw_" + name + (dtype == kFloat64 ? "_double" : ""));
    return name + "(" + Value(expr->args[0]) + ", " + Value(expr->args[1]) + ")";
  }
  // Both operands need the same type: literals and promoted values have another one.
  const std::string type = index && !wide_ ? "int" : TypeName(dtype);
  const auto operand = [&](const Expr& arg) {
    return "(" + type + ")" + Text(arg, kPrimary, index);
  };
  return name + "(" + operand(expr->args[0]) + ", " + operand(expr->args[1]) + ")";
}

std::string KernelWriter::Cast(const Expr& expr) {
  const Expr& arg = expr->args[0];
  const DataType from = arg->dtype, to = expr->dtype;
  const bool of_index = emit::IsIndexExpr(arg);
  if (to.is_bool()) return "(" + Text(arg, kEquality + 1, of_index) + " != 0)";
  if (to == kFloat16) {
    if (from == kFloat16) return Value(arg, kPrimary);
    if (from == kFloat64) return defined_.Use("tw_half_double") + "(" + Value(arg) + ")";
    const std::string value =
        from == kFloat32 ? Value(arg) : "(float)" + Text(arg, kPrimary, of_index);
    return defined_.Use("tw_half") + "(" + value + ")";
  }
  if (from == kFloat16 && to == kFloat32) return Value(arg, kPrimary);
  // Floats become narrow integers by way of int, so that these wrap as they do from integers.
  const bool by_int = from.is_float() && to.is_integer() && to.bits < 32;
  return "(" + TypeName(to) + ")" + (by_int ? "(int)" : "") + Text(arg, kPrimary, of_index);
}

Expr KernelWriter::FlatIndex(const BufferNode& buffer, const std::vector<Expr>& indices) const {
  Expr flat = 0;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    flat = d == 0 ? indices[d] : flat * Expr(buffer.shape[d]) + indices[d];
  }
  return flat;
}

std::string KernelWriter::Flat(const BufferNode& buffer, const std::vector<Expr>& indices) {
  return Index(Simplify(FlatIndex(buffer, indices), ranges_));
}

std::string KernelWriter::Pointer(const BufferNode& buffer, bool writes) {
  const std::string& name = NameOf(buffer);
  if (buffer.dtype != kFloat16) return name;
  const char* space = buffer.scope == Scope::kShared   ? "__local "
                      : buffer.scope == Scope::kGlobal ? "__global "
                                                       : "";
  return std::string("(") + space + (writes ? "" : "const ") + "half*)" + name;
}

std::string KernelWriter::TexelCoordinates(const WorkspaceImage& image,
                                           const std::vector<Expr>& indices) {
  const TexelPlace place = TexelOf(image, indices);
  const auto coordinate = [&](const Expr& index) {
    const std::string text = Index(Simplify(index, ranges_), wide_ ? kPrimary : kAnyOperand);
    return wide_ ? "(int)" + text : text;
  };
  return "(int2)(" + coordinate(place.column) + ", " + coordinate(place.row) + ")";
}

std::string KernelWriter::Texel(const WorkspaceImage& image, const std::vector<Expr>& indices) {
  return "read_imagef(" + NameOf(*image.buffer) + ", " + defined_.Use("tw_sampler") + ", " +
         TexelCoordinates(image, indices) + ")";
}

std::string KernelWriter::Load(const ExprNode& load) {
  const BufferNode& buffer = *load.buffer;
  if (const WorkspaceImage* image = ImageOf(buffer)) {
    const Expr lane = Simplify(load.args.back(), ranges_);
    std::int64_t number = 0;
    const std::string texel = Texel(*image, load.args);
    if (lane.IsInt(&number)) return texel + ".s" + std::to_string(number);
    return defined_.Use("tw_element") + "(" + texel + ", " + Index(lane) + ")";
  }
  const std::string index = Flat(buffer, load.args);
  if (buffer.dtype == kFloat16) return "vload_half(" + index + ", " + Pointer(buffer) + ")";
  return NameOf(buffer) + "[" + index + "]";
}

std::optional<std::string> KernelWriter::Bits(const Expr& expr) {
  if (expr->kind == ExprKind::kLoad) {
    if (ImageOf(*expr->buffer) != nullptr) return std::nullopt;
    return NameOf(*expr->buffer) + "[" + Flat(*expr->buffer, expr->args) + "]";
  }
  if (expr->kind == ExprKind::kFloat && expr->float_value == 0 &&
      !std::signbit(expr->float_value)) {
    return "0";
  }
  if (expr->kind != ExprKind::kSelect) return std::nullopt;
  const auto a = Bits(expr->args[1]), b = Bits(expr->args[2]);
  if (!a || !b) return std::nullopt;
  return Value(expr->args[0], kConditional + 1) + " ? " + *a + " : (" + *b + ")";
}

std::string KernelWriter::Call(const Expr& expr) {
  const DataType dtype = expr->dtype;
  const std::string& name = expr->name;
  std::string arguments;
  for (const Expr& arg : expr->args) {
    arguments += (arguments.empty() ? "" : ", ") + Value(arg);
  }
  if (name == "mulhi_s64") return "mul_hi(" + arguments + ")";
  if (!dtype.is_float()) {
    if (name == "abs") return "(" + TypeName(dtype) + ")abs(" + arguments + ")";
    Fail(Unsupported("no code for the call " + ToString(expr)));
    return {};
  }
  std::string called;
  const auto* own =
      std::ranges::find_if(kFunctions, [&](const Function& f) { return name == f.name; });
  if (own != std::end(kFunctions)) {
    called = own->own != nullptr
                 ? own->own
                 : defined_.Use(own->helper + std::string(dtype == kFloat64 ? "_double" : ""));
  } else if (std::ranges::any_of(kSame, [&](const char* same) { return name == same; })) {
    called = name;
  } else {
    Fail(Unsupported("no code for the call " + ToString(expr)));
  }
  const std::string text = called + "(" + arguments + ")";
  return dtype == kFloat16 ? defined_.Use("tw_half") + "(" + text + ")" : text;
}

}  // namespace tilewright::opencl
