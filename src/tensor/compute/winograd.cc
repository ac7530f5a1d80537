// Winograd's convolution as stages: tiles of the data are transformed, products are summed over
// channels, and tiles are transformed back. The matrices follow from points at which polynomials
// are evaluated.

#include "src/tensor/compute/winograd.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "src/base/math.h"
#include "src/tensor/compute/internal.h"
#include "src/tensor/compute/spatial_pack.h"
#include "src/tensor/compute/winograd_integer.h"
#include "src/tensor/layout.h"

namespace tilewright {
namespace {

using Polynomial = std::vector<double>;  // coefficients, constant first

/// Points of evaluation, in addition to infinity. Small and simple fractions keep the rounding
/// errors low. Two more would lose a thousandth of the result.
constexpr std::array kPoints = {0.0, 1.0, -1.0, 0.5, -2.0, -0.5, 2.0};

/// Returns the product of (x - point) over the first `points` points except `left_out` (-1: none).
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

/// Returns the sum of row[i] * terms[i] without the products by zero.
Expr Combine(const std::vector<double>& row, const std::vector<Expr>& terms) {
  Expr sum;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == 0) continue;
    const double factor = std::abs(row[i]);
    const bool subtract = sum && row[i] < 0;
    const double kept = subtract ? factor : row[i];
    const Expr product = kept == 1 ? terms[i] : terms[i] * MakeConst(terms[i].dtype(), kept);
    if (!sum) {
      sum = product;
    } else {
      sum = subtract ? sum - product : sum + product;
    }
  }
  return sum;
}

/// Returns row number `index` of matrix * (load(0), load(1), …). If loops over the index are
/// unrolled, only one combination of the choice remains.
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

WinogradMatrices MatricesOf(const WinogradKind& kind, std::int64_t r) {
  return kind.whole ? MakeIntegerWinograd(kind.m, r).matrices : MakeWinogradMatrices(kind.m, r);
}

/// Stores the transformed kernels of all pairs of channels at place(position, input, output).
template <typename From, typename To, typename Place>
void FillTransformed(const Tensor& weight, const WinogradMatrices::Matrix& matrix,
                     const Place& place, std::span<To> transformed) {
  const std::int64_t outputs = weight.shape()[0], inputs = weight.shape()[1], r = weight.shape()[2];
  const auto window = static_cast<std::int64_t>(matrix.size());
  const std::span<const From> plain = weight.As<From>();
  std::vector<double> half(static_cast<std::size_t>(window * r));  // transformed along rows
  for (std::int64_t k = 0; k < outputs; ++k) {
    for (std::int64_t c = 0; c < inputs; ++c) {
      const From* kernel = plain.data() + (k * inputs + c) * r * r;
      for (std::int64_t e = 0; e < window; ++e) {
        const std::vector<double>& row = matrix[static_cast<std::size_t>(e)];
        for (std::int64_t x = 0; x < r; ++x) {
          double sum = 0;
          for (std::int64_t y = 0; y < r; ++y) {
            sum += row[static_cast<std::size_t>(y)] * kernel[y * r + x];
          }
          half[static_cast<std::size_t>(e * r + x)] = sum;
        }
      }
      for (std::int64_t e = 0; e < window; ++e) {
        for (std::int64_t f = 0; f < window; ++f) {
          double sum = 0;
          for (std::int64_t x = 0; x < r; ++x) {
            sum += matrix[static_cast<std::size_t>(f)][static_cast<std::size_t>(x)] *
                   half[static_cast<std::size_t>(e * r + x)];
          }
          transformed[static_cast<std::size_t>(place(e * window + f, c, k))] = static_cast<To>(sum);
        }
      }
    }
  }
}

/// Builder of the stages, one after the other; each has its own axes.
class StageMaker {
 public:
  StageMaker(const ConvShape& shape, const WinogradKind& kind)
      : shape_(shape),
        kind_(kind),
        tiles_(WinogradTilesOf(shape, kind.m)),
        matrices_(MatricesOf(kind, shape.r)) {
    if (kind_.whole) inverse_ = MakeIntegerWinograd(kind.m, shape.r).inverse();
  }

  std::vector<ComputeOp> Make(const Buffer& data, const Buffer& weight) {
    if (kind_.block > 0) {
      MakeBlockedPlaces(MakeBlockedTile(MakeBlockedProducts(MakeBlockedData(data), weight)));
    } else if (kind_.packed_tiles > 0) {
      MakePlaces(MakeTile(MakePackedProducts(MakePackedData(data), weight)));
    } else {
      MakePlaces(MakeTile(MakeProducts(MakeData(data), weight)));
    }
    return std::move(stages_);
  }

