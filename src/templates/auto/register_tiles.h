#pragma once

#include <cstdint>
#include <vector>

#include "src/target/cpu.h"
#include "src/templates/auto/contraction.h"

namespace tilewright {

/// Steps of each of a contraction's `rows`, then vectors along its vector_axis: what is in
/// registers at a time.
using RegisterTile = std::vector<std::int64_t>;

/// Those that fit into the registers.
std::vector<RegisterTile> RegisterTiles(const Contraction& contraction, const CpuFeatures& features,
                                        std::int64_t lanes);

/// About how many cycles a core takes for the contraction with this tile: multiply-adds and loads
/// of full tiles and of those at the ends, and what turning the result or an operand takes.
double CyclesWithTile(const Contraction& contraction, const RegisterTile& tile, std::int64_t lanes);

/// The tile with the fewest cycles; empty if there is none.
RegisterTile BestRegisterTile(const Contraction& contraction, const CpuFeatures& features,
                              std::int64_t lanes);

}  // namespace tilewright
