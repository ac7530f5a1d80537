// Matrix products of tile registers as statements (TileProducts).

#include <string>

#include "src/schedule/dot.h"
#include "src/schedule/lower/lowering.h"

namespace tilewright {
namespace {

/// Returns true if loops with these extents and strides, outermost first, visit consecutive
/// elements.
bool AreConsecutive(std::initializer_list<std::pair<std::int64_t, std::int64_t>> loops) {
  std::int64_t run = 1;
  for (auto loop = std::rbegin(loops); loop != std::rend(loops); ++loop) {
    if (loop->first > 1 && loop->second != run) return false;
    run *= loop->first;
  }
  return true;
}

}  // namespace

/// Returns the box of a factor or the sums; strides: gets the distance for each leaf from `p` on.
/// Returns nullopt if the access is not linear in these loops.
std::optional<Region> Lowering::TileRegion(const Nest& nest, std::size_t p, const Expr& load,
                                           std::vector<std::int64_t>* strides) {
  BoxMap loops;
  for (std::size_t q = p; q < nest.leaf.size(); ++q) {
    if (nest.leaf[q].IsInt()) continue;
    loops.emplace_back(nest.leaf[q].get(), Box{Expr(0), nest.loops.extent(nest.info->leaves[q])});
  }
  Region region{load->buffer, {}, {}};
  const LinearForm position = FlatPosition(load->args, load->buffer->shape, ranges_);
  LinearForm rest = position;
  for (std::size_t q = p; q < nest.leaf.size(); ++q) {
    const bool one = nest.leaf[q].IsInt();
    strides->push_back(one ? 0 : position.CoefficientOf(nest.leaf[q]));
    if (!one) rest.AddTerm(nest.leaf[q], -strides->back());
  }
  if (Mentions(rest.ToExpr(), loops)) return std::nullopt;
  for (const Expr& index : load->args) {
    const auto box = BoxOf(index, loops, ranges_);
    if (!box) return std::nullopt;
    region.min.push_back(box->min);
    region.extent.push_back(box->extent);
  }
  return region;
}

Stmt Lowering::EmitTiles(const Nest& nest, std::size_t p) {
  const TileIntrinsic& tiles = *FindTileIntrinsic(nest.info->intrinsic);
  const auto fail = [&](const std::string& reason) {
    return FailStage(nest, std::string(tiles.name) + ": " + reason);
  };
  for (std::size_t i = 0; i < nest.guards.size(); ++i) {
    if (!nest.emitted[i] && nest.guards[i].condition) {
      return fail("its loops would need the condition " + ToString(nest.guards[i].condition));
    }
  }
  std::vector<std::int64_t> extents;
  for (std::size_t q = p; q < nest.leaf.size(); ++q) {
    extents.push_back(nest.loops.extent(nest.info->leaves[q]));
  }
  const std::size_t depth = extents.size() - 1, group = depth - 1, column = 1;
  const TileRegisterShape shape{extents[0], extents[1], extents[group]};
  if (!shape.fits()) {
    return fail(std::to_string(shape.rows) + " x " + std::to_string(shape.columns) +
                " sums, more than the tile registers hold");
  }
  std::vector<Expr> conditions;
  StripZeroTaps(nest.body, &conditions);
  if (!conditions.empty()) {
    return fail("the product has zero padding inside; keep the padding a stage of its own");
  }
  const auto operands = MatchProducts(nest.info->op, *TypesOfIntrinsic(tiles.name));
  if (!operands.ok()) return fail(operands.status().message());
  const Realized& realized = realized_[static_cast<std::size_t>(nest.stage.index)];
  const Expr sum = MakeLoad(realized.buffer, IndicesOf(realized, nest.local));
  std::vector<std::int64_t> of_sum, of_a, of_b;
  const auto acc = TileRegion(nest, p, sum, &of_sum);
  Expr factors[] = {RewriteBody(operands->a, nest), RewriteBody(operands->b, nest)};
  auto a = TileRegion(nest, p, factors[0], &of_a), b = TileRegion(nest, p, factors[1], &of_b);
  // Of two factors of one type, the first is the one that the columns share.
  if (a && b && tiles.a == tiles.b && of_a[column] != 0) {
    std::swap(a, b);
    std::swap(of_a, of_b);
  }
  if (!acc || !a || !b) return fail("an operand is not linear in the loops");
  if (!AreConsecutive({{extents[column], of_sum[column]}})) {
    return fail("the columns of the sums are not consecutive in memory");
  }
  if (of_a[column] != 0 || of_b[0] != 0) return fail("no factor follows the rows alone");
  if (!AreConsecutive({{extents[group], of_a[group]}, {extents[depth], of_a[depth]}})) {
    return fail("the products of a step are not consecutive in the first factor");
  }
  if (!AreConsecutive({{extents[column], of_b[column]}, {extents[depth], of_b[depth]}})) {
    return fail("the second factor is not groups of columns x " + std::to_string(tiles.depth) +
                " consecutive elements");
  }
  TileProducts products{shape, of_sum[0], of_a[0], of_b[group], {}};
  for (std::size_t q = 2; q < group; ++q) {
    products.steps.push_back({extents[q], of_a[q], of_b[q]});
  }
  return MakeTileProducts(tiles, {*acc, *a, *b}, products);
}

}  // namespace tilewright
