#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "src/tensor/expression/expression.h"

namespace tilewright {

/// Builder of one stage's nodes, with checked types. Literals take the type of their neighbors;
/// integers of other types become int64 beside an index.
class ExpressionBuilder {
 public:
  /// expression: contains the loaded tensors. Both outlive this.
  ExpressionBuilder(const Expression& expression, ExpressionStage& stage)
      : expression_(expression), stage_(stage) {}

  const ExpressionNode& node(int i) const { return stage_.nodes[static_cast<std::size_t>(i)]; }
  int Int(std::int64_t value, DataType dtype = kInt64);
  int Float(double value, DataType dtype = kFloat32);
  int AxisVar(std::int64_t axis);
  // Errors of all of these: kInvalidArgument, without a position in the text.
  Result<int> Binary(ExprKind kind, int a, int b);
  Result<int> Not(int a);
  Result<int> Negate(int a);
  Result<int> Select(int condition, int if_true, int if_false);
  Result<int> Cast(DataType dtype, int a);
  Result<int> Call(std::string_view function, std::vector<int> args);
  Result<int> Load(std::int64_t tensor, std::vector<int> indices);
  /// Sets the last node as the body. Errors: kInvalidArgument for a type that cannot be combined.
  Status Finish(int body);

 private:
  int Add(ExpressionNode node);
  bool IsLiteral(int i) const;
  /// Returns a literal in another type.
  int Retyped(int i, DataType dtype);
  Status Unify(int& a, int& b);
  std::size_t NodesUnder(int i) const;

  const Expression& expression_;
  ExpressionStage& stage_;
};

/// Index as constant + sum of coefficient * atom. Atoms are axes and nonlinear parts, by their
/// text; a widened integer is the same atom.
struct LinearIndex64 {
  struct Term {
    int node = 0;
    std::int64_t coefficient = 0;
  };
  std::int64_t constant = 0;
  std::map<std::string, Term> terms;
  bool exact = true;  ///< false: the numbers are too large for any conclusion
  void Add(const LinearIndex64& other, std::int64_t scale);
};
LinearIndex64 LinearOf(const ExpressionStage& stage, int node);
/// Returns a text of a node; equal nodes have equal texts.
std::string AtomText(const ExpressionStage& stage, int node);

/// Read that may be out of bounds.
struct OutOfBoundsRead {
  int node = 0;  ///< the load
  int dimension = 0;
  std::string reason;  ///< "index 0 is -1 to 63, expected 0 to 63"
};
std::optional<OutOfBoundsRead> FindOutOfBoundsRead(const Expression& expression,
                                                   const ExpressionStage& stage);

/// Returns true if a name is a keyword of the language.
bool IsExpressionKeyword(std::string_view name);
/// "sum", "max", …
std::string_view ReductionName(ExpressionReduction reduction);

}  // namespace tilewright
