#include <fmt/format.h>

#include <cmath>

#include "src/base/strings.h"
#include "src/tensor/expression/internal.h"

namespace tilewright {
namespace {

/// Precedence of operators, weakest first.
enum Binding : int { kBindOr, kBindAnd, kBindNot, kBindCompare, kBindSum, kBindTerm, kBindUnary };

struct Spelling {
  const char* sign;
  Binding binding;
};

Spelling SpellingOf(ExprKind kind) {
  switch (kind) {
    case ExprKind::kOr:
      return {"or", kBindOr};
    case ExprKind::kAnd:
      return {"and", kBindAnd};
    case ExprKind::kEq:
      return {"==", kBindCompare};
    case ExprKind::kNe:
      return {"!=", kBindCompare};
    case ExprKind::kLt:
      return {"<", kBindCompare};
    case ExprKind::kLe:
      return {"<=", kBindCompare};
    case ExprKind::kAdd:
      return {"+", kBindSum};
    case ExprKind::kSub:
      return {"-", kBindSum};
    case ExprKind::kMul:
      return {"*", kBindTerm};
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv:
      return {"/", kBindTerm};
    case ExprKind::kFloorMod:
      return {"%", kBindTerm};
    default:
      return {"", kBindUnary};
  }
}

class Printer {
 public:
  /// blank: text around signs.
  Printer(const Expression& expression, const ExpressionStage& stage, const char* blank)
      : expression_(expression), stage_(stage), blank_(blank) {}

  std::string Value(int i, int within = kBindOr) const {
    const ExpressionNode& n = stage_.nodes[static_cast<std::size_t>(i)];
    switch (n.kind) {
      case ExprKind::kInt:
        return Signed(n.dtype == kInt64 ? fmt::format("{}", n.integer)
                                        : fmt::format("{}({})", DataTypeName(n.dtype), n.integer),
                      within);
      case ExprKind::kFloat:
        return Signed(Float(n), within);
      case ExprKind::kVar:
        return stage_.axis(n.integer).name;
      case ExprKind::kLoad:
        return expression_.NameOf(n.integer) + "[" + Values(n.args) + "]";
      case ExprKind::kCast:
        return fmt::format("{}({})", DataTypeName(n.dtype), Values(n.args));
      case ExprKind::kCall:
        return n.function + "(" + Values(n.args) + ")";
      case ExprKind::kSelect:
        return "select(" + Values(n.args) + ")";
      case ExprKind::kMin:
        return "min(" + Values(n.args) + ")";
      case ExprKind::kMax:
        return "max(" + Values(n.args) + ")";
      case ExprKind::kShiftLeft:
        return "shl(" + Values(n.args) + ")";
      case ExprKind::kShiftRight:
        return "shr(" + Values(n.args) + ")";
      case ExprKind::kNot: {
        const std::string text = "not " + Value(n.args[0], kBindNot);
        return within > kBindNot ? "(" + text + ")" : text;
      }
      default:
        return Chained(n, within);
    }
  }

 private:
  static std::string Signed(std::string text, int within) {
    return text.front() == '-' && within > kBindSum ? "(" + text + ")" : text;
  }

  static std::string Float(const ExpressionNode& n) {
    std::string text = ShortestDouble(std::fabs(n.number));
    if (std::isinf(n.number)) text = "inf";
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    if (const auto e = text.find("e+"); e != std::string::npos) text.erase(e + 1, 1);
    if (std::signbit(n.number)) text.insert(0, "-");
    return n.dtype == kFloat32 ? text : fmt::format("{}({})", DataTypeName(n.dtype), text);
  }

  std::string Chained(const ExpressionNode& n, int within) const {
    const Spelling spelling = SpellingOf(n.kind);
    const bool word = spelling.binding <= kBindAnd;
    const std::string blank = word ? " " : blank_;
    // Chains associate to the left; comparisons do not chain.
    const int left = spelling.binding == kBindCompare ? kBindSum : spelling.binding;
    const std::string text = Value(n.args[0], left) + blank + spelling.sign + blank +
                             Value(n.args[1], spelling.binding + 1);
    return within > spelling.binding ? "(" + text + ")" : text;
  }

  std::string Values(const std::vector<int>& nodes) const {
    std::string text;
    for (int node : nodes) {
      if (!text.empty()) text += "," + std::string(blank_);
      text += Value(node);
    }
    return text;
  }

  const Expression& expression_;
  const ExpressionStage& stage_;
  const char* blank_;
};

std::string PrintAxes(const std::vector<ExpressionAxis>& axes, const char* blank) {
  std::string text;
  for (const ExpressionAxis& axis : axes) {
    if (!text.empty()) text += "," + std::string(blank);
    text += fmt::format("{}:{}{}", axis.name, blank, axis.extent);
  }
  return text;
}

std::string Print(const Expression& expression, const char* blank, const char* end) {
  std::string text;
  for (const ExpressionInput& input : expression.inputs) {
    text += fmt::format("{} {}:{}{}[{}]{}", input.constant ? "const" : "input", input.name, blank,
                        DataTypeName(input.type.dtype),
                        fmt::join(input.type.shape, "," + std::string(blank)), end);
  }
  for (const ExpressionStage& stage : expression.stages) {
    text += fmt::format("{}[{}]{}={}", stage.name, PrintAxes(stage.axes, blank), blank, blank);
    if (stage.reduction != ExpressionReduction::kNone) {
      text += fmt::format("{}({}){}", ReductionName(stage.reduction),
                          PrintAxes(stage.reduce_axes, blank), blank);
    }
    const Printer printer(expression, stage, blank);
    text += printer.Value(static_cast<int>(stage.nodes.size()) - 1) + end;
  }
  return text;
}

}  // namespace

std::string PrintExpression(const Expression& expression) { return Print(expression, " ", "\n"); }

std::string CanonicalText(const Expression& canonical) {
  std::string text = Print(canonical, "", ";");
  text.pop_back();  // the last statement needs no end
  return text;
}

}  // namespace tilewright
