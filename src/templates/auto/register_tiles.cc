// Tiles of a contraction that fit into registers, and their costs.

#include "src/templates/auto/register_tiles.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "src/base/math.h"
#include "src/templates/space_values.h"

namespace tilewright {
namespace {

std::int64_t StepsOf(const Contraction& c, const RegisterTile& tile, int axis) {
  for (std::size_t i = 0; i < c.rows.size(); ++i) {
    if (c.rows[i] == axis) return tile[i];
  }
  return axis == c.vector_axis ? tile.back() : 1;
}

/// Vectors and broadcast numbers that one step of the reduction loads.
std::int64_t LoadsOf(const Contraction& c, const RegisterTile& tile, std::int64_t lanes) {
  std::int64_t loads = 0;
  for (const Contraction::Operand& operand : c.operands) {
    std::int64_t own = operand.gathers ? lanes : 1;
    for (std::size_t axis = 0; axis < operand.has_axis.size(); ++axis) {
      if (operand.has_axis[axis]) own *= StepsOf(c, tile, static_cast<int>(axis));
    }
    loads += own;
  }
  return loads;
}

/// Vectors of operands that are kept during a step: those read along the vectors.
std::int64_t VectorsKept(const Contraction& c, const RegisterTile& tile) {
  std::int64_t least = 1;
  for (const Contraction::Operand& operand : c.operands) {
    const bool vectors = operand.has_axis[static_cast<std::size_t>(c.vector_axis)];
    if (vectors) least = std::max(least, std::min<std::int64_t>(tile.back(), 4));
  }
  return least;
}

/// Numbers of tiles by their steps along an axis: full ones, and the rest.
using Parts = std::vector<std::pair<double, std::int64_t>>;

Parts PartsOf(std::int64_t extent, std::int64_t step) {
  Parts parts;
  if (extent >= step) parts.emplace_back(static_cast<double>(extent / step), step);
  if (extent % step != 0) parts.emplace_back(1, extent % step);
  return parts;
}

/// The same in vectors: a rest shorter than one is a vector of half the size, of a quarter, …
Parts VectorPartsOf(std::int64_t extent, std::int64_t step, std::int64_t lanes) {
  Parts parts = PartsOf(extent, step * lanes);
  for (auto& [count, size] : parts) {
    size = size / lanes + std::popcount(static_cast<std::uint64_t>(size % lanes));
  }
  return parts;
}

/// Cycles of one step of the reduction over all tiles; the steps along the first axes are given.
double CyclesOfStep(const Contraction& c, const std::vector<Parts>& parts, RegisterTile tile,
                    std::int64_t lanes) {
  constexpr double kCyclesPerLoad = 0.65, kCyclesPerProduct = 0.5;
  constexpr double kLatency = 5;  // of a multiply-add, and some for the loop around it
  if (tile.size() == parts.size()) {
    return std::max({static_cast<double>(Product(tile)) * kCyclesPerProduct,
                     static_cast<double>(LoadsOf(c, tile, lanes)) * kCyclesPerLoad, kLatency});
  }
  double cycles = 0;
  const std::size_t next = tile.size();
  tile.push_back(0);
  for (const auto& [count, steps] : parts[next]) {
    tile.back() = steps;
    cycles += count * CyclesOfStep(c, parts, tile, lanes);
  }
  return cycles;
}

}  // namespace

std::vector<RegisterTile> RegisterTiles(const Contraction& c, const CpuFeatures& features,
                                        std::int64_t lanes) {
  constexpr std::int64_t kMaxVectors = 8;
  const std::int64_t max_rows = c.transposed() ? 28 : 14;
  const std::int64_t registers = features.vector_registers();
  const auto values = [&](std::size_t row) {
    return row < c.rows.size() ? MinWasteTiles(c.extent(c.rows[row]), max_rows)
                               : std::vector<std::int64_t>{1};
  };
  std::vector<RegisterTile> tiles;
  const std::int64_t vectors = CeilDiv(c.extent(c.vector_axis), lanes);
  for (std::int64_t first : values(0)) {
    for (std::int64_t second : values(1)) {
      for (std::int64_t vector : MinWasteTiles(vectors, kMaxVectors)) {
        RegisterTile tile;
        if (!c.rows.empty()) tile.push_back(first);
        if (c.rows.size() > 1) tile.push_back(second);
        tile.push_back(vector);
        // A tile that is transposed needs a second axis.
        if (c.transposed() && StepsOf(c, tile, c.result_axis) == 1) continue;
        if (Product(tile) + VectorsKept(c, tile) + 1 <= registers) tiles.push_back(std::move(tile));
      }
    }
  }
  return tiles;
}

double CyclesWithTile(const Contraction& c, const RegisterTile& tile, std::int64_t lanes) {
  constexpr double kCyclesToTurn = 5;    // a vector in registers: shuffles, and a store
  constexpr double kCyclesToMove = 0.8;  // an element from memory to memory in another order
  std::vector<Parts> parts;
  double others = 1;
  for (int axis = 0; axis < static_cast<int>(c.op().axes.size()); ++axis) {
    const bool row = std::ranges::find(c.rows, axis) != c.rows.end();
    if (!row && axis != c.vector_axis) others *= static_cast<double>(c.extent(axis));
  }
  for (std::size_t i = 0; i < c.rows.size(); ++i) {
    parts.push_back(PartsOf(c.extent(c.rows[i]), tile[i]));
  }
  parts.push_back(VectorPartsOf(c.extent(c.vector_axis), tile.back(), lanes));
  double steps = others;
  for (const Axis& axis : c.op().reduce_axes) steps *= static_cast<double>(axis.extent);
  double cycles = steps * CyclesOfStep(c, parts, {}, lanes);
  if (c.transposed()) {
    cycles +=
        kCyclesToTurn * static_cast<double>(c.op().output->elements()) / static_cast<double>(lanes);
  }
  for (const Contraction::Operand& operand : c.operands) {
    const bool packed = operand.constant;
    if (operand.across < 0 || packed) continue;
    cycles += kCyclesToMove * static_cast<double>(operand.buffer->elements());
  }
  return cycles;
}

RegisterTile BestRegisterTile(const Contraction& c, const CpuFeatures& features,
                              std::int64_t lanes) {
  RegisterTile best;
  double best_cycles = 0;
  for (const RegisterTile& tile : RegisterTiles(c, features, lanes)) {
    // Of tiles that keep the arithmetic units busy, prefer those with fewer loads.
    const double loads = static_cast<double>(LoadsOf(c, tile, lanes));
    const double cycles =
        CyclesWithTile(c, tile, lanes) * (1 + 0.05 * loads / static_cast<double>(Product(tile)));
    if (!best.empty() && cycles >= best_cycles) continue;
    best_cycles = cycles;
    best = tile;
  }
  return best;
}

}  // namespace tilewright
