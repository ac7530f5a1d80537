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

/// An index as a sum of coefficient * atom + offset, where every atom runs over [0, extent).
/// Division by a block size comes out as plain variables wherever the parts allow it, so that a
/// blocked load has the indices a reader would write by hand.
class LinearIndex {
 public:
  LinearIndex(std::int64_t offset = 0) : offset_(offset) {}  // NOLINT: implicit by design
  static LinearIndex Of(const Axis& axis) { return Atom(axis.var, axis.extent); }
  static LinearIndex Atom(Expr atom, std::int64_t extent);

  LinearIndex Times(std::int64_t factor) const;
  LinearIndex Plus(const LinearIndex& other) const;
  /// Quotient (towards minus infinity) and remainder; requires Min() >= 0 and divisor >= 1.
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

/// Indices in memory, one per part of the layout.
std::vector<Expr> MemoryIndices(const Layout& layout, const PrimalIndices& primal);

/// Axes for every part of a layout, of the given shape, and the primal indices they spell.
/// names: of the primal dimensions, in the order of `letters`; a block's axis gets an "i" appended.
struct LayoutAxes {
  std::vector<Axis> axes;
  PrimalIndices primal;
  std::vector<Expr> vars() const;
};
LayoutAxes MakeLayoutAxes(const Layout& layout, const std::vector<std::int64_t>& shape,
                          const std::map<char, std::string_view>& names);

/// Plain axes of a shape, named prefix0, prefix1, …
std::vector<Axis> MakeAxes(std::string_view prefix, const std::vector<std::int64_t>& shape,
                           bool reduction = false);
std::vector<Expr> VarsOf(const std::vector<Axis>& axes);

/// min <= value < min + size, leaving out what `value` always fulfils.
Expr Inside(const LinearIndex& value, std::int64_t min, std::int64_t size);

/// Constant of any type; for integers cut to 64 bits first, NaN is 0.
Expr ConstantOf(DataType dtype, double value);
/// Bounds of a type as constants; of floats the infinities.
Expr LowestOf(DataType dtype);
Expr HighestOf(DataType dtype);

}  // namespace tilewright
