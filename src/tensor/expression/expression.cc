// Properties of expressions: types, work, functions, and indices as linear forms.

#include "src/tensor/expression/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/tensor/expression/internal.h"

namespace tilewright {
namespace {

constexpr std::array kFunctions = {
    ExpressionFunction{"exp", 1},      ExpressionFunction{"log", 1},
    ExpressionFunction{"sqrt", 1},     ExpressionFunction{"tanh", 1},
    ExpressionFunction{"erf", 1},      ExpressionFunction{"pow", 2},
    ExpressionFunction{"floor", 1},    ExpressionFunction{"ceil", 1},
    ExpressionFunction{"round", 1},    ExpressionFunction{"rint", 1},
    ExpressionFunction{"abs", 1},      ExpressionFunction{"sin", 1},
    ExpressionFunction{"cos", 1},      ExpressionFunction{"tan", 1},
    ExpressionFunction{"asin", 1},     ExpressionFunction{"acos", 1},
    ExpressionFunction{"atan", 1},     ExpressionFunction{"sinh", 1},
    ExpressionFunction{"cosh", 1},     ExpressionFunction{"asinh", 1},
    ExpressionFunction{"acosh", 1},    ExpressionFunction{"atanh", 1},
    ExpressionFunction{"expm1", 1},    ExpressionFunction{"log1p", 1},
    ExpressionFunction{"softplus", 1}, ExpressionFunction{"sigmoid", 1},
};

constexpr std::array<std::string_view, 7> kReductionNames = {"",        "sum",    "max",   "min",
                                                             "product", "argmax", "argmin"};

double CountOf(std::span<const ExpressionAxis> axes) {
  double count = 1;
  for (const ExpressionAxis& axis : axes) count *= static_cast<double>(axis.extent);
  return count;
}

bool Computes(const ExpressionNode& node) {
  switch (node.kind) {
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kVar:
    case ExprKind::kLoad:
      return false;
    default:
      return node.dtype != kInt64;
  }
}

}  // namespace

std::span<const ExpressionFunction> FunctionsOfExpressions() { return kFunctions; }

std::string_view ReductionName(ExpressionReduction reduction) {
  return kReductionNames[static_cast<std::size_t>(reduction)];
}

TensorType ExpressionStage::type() const {
  TensorType type;
  for (const ExpressionAxis& axis : axes) type.shape.push_back(axis.extent);
  const bool position =
      reduction == ExpressionReduction::kArgMax || reduction == ExpressionReduction::kArgMin;
  type.dtype = position ? kInt64 : body().dtype;
  return type;
}

TensorType Expression::TypeOf(std::int64_t tensor) const {
  const auto i = static_cast<std::size_t>(tensor);
  return i < inputs.size() ? inputs[i].type : stages[i - inputs.size()].type();
}

const std::string& Expression::NameOf(std::int64_t tensor) const {
  const auto i = static_cast<std::size_t>(tensor);
  return i < inputs.size() ? inputs[i].name : stages[i - inputs.size()].name;
}

double Expression::iterations() const {
  double count = 0;
  for (const ExpressionStage& stage : stages) {
    count += CountOf(stage.axes) * CountOf(stage.reduce_axes);
  }
  return count;
}

double Expression::operations() const {
  double count = 0;
  for (const ExpressionStage& stage : stages) {
    const auto computed = static_cast<double>(std::ranges::count_if(stage.nodes, Computes));
    const double combined = stage.reduction == ExpressionReduction::kNone ? 0 : 1;
    count += CountOf(stage.axes) * CountOf(stage.reduce_axes) * (computed + combined);
  }
  return count;
}

namespace {

bool LoadsFrom(const ExpressionStage& stage, int node, std::int64_t tensor) {
  const ExpressionNode& n = stage.nodes[static_cast<std::size_t>(node)];
  if (n.kind == ExprKind::kLoad && n.integer == tensor) return true;
  return std::ranges::any_of(n.args, [&](int arg) { return LoadsFrom(stage, arg, tensor); });
}

}  // namespace

std::int64_t GatheredExtent(const Expression& expression, std::int64_t input) {
  std::int64_t largest = 0;
  if (!expression.TypeOf(input).dtype.is_integer()) return 0;
  for (const ExpressionStage& stage : expression.stages) {
    for (const ExpressionNode& n : stage.nodes) {
      if (n.kind != ExprKind::kLoad) continue;
      const TensorType type = expression.TypeOf(n.integer);
      for (std::size_t d = 0; d < n.args.size(); ++d) {
        if (LoadsFrom(stage, n.args[d], input)) largest = std::max(largest, type.shape[d]);
      }
    }
  }
  return largest;
}

void LinearIndex64::Add(const LinearIndex64& other, std::int64_t scale) {
  constexpr std::int64_t kMax = std::int64_t{1} << 45;
  exact = exact && other.exact;
  const auto add = [&](std::int64_t& to, std::int64_t value) {
    std::int64_t step = 0, sum = 0;
    exact = exact && !__builtin_mul_overflow(value, scale, &step) &&
            !__builtin_add_overflow(to, step, &sum) && sum <= kMax && sum >= -kMax;
    to = exact ? sum : 1;
  };
  add(constant, other.constant);
  for (const auto& [text, term] : other.terms) {
    const auto found = terms.try_emplace(text, Term{term.node, 0}).first;
    add(found->second.coefficient, term.coefficient);
    if (found->second.coefficient == 0) terms.erase(found);
  }
}

std::string AtomText(const ExpressionStage& stage, int node) {
  const ExpressionNode& n = stage.nodes[static_cast<std::size_t>(node)];
  std::string text = fmt::format("({} {} {} {}", static_cast<int>(n.kind), DataTypeName(n.dtype),
                                 n.integer, n.function);
  if (n.kind == ExprKind::kFloat) text += fmt::format(" {:a}", n.number);
  for (int arg : n.args) text += AtomText(stage, arg);
  return text + ")";
}

LinearIndex64 LinearOf(const ExpressionStage& stage, int node) {
  const ExpressionNode& n = stage.nodes[static_cast<std::size_t>(node)];
  LinearIndex64 linear;
  if (n.kind == ExprKind::kInt) {
    linear.Add({n.integer, {}, true}, 1);
    return linear;
  }
  if (n.dtype == kInt64) {
    if (n.kind == ExprKind::kCast) {
      const DataType from = stage.nodes[static_cast<std::size_t>(n.args[0])].dtype;
      if (from.is_integer() && from.bits <= 32) node = n.args[0];
    }
    if (n.kind == ExprKind::kAdd || n.kind == ExprKind::kSub) {
      linear = LinearOf(stage, n.args[0]);
      linear.Add(LinearOf(stage, n.args[1]), n.kind == ExprKind::kAdd ? 1 : -1);
      return linear;
    }
    if (n.kind == ExprKind::kMul) {
      const LinearIndex64 a = LinearOf(stage, n.args[0]), b = LinearOf(stage, n.args[1]);
      if (a.terms.empty() || b.terms.empty()) {
        linear.Add(a.terms.empty() ? b : a, a.terms.empty() ? a.constant : b.constant);
        linear.exact = linear.exact && a.exact && b.exact;
        return linear;
      }
    }
  }
  linear.terms[AtomText(stage, node)] = {node, 1};
  return linear;
}

}  // namespace tilewright
