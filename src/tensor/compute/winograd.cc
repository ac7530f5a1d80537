// Winograd's convolution as stages: tiles of the data transformed, products summed over channels,
// tiles transformed back. The matrices follow from points at which polynomials are evaluated.

#include "src/tensor/compute/winograd.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "src/base/math.h"
#include "src/tensor/compute/internal.h"

namespace tilewright {
namespace {

using Polynomial = std::vector<double>;  // coefficients, constant first

/// Where the polynomials are evaluated, beside infinity. Small and simple fractions keep the
/// rounding errors low. Two more would lose a thousandth of the result.
constexpr std::array kPoints = {0.0, 1.0, -1.0, 0.5, -2.0, -0.5, 2.0};

/// Product of (x - point) over the first `points` points but `left_out` (-1: none).
Polynomial ProductOfRoots(std::size_t points, std::ptrdiff_t left_out) {
  Polynomial product = {1};
  for (std::size_t l = 0; l < points; ++l) {
    if (static_cast<std::ptrdiff_t>(l) == left_out) continue;
    Polynomial next(product.size() + 1, 0.0);
    for (std::size_t i = 0; i < product.size(); ++i) {
      next[i + 1] += product[i];
      next[i] -= kPoints[l] * product[i];
    }
    product = std::move(next);
  }
  return product;
}

double Evaluate(const Polynomial& polynomial, double x) {
  double value = 0;
  for (std::size_t i = polynomial.size(); i-- > 0;) value = value * x + polynomial[i];
  return value;
}

/// Sum of row[i] * terms[i] without the products by zero.
Expr Combine(const std::vector<double>& row, const std::vector<Expr>& terms) {
  Expr sum;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == 0) continue;
    const double factor = std::abs(row[i]);
    const bool subtract = sum && row[i] < 0;
    const double kept = subtract ? factor : row[i];
    const Expr product = kept == 1 ? terms[i] : terms[i] * MakeFloat(kFloat32, kept);
    if (!sum) {
      sum = product;
    } else {
      sum = subtract ? sum - product : sum + product;
    }
  }
  return sum;
}

/// Row number `index` of matrix * (load(0), load(1), …). Where loops over the index are unrolled,
/// only one combination is left of the choice.
template <typename Load>
Expr Transform(const WinogradMatrices::Matrix& matrix, const Expr& index, const Load& load) {
  std::vector<Expr> terms;
  for (std::size_t i = 0; i < matrix.front().size(); ++i) {
    terms.push_back(load(Expr(static_cast<std::int64_t>(i))));
  }
  Expr value = Combine(matrix.back(), terms);
  for (std::size_t row = matrix.size() - 1; row-- > 0;) {
    value = MakeSelect(Eq(index, Expr(static_cast<std::int64_t>(row))), Combine(matrix[row], terms),
                       value);
  }
  return value;
}

Axis NewAxis(const char* name, std::int64_t extent, bool reduction = false) {
  return {MakeVar(name), extent, reduction};
}

/// The stages, one after the other; each has axes of its own.
class StageMaker {
 public:
  StageMaker(const ConvShape& shape, std::int64_t m)
      : shape_(shape),
        tiles_(WinogradTilesOf(shape, m)),
        matrices_(MakeWinogradMatrices(m, shape.r)) {}

  std::vector<ComputeOp> Make(const Buffer& data, const Buffer& weight) {
    MakePlaces(MakeTile(MakeProducts(MakeData(data), weight)));
    return std::move(stages_);
  }

 private:
  Buffer Add(const char* name, std::vector<Axis> axes, const Expr& body) {
    stages_.push_back(PlainStage(name, kFloat32, std::move(axes), body));
    return stages_.back().output;
  }
  Axis Input(bool reduction = false) const { return NewAxis("ci", shape_.c, reduction); }
  Axis Output() const { return NewAxis("k", shape_.k); }
  Axis Tile() const { return NewAxis("p", tiles_.count); }
  Axis Position(const char* name) const { return NewAxis(name, tiles_.window); }

