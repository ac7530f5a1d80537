#include "src/compiler/open/block_tiles.h"

#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/math.h"
#include "src/target/cpu.h"

namespace tilewright {
namespace {

using Factors = std::vector<std::int64_t>;

const Factors* FactorsOf(const Config& config, std::string_view name) {
  const KnobValue* value = config.Find(name);
  return value == nullptr ? nullptr : std::get_if<Factors>(&value->value);
}

void SetFactors(Config& config, std::string_view name, Factors factors) {
  for (auto& [known, value] : config.values) {
    if (known == name) value.value = std::move(factors);
  }
}

// Knobs of dense_packed.cpu and dense_padded_int8.cpu: rows, and vectors of columns.
constexpr std::string_view kTile = "register_tile";
// Knobs of dense_pack.x86: parts, tiles of a part, rows or columns of a tile.
constexpr std::string_view kRows = "tile_y", kColumns = "tile_x";

}  // namespace

std::optional<BlockTile> BlockTileOf(const TemplateEntry& entry, const Config& config,
                                     const Target& target) {
  BlockTile tile{&entry, config};
  const std::string_view key = entry.key;
  const Factors* both = FactorsOf(config, kTile);
  if ((key == "dense_packed.cpu" || key == "dense_padded_int8.cpu") && both != nullptr) {
    const auto features = FeaturesOf(target);
    if (!features.ok()) return std::nullopt;
    tile.rows = both->front();
    tile.columns = both->back() * features->float_lanes();
    return tile;
  }
  const Factors *rows = FactorsOf(config, kRows), *columns = FactorsOf(config, kColumns);
  if (key != "dense_pack.x86" || rows == nullptr || columns == nullptr) return std::nullopt;
  tile.rows = rows->back();
  tile.columns = columns->back();
  return tile;
}

Result<Config> ConfigOfRows(const BlockTile& tile, const Workload& workload, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto space, tile.entry->define_space(workload, target));
  const std::int64_t all = workload.data.shape[0];
  const std::int64_t rows = CeilDiv(all, CeilDiv(all, tile.rows));
  Config config = tile.config;
  if (const Factors* both = FactorsOf(config, kTile)) {
    SetFactors(config, kTile, {rows, both->back()});
  } else {
    // The loop over groups of columns is the outermost, so that all blocks read a group while it is
    // in the cache.
    const std::int64_t groups = workload.weight.shape[0] / tile.columns;
    SetFactors(config, kRows, {all / rows, 1, rows});
    SetFactors(config, kColumns, {groups, 1, tile.columns});
  }
  return space.Locate(config);
}

}  // namespace tilewright
