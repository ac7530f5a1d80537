#pragma once

#include <cstdint>
#include <vector>

#include "src/target/cpu.h"
#include "src/templates/auto/contraction.h"

namespace tilewright {

/// Register tile: steps of each of a contraction's `rows`, then vectors along its vector_axis.
using RegisterTile = std::vector<std::int64_t>;

/// Returns the tiles that fit into the registers.
std::vector<RegisterTile> RegisterTiles(const Contraction& contraction, const CpuFeatures& features,
                                        std::int64_t lanes);

/// Estimated cycles of a core for the contraction with this tile: multiply-adds and loads of full
/// tiles and of those at the ends, and the transposition of the result or an operand.
double CyclesWithTile(const Contraction& contraction, const RegisterTile& tile, std::int64_t lanes);

/// Returns the tile with the fewest cycles; empty if there is none.
RegisterTile BestRegisterTile(const Contraction& contraction, const CpuFeatures& features,
                              std::int64_t lanes);

}  // namespace tilewright
