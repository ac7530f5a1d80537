#pragma once

#include <cstdint>
#include <optional>

#include "src/base/status.h"
#include "src/space/config.h"
#include "src/target/target.h"
#include "src/templates/registry.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Register tile of a dense layer: a template with the config of one number of rows, from which
/// those of a block of fewer rows follow. All have one packed form of the weight.
struct BlockTile {
  const TemplateEntry* entry = nullptr;
  Config config;             ///< of the number of rows that it was made for
  std::int64_t rows = 1;     ///< of the tile
  std::int64_t columns = 1;  ///< of the tile
  friend bool operator==(const BlockTile&, const BlockTile&) = default;
};

/// Returns the tile of a config; none if the template has no tiles of rows and columns with a
/// packed weight.
std::optional<BlockTile> BlockTileOf(const TemplateEntry& entry, const Config& config,
                                     const Target& target);

/// Returns the config of a kernel for the rows of the workload, in tiles of as many rows as the
/// tile has or, to share them evenly, fewer. Errors: kNotFound if the template's space has none.
Result<Config> ConfigOfRows(const BlockTile& tile, const Workload& workload, const Target& target);

}  // namespace tilewright
