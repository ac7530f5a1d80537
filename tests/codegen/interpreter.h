#pragma once

#include <map>
#include <vector>

#include "src/ir/stmt.h"

namespace tilewright {

/// Runs integer programs statement by statement, in order; the oracle of random tests. Shares no
/// code with the code generator.
class Interpreter {
 public:
  /// Contents of a buffer, one 64-bit value per element, zero at first.
  std::vector<std::int64_t>& Contents(const Buffer& buffer);
  void Run(const Stmt& stmt);

 private:
  std::int64_t Evaluate(const Expr& expr);
  std::int64_t& Element(const Buffer& buffer, const std::vector<Expr>& indices);

  std::map<const BufferNode*, std::vector<std::int64_t>> buffers_;
  std::map<const ExprNode*, std::int64_t> vars_;
};

}  // namespace tilewright