 private:
  Buffer Add(const char* name, std::vector<Axis> axes, const Expr& body) {
    stages_.push_back(PlainStage(name, body.dtype(), std::move(axes), body));
    return stages_.back().output;
  }
  Axis Input(bool reduction = false) const { return NewAxis("ci", shape_.c, reduction); }
  Axis Output() const { return NewAxis("k", shape_.k); }
  Axis Tile() const { return NewAxis("p", tiles_.count); }
  Axis Position(const char* name) const { return NewAxis(name, tiles_.window); }

  // Start of tile p in the padded data.
  Expr FirstRow(const Expr& p) const {
    return FloorMod(FloorDiv(p, Expr(tiles_.cols)), Expr(tiles_.rows)) * Expr(tiles_.m);
  }
  Expr FirstColumn(const Expr& p) const { return FloorMod(p, Expr(tiles_.cols)) * Expr(tiles_.m); }
  Expr Image(const Expr& p) const { return FloorDiv(p, Expr(tiles_.rows * tiles_.cols)); }
  /// Returns the tile of output (y, x) of image n.
  Expr TileOf(const Axis& n, const Axis& y, const Axis& x) const {
    const Expr m(tiles_.m);
    return (n.var * Expr(tiles_.rows) + FloorDiv(y.var, m)) * Expr(tiles_.cols) +
           FloorDiv(x.var, m);
  }

  /// Returns the data of each tile, transformed: B^T d B.
  Buffer MakeData(const Buffer& data) {
    Axis c = Input(), p = Tile(), a = Position("a"), b = Position("b");
    const Buffer window = Add(
        "window", {c, p, a, b},
        MakeLoad(data, {Image(p.var), c.var, FirstRow(p.var) + a.var, FirstColumn(p.var) + b.var}));

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

  // Data and products with the tiles and the output channels in blocks.

  std::int64_t TileBlocks() const { return CeilDiv(tiles_.count, kind_.packed_tiles); }
  Axis TileBlock() const { return NewAxis("pb", TileBlocks()); }
  Axis TileOfBlock() const { return NewAxis("q", kind_.packed_tiles); }

  Buffer MakePackedData(const Buffer& data) {
    Axis c = Input(), pb = TileBlock(), a = Position("a"), b = Position("b"), q = TileOfBlock();
    const Expr p = pb.var * Expr(kind_.packed_tiles) + q.var;
    Expr element = MakeLoad(data, {Image(p), c.var, FirstRow(p) + a.var, FirstColumn(p) + b.var});
    if (tiles_.count % kind_.packed_tiles != 0) {
      element = MakeSelect(Lt(p, Expr(tiles_.count)), element, MakeConst(element.dtype(), 0));
    }
    const Buffer window = Add("window", {c, pb, a, b, q}, element);

    c = Input(), pb = TileBlock(), b = Position("b"), q = TileOfBlock();
    Axis e = Position("e");
    const Buffer rows = Add("rows", {c, pb, e, b, q}, Transform(matrices_.data, e.var, [&](Expr i) {
                              return MakeLoad(window, {c.var, pb.var, std::move(i), b.var, q.var});
                            }));

    c = Input(), pb = TileBlock(), e = Position("e"), q = TileOfBlock();
    const Axis f = Position("f");
    return Add("data_transform", {e, f, pb, c, q}, Transform(matrices_.data, f.var, [&](Expr i) {
                 return MakeLoad(rows, {c.var, pb.var, e.var, std::move(i), q.var});
               }));
  }

  Buffer MakePackedProducts(const Buffer& data, const Buffer& weight) {
    const Axis e = Position("e"), f = Position("f"), k = Output(),
               p = NewAxis("p", TileBlocks() * kind_.packed_tiles), c = Input(true);
    const Expr outputs(kind_.packed_outputs), tiles(kind_.packed_tiles);
    stages_.push_back(ReductionStage(
        "products", {e, f, k, p}, {c}, Combiner::kSum,
        MakeLoad(weight,
                 {e.var, f.var, FloorDiv(k.var, outputs), c.var, FloorMod(k.var, outputs)}) *
            MakeLoad(data, {e.var, f.var, FloorDiv(p.var, tiles), c.var, FloorMod(p.var, tiles)})));
    return stages_.back().output;
  }

  /// Returns the tiles of the output: A^T products A.
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
    Add("reduce", {n, k, y, x},
        MakeLoad(tile, {k.var, TileOf(n, y, x), FloorMod(y.var, m), FloorMod(x.var, m)}));
  }

  // The same stages with the channels in blocks.