  /// The data of each tile, transformed: B^T d B.
  Buffer MakeData(const Buffer& data) {
    Axis c = Input(), p = Tile(), a = Position("a"), b = Position("b");
    const Expr row =
        FloorMod(FloorDiv(p.var, Expr(tiles_.cols)), Expr(tiles_.rows)) * Expr(tiles_.m) + a.var;
    const Expr column = FloorMod(p.var, Expr(tiles_.cols)) * Expr(tiles_.m) + b.var;
    const Expr image = FloorDiv(p.var, Expr(tiles_.rows * tiles_.cols));
    const Buffer window = Add("window", {c, p, a, b}, MakeLoad(data, {image, c.var, row, column}));

    c = Input(), p = Tile(), b = Position("b");
    Axis e = Position("e");
    const Buffer rows = Add("rows", {c, p, e, b}, Transform(matrices_.data, e.var, [&](Expr i) {
                              return MakeLoad(window, {c.var, p.var, std::move(i), b.var});
                            }));

    c = Input(), p = Tile(), e = Position("e");
    const Axis f = Position("f");
    return Add("data_transform", {e, f, c, p}, Transform(matrices_.data, f.var, [&](Expr i) {
                 return MakeLoad(rows, {c.var, p.var, e.var, std::move(i)});
               }));
  }

  Buffer MakeProducts(const Buffer& data, const Buffer& weight) {
    const Axis e = Position("e"), f = Position("f"), k = Output(), p = Tile(), c = Input(true);
    stages_.push_back(ReductionStage("products", {e, f, k, p}, {c}, Combiner::kSum,
                                     MakeLoad(weight, {e.var, f.var, c.var, k.var}) *
                                         MakeLoad(data, {e.var, f.var, c.var, p.var})));
    return stages_.back().output;
  }

  /// Tiles of the output: A^T products A.
  Buffer MakeTile(const Buffer& products) {
    Axis k = Output(), p = Tile(), i = NewAxis("i", tiles_.m);
    const Axis f = Position("f");
    const Buffer columns =
        Add("columns", {k, p, i, f}, Transform(matrices_.output, i.var, [&](Expr e) {
              return MakeLoad(products, {std::move(e), f.var, k.var, p.var});
            }));
    k = Output(), p = Tile(), i = NewAxis("i", tiles_.m);
    const Axis j = NewAxis("j", tiles_.m);
    return Add("tile", {k, p, i, j}, Transform(matrices_.output, j.var, [&](Expr at) {
                 return MakeLoad(columns, {k.var, p.var, i.var, std::move(at)});
               }));
  }

  void MakePlaces(const Buffer& tile) {
    const Axis n = NewAxis("n", shape_.n), k = Output(), y = NewAxis("oh", shape_.oh),
               x = NewAxis("ow", shape_.ow);
    const Expr m(tiles_.m);
    const Expr p =
        (n.var * Expr(tiles_.rows) + FloorDiv(y.var, m)) * Expr(tiles_.cols) + FloorDiv(x.var, m);
    Add("reduce", {n, k, y, x}, MakeLoad(tile, {k.var, p, FloorMod(y.var, m), FloorMod(x.var, m)}));
  }

  const ConvShape& shape_;
  WinogradTiles tiles_;
  WinogradMatrices matrices_;
  std::vector<ComputeOp> stages_;
};

}  // namespace

WinogradMatrices MakeWinogradMatrices(std::int64_t m, std::int64_t r) {
  const auto window = static_cast<std::size_t>(m + r - 1);
  const std::size_t points = window - 1;
  TW_CHECK(points >= 1 && points <= kPoints.size());
  WinogradMatrices matrices;
  for (std::size_t j = 0; j < points; ++j) {
    Polynomial others = ProductOfRoots(points, static_cast<std::ptrdiff_t>(j));
    const double scale = Evaluate(others, kPoints[j]);
    others.resize(window, 0.0);
    matrices.data.push_back(std::move(others));
    std::vector<double> powers;
    for (std::int64_t k = 0; k < r; ++k) {
      powers.push_back(std::pow(kPoints[j], static_cast<double>(k)) / scale);
    }
    matrices.weight.push_back(std::move(powers));
  }
  matrices.data.push_back(ProductOfRoots(points, -1));
  matrices.weight.emplace_back(static_cast<std::size_t>(r), 0.0).back() = 1;
  for (std::int64_t i = 0; i < m; ++i) {
    std::vector<double> row;
    for (std::size_t j = 0; j < points; ++j) {
      row.push_back(std::pow(kPoints[j], static_cast<double>(i)));
    }
    row.push_back(i == m - 1 ? 1 : 0);
    matrices.output.push_back(std::move(row));
  }
  return matrices;
}

