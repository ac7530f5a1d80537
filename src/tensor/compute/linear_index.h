#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "src/ir/expr.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/layout.h"

namespace tilewright {

/// Index as a sum of coefficient * atom + offset, where every atom runs over [0, extent). Division
/// by a block size gives plain variables if the parts allow it, so that a blocked load has the
/// indices that a person would write.
class LinearIndex {
 public:
  LinearIndex(std::int64_t offset = 0) : offset_(offset) {}  // NOLINT: implicit by design
  static LinearIndex Of(const Axis& axis) { return Atom(axis.var, axis.extent); }
  static LinearIndex Atom(Expr atom, std::int64_t extent);

  LinearIndex Times(std::int64_t factor) const;
  LinearIndex Plus(const LinearIndex& other) const;
  /// Returns quotient (towards minus infinity) and remainder; requires Min() >= 0 and divisor >= 1.
  std::pair<LinearIndex, LinearIndex> DivMod(std::int64_t divisor) const;
  std::int64_t Min() const;
  std::int64_t Max() const;
  Expr ToExpr() const;

 private:
  struct Term {
    Expr atom;
    std::int64_t extent;
    std::int64_t coefficient;
  };
  std::vector<Term> terms_;
  std::int64_t offset_ = 0;
};

/// Index of each primal dimension of a layout.
using PrimalIndices = std::map<char, LinearIndex>;

/// Returns the indices in memory, one per part of the layout.
std::vector<Expr> MemoryIndices(const Layout& layout, const PrimalIndices& primal);

/// Axes for every part of a layout, of the given shape, and the primal indices that they form.
/// names: of the primal dimensions, in the order of `letters`; a block's axis gets the suffix "i".
struct LayoutAxes {
  std::vector<Axis> axes;
  PrimalIndices primal;
  std::vector<Expr> vars() const;
};
LayoutAxes MakeLayoutAxes(const Layout& layout, const std::vector<std::int64_t>& shape,
                          const std::map<char, std::string_view>& names);

/// Returns axes of a shape, named prefix0, prefix1, …
std::vector<Axis> MakeAxes(std::string_view prefix, const std::vector<std::int64_t>& shape,
                           bool reduction = false);
std::vector<Expr> VarsOf(const std::vector<Axis>& axes);

/// Returns min <= value < min + size, without conditions that `value` always fulfils.
Expr Inside(const LinearIndex& value, std::int64_t min, std::int64_t size);

/// Returns a constant of any type; for integers it is saturated to 64 bits first, and NaN is 0.
Expr ConstantOf(DataType dtype, double value);
/// Return the bounds of a type as constants; of floats the infinities.
Expr LowestOf(DataType dtype);
Expr HighestOf(DataType dtype);

}  // namespace tilewright
