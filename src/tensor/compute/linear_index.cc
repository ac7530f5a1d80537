#include "src/tensor/compute/linear_index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "src/base/math.h"
#include "src/base/status.h"

namespace tilewright {

LinearIndex LinearIndex::Atom(Expr atom, std::int64_t extent) {
  LinearIndex index;
  if (extent > 1) index.terms_.push_back({std::move(atom), extent, 1});
  return index;
}

LinearIndex LinearIndex::Times(std::int64_t factor) const {
  if (factor == 0) return LinearIndex();
  LinearIndex result = *this;
  for (Term& term : result.terms_) term.coefficient *= factor;
  result.offset_ *= factor;
  return result;
}

LinearIndex LinearIndex::Plus(const LinearIndex& other) const {
  LinearIndex result = *this;
  result.terms_.insert(result.terms_.end(), other.terms_.begin(), other.terms_.end());
  result.offset_ += other.offset_;
  return result;
}

std::pair<LinearIndex, LinearIndex> LinearIndex::DivMod(std::int64_t divisor) const {
  TW_CHECK(divisor >= 1 && Min() >= 0);
  LinearIndex quotient, rest;
  for (const Term& term : terms_) {
    if (term.coefficient % divisor == 0) {
      quotient.terms_.push_back({term.atom, term.extent, term.coefficient / divisor});
    } else {
      rest.terms_.push_back(term);
    }
  }
  quotient.offset_ = tilewright::FloorDiv(offset_, divisor);
  rest.offset_ = FloorMod(offset_, divisor);
  if (rest.Min() >= 0 && rest.Max() < divisor) return {quotient, rest};
  const Expr whole = rest.ToExpr();
  const std::int64_t blocks = rest.Max() / divisor + 1;
  quotient = quotient.Plus(Atom(tilewright::FloorDiv(whole, Expr(divisor)), blocks));
  return {quotient, Atom(tilewright::FloorMod(whole, Expr(divisor)), divisor)};
}

std::int64_t LinearIndex::Min() const {
  std::int64_t value = offset_;
  for (const Term& t : terms_) value += std::min<std::int64_t>(t.coefficient * (t.extent - 1), 0);
  return value;
}

std::int64_t LinearIndex::Max() const {
  std::int64_t value = offset_;
  for (const Term& t : terms_) value += std::max<std::int64_t>(t.coefficient * (t.extent - 1), 0);
  return value;
}

Expr LinearIndex::ToExpr() const {
  Expr sum;
  for (const Term& term : terms_) {
    const Expr product = term.atom * Expr(term.coefficient);
    sum = sum ? sum + product : product;
  }
  if (!sum) return Expr(offset_);
  return sum + Expr(offset_);
}

std::vector<Expr> MemoryIndices(const Layout& layout, const PrimalIndices& primal) {
  PrimalIndices rest = primal;
  std::vector<Expr> indices(layout.parts().size());
  for (std::size_t i = indices.size(); i-- > 0;) {
    const Layout::Part& part = layout.parts()[i];
    if (part.block == 0) continue;
    LinearIndex& index = rest.at(part.dimension);
    auto [quotient, remainder] = index.DivMod(part.block);
    indices[i] = remainder.ToExpr();
    index = quotient;
  }
  // The index without its blocks, also of blocks that stand before the dimension.
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Layout::Part& part = layout.parts()[i];
    if (part.block == 0) indices[i] = rest.at(part.dimension).ToExpr();
  }
  return indices;
}

std::vector<Expr> LayoutAxes::vars() const { return VarsOf(axes); }

LayoutAxes MakeLayoutAxes(const Layout& layout, const std::vector<std::int64_t>& shape,
                          const std::map<char, std::string_view>& names) {
  LayoutAxes result;
  std::map<char, std::string> next_name;
  for (const auto& [letter, name] : names) next_name[letter] = std::string(name);
  std::map<char, std::int64_t> stride;
  for (char c : layout.primal()) stride[c] = layout.BlockOf(c);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Layout::Part& part = layout.parts()[i];
    std::string& name = next_name[part.dimension];
    const Axis axis{MakeVar(name), shape[i], false};
    name += "i";
    if (part.block != 0) stride[part.dimension] /= part.block;
    const std::int64_t step =
        part.block != 0 ? stride[part.dimension] : layout.BlockOf(part.dimension);
    LinearIndex& primal = result.primal[part.dimension];
    primal = primal.Plus(LinearIndex::Of(axis).Times(step));
    result.axes.push_back(axis);
  }
  return result;
}

std::vector<Axis> MakeAxes(std::string_view prefix, const std::vector<std::int64_t>& shape,
                           bool reduction) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    axes.push_back({MakeVar(std::string(prefix) + std::to_string(i)), shape[i], reduction});
  }
  return axes;
}

std::vector<Expr> VarsOf(const std::vector<Axis>& axes) {
  std::vector<Expr> vars;
  for (const Axis& axis : axes) vars.push_back(axis.var);
  return vars;
}

Expr Inside(const LinearIndex& value, std::int64_t min, std::int64_t size) {
  Expr condition = MakeInt(kBool, 1);
  if (value.Min() < min) condition = And(condition, Le(Expr(min), value.ToExpr()));
  if (value.Max() >= min + size) condition = And(condition, Lt(value.ToExpr(), Expr(min + size)));
  return condition;
}

namespace {

/// Returns the smallest and largest value of an integer type, within int64.
std::pair<std::int64_t, std::int64_t> RangeOf(DataType dtype) {
  const int bits = dtype.bits;
  if (dtype.is_bool()) return {0, 1};
  if (dtype.code == TypeCode::kUInt) {
    return {0, bits >= 64 ? -1 : (std::int64_t{1} << bits) - 1};
  }
  const std::int64_t highest =
      bits >= 64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << (bits - 1)) - 1;
  return {-highest - 1, highest};
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Expr ConstantOf(DataType dtype, double value) {
  if (dtype.is_float()) return MakeFloat(dtype, value);
  constexpr double kLimit = 9.2e18;  // just inside int64
  if (std::isnan(value)) return MakeInt(dtype, 0);
  return MakeInt(dtype, static_cast<std::int64_t>(std::clamp(value, -kLimit, kLimit)));
}

Expr LowestOf(DataType dtype) {
  if (dtype.is_float()) return MakeFloat(dtype, -kInfinity);
  return MakeInt(dtype, RangeOf(dtype).first);
}

Expr HighestOf(DataType dtype) {
  if (dtype.is_float()) return MakeFloat(dtype, kInfinity);
  return MakeInt(dtype, RangeOf(dtype).second);
}

}  // namespace tilewright