  Axis InputBlock() const { return NewAxis("cb", CeilDiv(shape_.c, kind_.block)); }
  Axis OutputBlock() const { return NewAxis("kb", CeilDiv(shape_.k, kind_.block)); }
  Axis Lane() const { return NewAxis("c", kind_.block); }

  Buffer MakeBlockedData(const Buffer& data) {
    Axis cb = InputBlock(), p = Tile(), c = Lane();
    Axis e = Position("e");
    const Axis b = Position("b");
    const Buffer rows = Add(
        "rows", {cb, p, e, b, c}, Transform(matrices_.data, e.var, [&](const Expr& i) {
          return MakeLoad(
              data, {Image(p.var), cb.var, FirstRow(p.var) + i, FirstColumn(p.var) + b.var, c.var});
        }));
    cb = InputBlock(), p = Tile(), c = Lane(), e = Position("e");
    const Axis f = Position("f");
    return Add("data_transform", {e, f, cb, p, c}, Transform(matrices_.data, f.var, [&](Expr i) {
                 return MakeLoad(rows, {cb.var, p.var, e.var, std::move(i), c.var});
               }));
  }

  Buffer MakeBlockedProducts(const Buffer& data, const Buffer& weight) {
    const Axis e = Position("e"), f = Position("f"), kb = OutputBlock(), p = Tile(), k = Lane();
    // Steps divide channels and blocks, so that the padding of the last block is not read.
    const std::int64_t step = std::gcd(shape_.c, kind_.block), parts = kind_.block / step;
    const Axis cs = NewAxis("cs", shape_.c / step, true);
    if (kind_.whole) {
      const Axis pair = NewAxis("ci", step / 2, true), half = NewAxis("h", 2, true);
      const Expr lane = FloorMod(cs.var, Expr(parts)) * Expr(step) + pair.var * Expr(2) + half.var;
      const Expr of_pair = cs.var * Expr(step / 2) + pair.var;
      stages_.push_back(ReductionStage(
          "products", {e, f, kb, p, k}, {cs, pair, half}, Combiner::kSum,
          MakeCast(kInt32,
                   MakeLoad(data, {e.var, f.var, FloorDiv(cs.var, Expr(parts)), p.var, lane})) *
              MakeCast(kInt32,
                       MakeLoad(weight, {kb.var, e.var, f.var, of_pair, k.var, half.var}))));
      return stages_.back().output;
    }
    const Axis c = NewAxis("ci", step, true);
    const Expr lane = FloorMod(cs.var, Expr(parts)) * Expr(step) + c.var;
    stages_.push_back(ReductionStage(
        "products", {e, f, kb, p, k}, {cs, c}, Combiner::kSum,
        MakeLoad(data, {e.var, f.var, FloorDiv(cs.var, Expr(parts)), p.var, lane}) *
            MakeLoad(weight, {kb.var, e.var, f.var, cs.var * Expr(step) + c.var, k.var})));
    return stages_.back().output;
  }

  Buffer MakeBlockedTile(const Buffer& products) {
    Axis kb = OutputBlock(), p = Tile(), i = NewAxis("i", tiles_.m), k = Lane();
    const Axis f = Position("f");
    const Buffer columns =
        Add("columns", {kb, p, i, f, k}, Transform(matrices_.output, i.var, [&](Expr e) {
              return MakeLoad(products, {std::move(e), f.var, kb.var, p.var, k.var});
            }));
    kb = OutputBlock(), p = Tile(), i = NewAxis("i", tiles_.m), k = Lane();
    const Axis j = NewAxis("j", tiles_.m);
    const Expr tile = Transform(matrices_.output, j.var, [&](Expr at) {
      return MakeLoad(columns, {kb.var, p.var, i.var, std::move(at), k.var});
    });
    if (!kind_.whole) return Add("tile", {kb, p, i, j, k}, tile);
    return Add("tile", {kb, p, i, j, k},
               MakeBinary(ExprKind::kShiftRight, tile * MakeInt(kInt32, inverse_),
                          MakeInt(kInt32, IntegerWinograd::kShift)));
  }

  void MakeBlockedPlaces(const Buffer& tile) {
    const Axis n = NewAxis("n", shape_.n), kb = OutputBlock(), y = NewAxis("oh", shape_.oh),
               x = NewAxis("ow", shape_.ow), k = Lane();
    const Expr m(tiles_.m);
    Add("reduce", {n, kb, y, x, k},
        MakeLoad(tile, {kb.var, TileOf(n, y, x), FloorMod(y.var, m), FloorMod(x.var, m), k.var}));
  }

