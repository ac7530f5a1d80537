#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/space/open/expression_value.h"

namespace tilewright {

/// Expression in an ExpressionPool. Equal expressions have equal numbers.
using ExpressionId = std::uint32_t;

/// Values that an expression can have. Unknown if it may be a text or a list, or if nothing is
/// known.
struct ValueRange {
  bool known = false;
  double least = 0, most = 0;
  bool integer = false;  ///< all values are integers

  bool never_true() const { return known && least == 0 && most == 0; }
  bool always_true() const { return known && (least > 0 || most < 0); }
};

/// Set of simplified expressions over numbered parameters. Substitution of a value for a parameter
/// folds what becomes constant, and what the remaining parameters' ranges decide. Not thread-safe.
class ExpressionPool {
 public:
  static constexpr int kMaxParameters = 64;
  static constexpr std::uint32_t kMaxListItems = 65'536;

  /// ranges: values of each parameter; at most kMaxParameters.
  explicit ExpressionPool(std::vector<ValueRange> ranges) : ranges_(std::move(ranges)) {}

  ExpressionId Constant(ExpressionValue value);
  ExpressionId ParameterAt(int parameter);
  /// Returns the simplified application of an operator.
  ExpressionId Make(ConditionOp op, std::vector<ExpressionId> operands);
  /// Returns the expression with a constant in place of the parameter. value_number: identifies the
  /// value among those of the parameter.
  ExpressionId Substitute(ExpressionId expression, int parameter, std::uint32_t value_number,
                          const ExpressionValue& value);
  /// Evaluates an expression. values: one for each parameter that it contains, by their numbers.
  ExpressionValue Evaluate(ExpressionId expression,
                           const std::vector<const ExpressionValue*>& values) const;

  /// Returns the set of the parameters that the expression contains, one bit each.
  std::uint64_t parameters(ExpressionId expression) const { return nodes_[expression].parameters; }
  bool is_constant(ExpressionId expression) const {
    return nodes_[expression].op == ConditionOp::kConstant;
  }
  /// Whether the expression is true, false, or unknown (neither) as a condition. A failure is
  /// false.
  bool IsTrue(ExpressionId expression) const;
  bool IsFalse(ExpressionId expression) const;
  const ExpressionValue& constant(ExpressionId expression) const {
    return constants_[nodes_[expression].constant];
  }
  ConditionOp op(ExpressionId expression) const { return nodes_[expression].op; }
  const std::vector<ExpressionId>& operands(ExpressionId expression) const {
    return nodes_[expression].operands;
  }
  std::size_t size() const { return nodes_.size(); }
  /// Number of remembered substitutions.
  std::size_t substitutions() const { return substituted_.size(); }
  /// Returns the number of nodes that an evaluation visits; an operand that is used twice counts
  /// twice. At most 2^30.
  std::uint32_t work(ExpressionId expression) const { return nodes_[expression].work; }
  /// Forgets all expressions but those up to this one and the memory of substitutions.
  void TruncateAfter(ExpressionId last);

 private:
  struct Node {
    ConditionOp op = ConditionOp::kConstant;
    std::vector<ExpressionId> operands;
    std::uint32_t constant = 0;  // position in constants_
    int parameter = -1;
    std::uint64_t parameters = 0;
    std::uint32_t work = 1;  // see work()
    ValueRange range;
    bool may_fail = false;
  };
  ExpressionId Intern(Node node, std::string key);
  std::optional<ExpressionId> Fold(const Node& node);
  ExpressionId Normalize(const Node& node);
  ExpressionId MakeNode(Node node);
  void Analyze(Node& node) const;
  ValueRange RangeOf(const Node& node) const;
  const ValueRange& range(ExpressionId id) const { return nodes_[id].range; }

  std::vector<ValueRange> ranges_;
  std::vector<Node> nodes_;
  std::vector<ExpressionValue> constants_;
  std::unordered_map<std::string, ExpressionId> by_key_;
  std::unordered_map<std::uint64_t, ExpressionId> substituted_;
};

}  // namespace tilewright
