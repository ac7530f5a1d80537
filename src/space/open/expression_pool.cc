// Hash-consed expressions with partial evaluation. Two partial assignments of a space whose
// remaining conditions have equal numbers allow the same completions, which is what makes counting
// without listing possible (open_space.cc): 2*a*b <= 64 with a = 4 and with a = 2, b doubled, end
// in the same expression.

#include "src/space/open/expression_pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tilewright {
namespace {

// Integers up to here are exact as doubles, with a margin.
constexpr double kExact = 0x1p52;
constexpr std::uint32_t kMaxWorkCount = 1 << 30;

ValueRange RangeFrom(double least, double most) {
  const bool known = std::fabs(least) < kExact && std::fabs(most) < kExact;
  return {known, least, most};
}

ValueRange Truth(bool value) { return {true, value ? 1.0 : 0.0, value ? 1.0 : 0.0}; }

ValueRange HullOf(std::initializer_list<double> values) {
  return RangeFrom(std::min(values), std::max(values));
}

bool ContainsZero(const ValueRange& range) {
  return !range.known || (range.least <= 0 && range.most >= 0);
}

ValueRange ProductRange(const ValueRange& a, const ValueRange& b) {
  return HullOf({a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most});
}

ValueRange QuotientRange(const ValueRange& a, const ValueRange& b, bool floor) {
  if (ContainsZero(b)) return {};
  ValueRange range =
      HullOf({a.least / b.least, a.least / b.most, a.most / b.least, a.most / b.most});
  if (floor) range.least = std::floor(range.least), range.most = std::floor(range.most);
  return range;
}

ValueRange ModuloRange(const ValueRange& a, const ValueRange& b) {
  if (!(b.least > 0)) return {};
  if (a.least >= 0 && a.most < b.least) return a;
  return {true, 0, b.most};
}

/// Of numbers whose base is at least 1 and whose exponent is not negative: monotone in both.
ValueRange PowerRange(const ValueRange& a, const ValueRange& b) {
  if (a.least < 1 || b.least < 0) return {};
  return RangeFrom(std::pow(a.least, b.least), std::pow(a.most, b.most));
}

ValueRange ComparisonRange(ConditionOp op, const ValueRange& a, const ValueRange& b) {
  const ValueRange undecided{true, 0, 1};
  switch (op) {
    case ConditionOp::kLess:
      return a.most < b.least ? Truth(true) : a.least >= b.most ? Truth(false) : undecided;
    case ConditionOp::kLessEqual:
      return a.most <= b.least ? Truth(true) : a.least > b.most ? Truth(false) : undecided;
    case ConditionOp::kGreater:
      return ComparisonRange(ConditionOp::kLess, b, a);
    case ConditionOp::kGreaterEqual:
      return ComparisonRange(ConditionOp::kLessEqual, b, a);
    case ConditionOp::kEqual:
      return a.most < b.least || a.least > b.most ? Truth(false) : undecided;
    default:  // kNotEqual
      return a.most < b.least || a.least > b.most ? Truth(true) : undecided;
  }
}

bool IsComparison(ConditionOp op) {
  return op >= ConditionOp::kEqual && op <= ConditionOp::kGreaterEqual;
}

bool YieldsBoolean(ConditionOp op) {
  return IsComparison(op) || op == ConditionOp::kIn || op == ConditionOp::kNotIn ||
         op == ConditionOp::kNot || op == ConditionOp::kToBoolean;
}

bool KeepsIntegers(ConditionOp op) {
  return op == ConditionOp::kAdd || op == ConditionOp::kSubtract || op == ConditionOp::kMultiply ||
         op == ConditionOp::kFloorDivide || op == ConditionOp::kModulo ||
         op == ConditionOp::kNegate || op == ConditionOp::kMin || op == ConditionOp::kMax;
}

void AppendNumber(std::string& key, std::uint64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

std::string KeyOf(const ExpressionValue& value) {
  std::string key(1, static_cast<char>('a' + value.value.index()));
  if (const auto* integer = std::get_if<std::int64_t>(&value.value)) {
    AppendNumber(key, static_cast<std::uint64_t>(*integer));
  } else if (const auto* text = std::get_if<std::string>(&value.value)) {
    AppendNumber(key, text->size());
    key += *text;
  } else if (const auto* list = std::get_if<std::vector<ExpressionValue>>(&value.value)) {
    AppendNumber(key, list->size());
    for (const ExpressionValue& item : *list) key += KeyOf(item);
  } else if (value.is_number()) {
    std::uint64_t bits = 0;
    const double number = value.number();
    static_assert(sizeof(bits) == sizeof(number));
    std::copy_n(reinterpret_cast<const char*>(&number), sizeof(bits),
                reinterpret_cast<char*>(&bits));
    AppendNumber(key, bits);
  }
  return key;
}

/// Returns the number of values in a value: of a list, with those of its items.
std::uint32_t ItemsOf(const ExpressionValue& value) {
  const auto* list = std::get_if<std::vector<ExpressionValue>>(&value.value);
  if (list == nullptr) return 1;
  std::uint32_t items = 1;
  for (const ExpressionValue& item : *list) items = std::min(kMaxWorkCount, items + ItemsOf(item));
  return items;
}

}  // namespace

ExpressionId ExpressionPool::Intern(Node node, std::string key) {
  const auto [at, is_new] = by_key_.emplace(std::move(key), nodes_.size());
  if (is_new) nodes_.push_back(std::move(node));
  return at->second;
}

ExpressionId ExpressionPool::Constant(ExpressionValue value) {
  std::string key = "c" + KeyOf(value);
  if (const auto known = by_key_.find(key); known != by_key_.end()) return known->second;
  Node node;
  node.constant = static_cast<std::uint32_t>(constants_.size());
  node.may_fail = value.failed();
  node.work = ItemsOf(value);
  if (value.is_number()) {
    node.range = RangeFrom(value.number(), value.number());
    node.range.integer = !std::holds_alternative<double>(value.value);
  }
  constants_.push_back(std::move(value));
  return Intern(std::move(node), std::move(key));
}

ExpressionId ExpressionPool::ParameterAt(int parameter) {
  Node node;
  node.op = ConditionOp::kParameter;
  node.parameter = parameter;
  node.parameters = std::uint64_t{1} << parameter;
  node.range = ranges_[static_cast<std::size_t>(parameter)];
  return Intern(std::move(node), "p" + std::to_string(parameter));
}

ValueRange ExpressionPool::RangeOf(const Node& node) const {
  const ValueRange undecided{true, 0, 1};
  const auto all_known = std::ranges::all_of(
      node.operands, [this](ExpressionId operand) { return range(operand).known; });
  if (node.op == ConditionOp::kIfElse) {
    const ValueRange &a = range(node.operands[1]), &b = range(node.operands[2]);
    return a.known && b.known
               ? ValueRange{true, std::min(a.least, b.least), std::max(a.most, b.most)}
               : ValueRange();
  }
  if (!all_known) return YieldsBoolean(node.op) ? undecided : ValueRange();
  const ValueRange a = range(node.operands[0]);
  const ValueRange b = node.operands.size() > 1 ? range(node.operands[1]) : ValueRange();
  if (IsComparison(node.op)) return ComparisonRange(node.op, a, b);
  switch (node.op) {
    case ConditionOp::kNot:
      return a.never_true() ? Truth(true) : a.always_true() ? Truth(false) : undecided;
    case ConditionOp::kToBoolean:
      return a.never_true() ? Truth(false) : a.always_true() ? Truth(true) : undecided;
    case ConditionOp::kAnd:  // b, or a if that is 0
      if (a.never_true()) return a;
      if (a.always_true()) return b;
      return {true, std::min(b.least, 0.0), std::max(b.most, 0.0)};
    case ConditionOp::kOr:  // a unless it is 0, else b
      if (a.never_true()) return b;
      if (a.least == 0 && b.least > 0) {
        return {true, std::numeric_limits<double>::min(), std::max(a.most, b.most)};
      }
      return {true, std::min(a.least, b.least), std::max(a.most, b.most)};
    case ConditionOp::kNegate:
      return {true, -a.most, -a.least};
    case ConditionOp::kAdd:
      return RangeFrom(a.least + b.least, a.most + b.most);
    case ConditionOp::kSubtract:
      return RangeFrom(a.least - b.most, a.most - b.least);
    case ConditionOp::kMultiply:
      return ProductRange(a, b);
    case ConditionOp::kDivide:
    case ConditionOp::kFloorDivide:
      return QuotientRange(a, b, node.op == ConditionOp::kFloorDivide);
    case ConditionOp::kModulo:
      return ModuloRange(a, b);
    case ConditionOp::kPower:
      return PowerRange(a, b);
    case ConditionOp::kMin:
    case ConditionOp::kMax: {
      ValueRange all = a;
      for (ExpressionId operand : node.operands) {
        const ValueRange& one = range(operand);
        const bool largest = node.op == ConditionOp::kMax;
        all.least = largest ? std::max(all.least, one.least) : std::min(all.least, one.least);
        all.most = largest ? std::max(all.most, one.most) : std::min(all.most, one.most);
      }
      return all;
    }
    default:
      return {};
  }
}

void ExpressionPool::Analyze(Node& node) const {
  bool all_numbers = true, all_integers = true;
  for (ExpressionId operand : node.operands) {
    node.parameters |= nodes_[operand].parameters;
    node.work = std::min(kMaxWorkCount, node.work + nodes_[operand].work);
    node.may_fail = node.may_fail || nodes_[operand].may_fail;
    all_numbers = all_numbers && range(operand).known;
    all_integers = all_integers && range(operand).integer;
  }
  node.range = RangeOf(node);
  node.range.integer = YieldsBoolean(node.op) || (all_integers && KeepsIntegers(node.op));
  switch (node.op) {
    case ConditionOp::kAnd:
    case ConditionOp::kOr:
    case ConditionOp::kNot:
    case ConditionOp::kToBoolean:
    case ConditionOp::kEqual:
    case ConditionOp::kNotEqual:
    case ConditionOp::kIfElse:
    case ConditionOp::kList:
      return;
    case ConditionOp::kIn:
    case ConditionOp::kNotIn:
      node.may_fail =
          node.may_fail || nodes_[node.operands[1]].op != ConditionOp::kConstant ||
          !std::holds_alternative<std::vector<ExpressionValue>>(constant(node.operands[1]).value);
      return;
    case ConditionOp::kDivide:
    case ConditionOp::kFloorDivide:
    case ConditionOp::kModulo:
      node.may_fail = node.may_fail || !all_numbers || ContainsZero(range(node.operands[1]));
      return;
    case ConditionOp::kAdd:
    case ConditionOp::kSubtract:
    case ConditionOp::kMultiply:
      node.may_fail = node.may_fail || !all_numbers || !node.range.known;
      return;
    case ConditionOp::kLess:
    case ConditionOp::kLessEqual:
    case ConditionOp::kGreater:
    case ConditionOp::kGreaterEqual:
      node.may_fail = node.may_fail || !all_numbers;
      return;
    default:
      node.may_fail = true;
  }
}

/// Returns the constant or the operand that an application always equals; nullopt if there is none.
std::optional<ExpressionId> ExpressionPool::Fold(const Node& node) {
  const bool chooses = node.op == ConditionOp::kAnd || node.op == ConditionOp::kOr ||
                       node.op == ConditionOp::kIfElse;
  if (chooses) {
    const ExpressionId first = node.operands[0];
    if (!is_constant(first)) return std::nullopt;
    if (constant(first).failed()) return first;
    const bool truth = constant(first).truth();
    if (node.op == ConditionOp::kIfElse) return node.operands[truth ? 1 : 2];
    return truth == (node.op == ConditionOp::kAnd) ? node.operands[1] : first;
  }
  const auto is_known = [this](ExpressionId operand) { return is_constant(operand); };
  if (!std::ranges::all_of(node.operands, is_known)) return std::nullopt;
  std::uint32_t items = 0;
  for (ExpressionId operand : node.operands) items = std::min(kMaxWorkCount, items + work(operand));
  if (node.op == ConditionOp::kList && items > kMaxListItems) return Constant(FailedValue());
  std::vector<ExpressionValue> values;
  for (ExpressionId operand : node.operands) values.push_back(constant(operand));
  return Constant(ApplyOperator(node.op, values));
}

ExpressionId ExpressionPool::MakeNode(Node node) {
  std::string key = "n";
  key += static_cast<char>(node.op);
  for (ExpressionId operand : node.operands) {
    key.append(reinterpret_cast<const char*>(&operand), sizeof(operand));
  }
  return Intern(std::move(node), std::move(key));
}

/// Returns a sum or product of integers in a form that does not depend on the order of its parts:
/// the constant comes last, once.
ExpressionId ExpressionPool::Normalize(const Node& node) {
  const bool adds = node.op == ConditionOp::kAdd;
  std::int64_t constant_part = adds ? 0 : 1;
  std::optional<ExpressionId> rest;
  for (ExpressionId operand : node.operands) {
    std::optional<ExpressionId> part = operand;
    std::optional<ExpressionId> number;
    if (is_constant(operand)) {
      number = operand;
      part.reset();
    } else if (nodes_[operand].op == node.op && is_constant(nodes_[operand].operands[1])) {
      number = nodes_[operand].operands[1];
      part = nodes_[operand].operands[0];
    }
    if (number) {
      const auto value = static_cast<std::int64_t>(constant(*number).number());
      constant_part = adds ? constant_part + value : constant_part * value;
    }
    if (!part) continue;
    if (!rest) {
      rest = part;
      continue;
    }
    Node joined;
    joined.op = node.op;
    joined.operands = {std::min(*rest, *part), std::max(*rest, *part)};
    Analyze(joined);
    rest = MakeNode(std::move(joined));
  }
  const ExpressionId last = Constant({constant_part});
  if (constant_part == (adds ? 0 : 1)) return *rest;
  Node result;
  result.op = node.op;
  result.operands = {*rest, last};
  Analyze(result);
  return MakeNode(std::move(result));
}

ExpressionId ExpressionPool::Make(ConditionOp op, std::vector<ExpressionId> operands) {
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  if (const auto folded = Fold(node)) return *folded;
  Analyze(node);
  // A range of one value is that value, unless the evaluation may fail.
  if (YieldsBoolean(op) && !node.may_fail && node.range.known &&
      node.range.least == node.range.most) {
    return Constant({node.range.least != 0});
  }
  const bool exact = node.range.integer && node.range.known && !node.may_fail;
  if (exact && (op == ConditionOp::kAdd || op == ConditionOp::kMultiply)) return Normalize(node);
  return MakeNode(std::move(node));
}

ExpressionId ExpressionPool::Substitute(ExpressionId expression, int parameter,
                                        std::uint32_t value_number, const ExpressionValue& value) {
  const Node& node = nodes_[expression];
  if ((node.parameters >> parameter & 1) == 0) return expression;
  if (node.op == ConditionOp::kParameter) return Constant(value);
  const std::uint64_t key = (static_cast<std::uint64_t>(expression) << 32) |
                            (static_cast<std::uint64_t>(parameter) << 26) |
                            (value_number & 0x3FFFFFF);
  if (const auto known = substituted_.find(key); known != substituted_.end()) return known->second;
  const ConditionOp op = node.op;
  std::vector<ExpressionId> operands = node.operands;  // nodes_ grows
  for (ExpressionId& operand : operands) {
    operand = Substitute(operand, parameter, value_number, value);
  }
  const ExpressionId result = Make(op, std::move(operands));
  substituted_.emplace(key, result);
  return result;
}

void ExpressionPool::TruncateAfter(ExpressionId last) {
  nodes_.resize(std::min<std::size_t>(nodes_.size(), last + 1));
  nodes_.shrink_to_fit();
  std::erase_if(by_key_, [last](const auto& entry) { return entry.second > last; });
  substituted_ = {};
}

ExpressionValue ExpressionPool::Evaluate(ExpressionId expression,
                                         const std::vector<const ExpressionValue*>& values) const {
  const Node& node = nodes_[expression];
  switch (node.op) {
    case ConditionOp::kConstant:
      return constants_[node.constant];
    case ConditionOp::kParameter:
      return *values[static_cast<std::size_t>(node.parameter)];
    case ConditionOp::kAnd:
    case ConditionOp::kOr: {
      ExpressionValue first = Evaluate(node.operands[0], values);
      if (first.failed() || first.truth() != (node.op == ConditionOp::kAnd)) return first;
      return Evaluate(node.operands[1], values);
    }
    case ConditionOp::kIfElse: {
      const ExpressionValue first = Evaluate(node.operands[0], values);
      if (first.failed()) return first;
      return Evaluate(node.operands[first.truth() ? 1 : 2], values);
    }
    default: {
      if (TakesTwo(node.op)) {
        return ApplyToTwo(node.op, Evaluate(node.operands[0], values),
                          Evaluate(node.operands[1], values));
      }
      std::vector<ExpressionValue> operands;
      operands.reserve(node.operands.size());
      for (ExpressionId operand : node.operands) operands.push_back(Evaluate(operand, values));
      return ApplyOperator(node.op, operands);
    }
  }
}

bool ExpressionPool::IsTrue(ExpressionId expression) const {
  const Node& node = nodes_[expression];
  if (node.op == ConditionOp::kConstant) return constant(expression).truth();
  return !node.may_fail && node.range.always_true();
}

bool ExpressionPool::IsFalse(ExpressionId expression) const {
  const Node& node = nodes_[expression];
  if (node.op == ConditionOp::kConstant) return !constant(expression).truth();
  return node.range.never_true();  // a failure is false, too
}

}  // namespace tilewright