  const ConvShape& shape_;
  WinogradKind kind_;
  std::int32_t inverse_ = 1;
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

double WinogradProductShare(std::int64_t m, std::int64_t r) {
  if (m <= 0 || r <= 0) return 1;
  const double share = static_cast<double>(m + r - 1) / static_cast<double>(m * r);
  return share * share;
}

std::int64_t WinogradBlock(const KernelLayouts& layouts) {
  if (layouts.data.empty()) return 0;
  const auto layout = Layout::Parse(layouts.data);
  return layout.ok() && layout->BlockOf('C') > 1 ? layout->BlockOf('C') : 0;
}

WinogradKind WinogradKindOf(const Workload& workload, const KernelLayouts& layouts) {
  return {layouts.winograd_tile, WinogradBlock(layouts), workload.weight.dtype == kInt8,
          layouts.spatial_pack.channels, layouts.spatial_pack.columns};
}

std::vector<std::int64_t> WinogradWeightShape(const ConvShape& shape, const WinogradKind& kind) {
  const std::int64_t window = kind.m + shape.r - 1, block = kind.block;
  if (const std::int64_t packed = kind.packed_outputs; packed > 0) {
    return {window, window, shape.k / packed, shape.c, packed};
  }
  if (block == 0) return {window, window, shape.c, shape.k};
  if (kind.whole) return {CeilDiv(shape.k, block), window, window, shape.c / 2, block, 2};
  return {CeilDiv(shape.k, block), window, window, shape.c, block};
}

Tensor WinogradWeight(const Tensor& weight, const WinogradKind& kind) {
  ConvShape shape{};
  shape.k = weight.shape()[0], shape.c = weight.shape()[1], shape.r = weight.shape()[2];
  const std::int64_t outputs = shape.k, inputs = shape.c, block = kind.block;
  const WinogradMatrices::Matrix matrix = MatricesOf(kind, shape.r).weight;
  const auto positions = static_cast<std::int64_t>(matrix.size() * matrix.size());
  Tensor result(TensorType{WinogradWeightShape(shape, kind), kind.whole ? kInt16 : kFloat32});
  if (kind.whole) {
    const auto place = [&](std::int64_t position, std::int64_t c, std::int64_t k) {
      const std::int64_t pair = (k / block * positions + position) * (inputs / 2) + c / 2;
      return (pair * block + k % block) * 2 + c % 2;
    };
    const auto transformed = result.As<std::int16_t>();
    std::ranges::fill(transformed, std::int16_t{0});
    FillTransformed<std::int8_t>(weight, matrix, place, transformed);
    return result;
  }
  const auto place = [&](std::int64_t position, std::int64_t c, std::int64_t k) {
    if (const std::int64_t packed = kind.packed_outputs; packed > 0) {
      return ((position * (outputs / packed) + k / packed) * inputs + c) * packed + k % packed;
    }
    if (block == 0) return (position * inputs + c) * outputs + k;
    return ((k / block * positions + position) * inputs + c) * block + k % block;
  };
  const auto transformed = result.As<float>();
  std::ranges::fill(transformed, 0.0F);
  if (weight.dtype() != kFloat32) {
    Tensor wide(TensorType{weight.shape(), kFloat32});
    for (std::int64_t i = 0; i < weight.elements(); ++i) wide.Set(i, weight.At(i));
    FillTransformed<float>(wide, matrix, place, transformed);
    return result;
  }
  FillTransformed<float>(weight, matrix, place, transformed);
  return result;
}

Program WinogradWeightLoops(const Buffer& weight, const WinogradKind& kind) {
  ConvShape shape{};
  shape.k = weight->shape[0], shape.c = weight->shape[1], shape.r = weight->shape[2];
  const WinogradMatrices::Matrix matrix = MatricesOf(kind, shape.r).weight;
  const auto window = static_cast<std::int64_t>(matrix.size());
  const Buffer target =
      MakeBuffer("target", kind.whole ? kInt16 : kFloat32, WinogradWeightShape(shape, kind));
  const Buffer half = MakeBuffer("half", kFloat64, {window, shape.r}, Scope::kLocal);
  const std::int64_t lanes = std::max<std::int64_t>({kind.block, kind.packed_outputs, 1});
  const Expr ko = MakeVar("k"), lane = MakeVar("lane"), c = MakeVar("c"), x = MakeVar("x"),
             e = MakeVar("e");
  const Expr k = ko * Expr(lanes) + lane;
  const auto place = [&](std::int64_t f) -> std::vector<Expr> {
    if (kind.whole) return {ko, e, Expr(f), FloorDiv(c, Expr(2)), lane, FloorMod(c, Expr(2))};
    if (kind.block > 0) return {ko, e, Expr(f), c, lane};
    if (kind.packed_outputs > 0) return {e, Expr(f), ko, c, lane};
    return {e, Expr(f), c, ko};
  };
  std::vector<Stmt> transform, zeros;
  for (std::int64_t row = 0; row < window; ++row) {
    std::vector<Expr> terms;
    for (std::int64_t y = 0; y < shape.r; ++y) {
      terms.push_back(MakeCast(kFloat64, MakeLoad(weight, {k, c, Expr(y), x})));
    }
    transform.push_back(MakeFor(
        x, shape.r, LoopKind::kSerial,
        MakeStore(half, {Expr(row), x}, Combine(matrix[static_cast<std::size_t>(row)], terms))));
  }
  std::vector<Stmt> columns;
  std::vector<Expr> terms;
  for (std::int64_t i = 0; i < shape.r; ++i) terms.push_back(MakeLoad(half, {e, Expr(i)}));
  for (std::int64_t f = 0; f < window; ++f) {
    columns.push_back(
        MakeStore(target, place(f),
                  MakeCast(target->dtype, Combine(matrix[static_cast<std::size_t>(f)], terms))));
    zeros.push_back(MakeStore(target, place(f), MakeConst(target->dtype, 0)));
  }
  const auto rows = [&](std::vector<Stmt> stores) {
    return MakeFor(e, window, LoopKind::kSerial, MakeBlock(std::move(stores)));
  };
  transform.push_back(rows(std::move(columns)));
  Stmt body = MakeAllocate(half, MakeBlock(std::move(transform)));
  if (shape.k % lanes != 0) body = MakeIf(Lt(k, Expr(shape.k)), body, rows(std::move(zeros)));
  body = MakeFor(lane, lanes, LoopKind::kSerial, std::move(body));
  body = MakeFor(c, shape.c, LoopKind::kSerial, std::move(body));
  body = MakeFor(ko, CeilDiv(shape.k, lanes), LoopKind::kSerial, std::move(body));
  return {"pack", {weight, target}, 1, std::move(body)};
}

Status CheckWinograd(const Workload& w, const KernelLayouts& layouts) {
  constexpr auto kLargestWindow = static_cast<std::int64_t>(kPoints.size()) + 1;
  if (layouts.winograd_tile == 0) return {};
  TW_RETURN_IF_ERROR(CheckSpatialPack(w, layouts));
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  const ConvShape& s = shape;
  const bool packed = layouts.spatial_pack != SpatialPack();
  const bool blocked = WinogradBlock(layouts) > 0 && layouts.output == layouts.data;
  const bool plain = w.op == OpKind::kConv2d && s.groups == 1 && w.data_layout == "NCHW" &&
                     w.kernel_layout == "OIHW" &&
                     (blocked || packed ||
                      (layouts.data.empty() && layouts.weight.empty() && layouts.output.empty())) &&
                     !layouts.shift_data;
  if (plain && blocked && layouts.multiply_dtype == kInt16) {
    std::string why = HasIntegerWinogradTiles(layouts.winograd_tile)
                          ? IntegerWinogradRefusal(w, s)
                          : "only tiles of 2 x 2 and 4 x 4";
    if (why.empty() && std::gcd(s.c, WinogradBlock(layouts)) % 2 != 0) {
      why = "only blocks of pairs of channels";
    }
    if (!why.empty()) {
      return Unsupported(fmt::format("Winograd in whole numbers for {}: {}", w.Key(), why));
    }
  }
  const bool whole = blocked && layouts.multiply_dtype == kInt16;
  const DataType multiplied = layouts.multiply_dtype.value_or(w.data.dtype);
  const bool floats =
      multiplied == kFloat32 && w.data.dtype == w.weight.dtype && SumType(w) == kFloat32;
  const bool dense = s.stride_h == 1 && s.stride_w == 1 && s.dilation_h == 1 && s.dilation_w == 1;
  const std::int64_t window = layouts.winograd_tile + s.r - 1;
  if (plain && (whole || floats) && dense && s.r == s.s && layouts.winograd_tile > 0 &&
      window >= 2 && window <= kLargestWindow) {
    return {};
  }
  return Unsupported(
      fmt::format("Winograd tiles of {} for {}, expected float32 in NCHW and OIHW, one group, a "
                  "square kernel, no strides or dilation, and windows of at most {}",
                  layouts.winograd_tile, w.Key(), kLargestWindow));
}

std::vector<ComputeOp> WinogradStages(const Buffer& data, const Buffer& weight,
                                      const ConvShape& shape, const WinogradKind& kind) {
  return StageMaker(shape, kind).Make(data, weight);
}

}  // namespace tilewright
