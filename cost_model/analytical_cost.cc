#include "cost_model/analytical_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "cost_model/cost_model.h"

namespace tilewright::cost_model {
namespace {

// A present-day core: instructions of each kind in a cycle, and bytes a cycle from beyond each
// cache.
constexpr double kMultiplyAdds = 2, kLoads = 2, kStores = 1, kElementwise = 2;
constexpr double kL2BytesPerCycle = 32, kL3BytesPerCycle = 12, kMemoryBytesPerCycle = 5;
constexpr double kLatency = 4;     // of a multiply-add; dependent ones wait
constexpr double kTileCycles = 1;  // of one step of the loop around the register tile
constexpr double kGathered = 1;    // loads of single elements, for each lane of an unordered vector
constexpr double kRegisterBits = 512;
constexpr int kEstimatedAccesses = 4;

/// Columns that the estimate reads.
struct Columns {
  std::size_t reductions, iterations, ops, vector, parallel, tile_spatial, tile_reduction,
      tile_vectors, tile_written, tile_read, l1, l2, l3;
  struct Access {
    std::size_t tile_bytes, vector_stride;
  };
  std::array<Access, kEstimatedAccesses> access;
  struct Other {
    std::size_t ops, bytes, vector;
  };
  Other before, after;
};

const Columns& ColumnsOfLoops() {
  static const Columns kColumns = [] {
    const std::vector<std::string> names = FeatureNames();
    const auto at = [&names](std::string_view group, std::string_view what) {
      const auto found = std::ranges::find_if(names, [&](const std::string& name) {
        return name.size() == group.size() + what.size() && name.starts_with(group) &&
               name.ends_with(what);
      });
      TW_CHECK(found != names.end(), std::string(group) + std::string(what));
      return static_cast<std::size_t>(found - names.begin());
    };
    Columns c{at("main.", "reductions"),
              at("main.", "iterations"),
              at("main.", "ops"),
              at("main.", "vector"),
              at("main.", "parallel"),
              at("main.", "tile_spatial"),
              at("main.", "tile_reduction"),
              at("main.", "tile_vectors"),
              at("main.", "tile_written_bytes"),
              at("main.", "tile_read_bytes"),
              at("ai15.", "ops_per_byte"),
              at("ai20.", "ops_per_byte"),
              at("ai23.", "ops_per_byte"),
              {},
              {},
              {}};
    for (std::size_t i = 0; i < c.access.size(); ++i) {
      const std::string access = "access" + std::to_string(i) + ".";
      c.access[i] = {at(access, "tile_bytes"), at(access, "vector_stride")};
    }
    c.before = {at("before.", "ops"), at("before.", "bytes"), at("before.", "vector")};
    c.after = {at("after.", "ops"), at("after.", "bytes"), at("after.", "vector")};
    return c;
  }();
  return kColumns;
}

}  // namespace

double AnalyticalLoopCost(const Target& target, std::span<const float> row) {
  const Columns& c = ColumnsOfLoops();
  const auto log = [&](std::size_t column) { return static_cast<double>(row[column]); };
  const auto value = [&](std::size_t column) { return std::exp2(log(column)) - 1; };
  const double iterations = std::max(1.0, value(c.iterations)), ops = std::max(1.0, value(c.ops));
  const double lanes = std::max(1.0, value(c.vector));
  const double tile = std::max(1.0, value(c.tile_spatial) * value(c.tile_reduction));
  const double tiles = iterations / tile;
  const double element =
      std::max(1.0, value(c.tile_written) / std::max(1.0, value(c.tile_spatial)));
  const double vector_bytes = lanes * element;

  // In registers: multiply-adds, and the latency of dependent ones.
  const bool sums = log(c.reductions) > 0;
  double compute = tile / lanes * (ops / iterations) / (sums ? 2 * kMultiplyAdds : kElementwise);
  const double chains = std::max(1.0, value(c.tile_vectors));
  if (sums) compute = std::max(compute, tile / lanes / chains * kLatency);
  // Vectors and single elements loaded for them.
  double loads = 0;
  for (int i = 1; i < kEstimatedAccesses; ++i) {
    const auto& access = c.access[static_cast<std::size_t>(i)];
    const double bytes = value(access.tile_bytes);
    const double stride = log(access.vector_stride);
    const bool neighbours = lanes > 1 && stride > 0.5 && stride < 1.5;  // log2(1 + 1)
    loads += neighbours || stride < 0 ? bytes / vector_bytes : bytes / element * kGathered;
  }
  const double registers = vector_bytes * 8 >= kRegisterBits ? 32 : 16;
  const double spilled = std::max(0.0, chains + 2 - registers);
  const double stored = sums ? 0 : chains;
  const double moved = std::max((loads + spilled) / kLoads, (stored + spilled) / kStores);
  double cycles = tiles * (std::max(compute, moved) + kTileCycles);

  // Traffic beyond the caches.
  const auto traffic = [&](std::size_t column) { return ops / std::exp2(log(column)); };
  cycles = std::max(cycles, traffic(c.l3) / kMemoryBytesPerCycle) +
           traffic(c.l1) / kL2BytesPerCycle + traffic(c.l2) / kL3BytesPerCycle;
  const double threads = std::min<double>(target.num_threads(), std::max(1.0, value(c.parallel)));
  cycles /= threads;
  for (const Columns::Other& other : {c.before, c.after}) {
    const double other_lanes = std::max(1.0, value(other.vector));
    cycles +=
        value(other.ops) / other_lanes / kElementwise + value(other.bytes) / kL3BytesPerCycle / 2;
  }
  return cycles;
}

}  // namespace tilewright::cost_model