WinogradTiles WinogradTilesOf(const ConvShape& shape, std::int64_t m) {
  WinogradTiles tiles;
  tiles.m = m;
  tiles.window = m + shape.r - 1;
  tiles.rows = CeilDiv(shape.oh, m);
  tiles.cols = CeilDiv(shape.ow, m);
  tiles.count = shape.n * tiles.rows * tiles.cols;
  return tiles;
}

Tensor WinogradWeight(const Tensor& weight, std::int64_t m) {
  const std::int64_t outputs = weight.shape()[0], inputs = weight.shape()[1], r = weight.shape()[2],
                     window = m + r - 1;
  const WinogradMatrices::Matrix matrix = MakeWinogradMatrices(m, r).weight;
  Tensor result(TensorType{{window, window, inputs, outputs}, kFloat32});
  auto transformed = result.As<float>();
  for (std::int64_t k = 0; k < outputs; ++k) {
    for (std::int64_t c = 0; c < inputs; ++c) {
      for (std::int64_t e = 0; e < window; ++e) {
        for (std::int64_t f = 0; f < window; ++f) {
          double sum = 0;
          for (std::int64_t y = 0; y < r; ++y) {
            for (std::int64_t x = 0; x < r; ++x) {
              sum += matrix[static_cast<std::size_t>(e)][static_cast<std::size_t>(y)] *
                     matrix[static_cast<std::size_t>(f)][static_cast<std::size_t>(x)] *
                     weight.At(((k * inputs + c) * r + y) * r + x);
            }
          }
          const std::int64_t place = ((e * window + f) * inputs + c) * outputs + k;
          transformed[static_cast<std::size_t>(place)] = static_cast<float>(sum);
        }
      }
    }
  }
  return result;
}

Status CheckWinograd(const Workload& w, const AnchorForm& form) {
  constexpr auto kLargestWindow = static_cast<std::int64_t>(kPoints.size()) + 1;
  if (form.winograd_tile == 0) return {};
  auto shape = ConvShapeOf(w);
  TW_RETURN_IF_ERROR(shape);
  const ConvShape& s = *shape;
  const bool plain = w.op == OpKind::kConv2d && s.groups == 1 && w.data_layout == "NCHW" &&
                     w.kernel_layout == "OIHW" && form.data.empty() && form.weight.empty() &&
                     form.output.empty() && !form.shift_data && !form.multiply_dtype;
  const bool floats =
      w.data.dtype == kFloat32 && w.weight.dtype == kFloat32 && w.out_dtype == kFloat32;
  const bool dense = s.stride_h == 1 && s.stride_w == 1 && s.dilation_h == 1 && s.dilation_w == 1;
  const std::int64_t window = form.winograd_tile + s.r - 1;
  if (plain && floats && dense && s.r == s.s && form.winograd_tile > 0 && window >= 2 &&
      window <= kLargestWindow) {
    return {};
  }
  return Unsupported(
      fmt::format("Winograd tiles of {} for {}, expected float32 in NCHW and OIHW, one group, a "
                  "square kernel, no strides or dilation, and windows of at most {}",
                  form.winograd_tile, w.Key(), kLargestWindow));
}

std::vector<ComputeOp> WinogradStages(const Buffer& data, const Buffer& weight,
                                      const ConvShape& shape, std::int64_t m) {
  return StageMaker(shape, m).Make(data, weight);
}

}  // namespace tilewright
