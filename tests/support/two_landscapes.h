#pragma once

#include <string>
#include <utility>
#include <vector>

#include "search/recorded/landscape.h"
#include "search/strategies/fronts.h"
#include "src/space/pareto_front.h"

namespace tilewright::search {

/// Two recordings of one space, by two metrics.
struct TwoLandscapes {
  Landscape first, second;

  std::vector<double> ValuesOf(Point point) const {
    return {first.Find(point)->value, second.Find(point)->value};
  }
  Told At(Point point) const {
    Told told{point, Outcome::kOk, first.Find(point)->value};
    told.values = ValuesOf(point);
    return told;
  }
  /// The values on the front of everything.
  std::vector<std::vector<double>> Exhaustive() const {
    std::vector<std::vector<double>> rows;
    for (const Landscape::Row& row : first.rows) rows.push_back(ValuesOf(row.point));
    return FrontRows(rows);
  }
  static std::vector<std::vector<double>> FrontRows(const std::vector<std::vector<double>>& rows) {
    std::vector<std::vector<double>> front;
    for (const std::size_t i : ParetoFront(rows)) front.push_back(rows[i]);
    return front;
  }
};

/// Of `<prefix>_cycles.csv` and `<prefix>_dram_bytes.csv`.
inline Result<TwoLandscapes> LoadTwo(const std::string& prefix) {
  auto cycles = Landscape::Load(prefix + "_cycles.csv");
  TW_RETURN_IF_ERROR(cycles);
  auto bytes = Landscape::Load(prefix + "_dram_bytes.csv");
  TW_RETURN_IF_ERROR(bytes);
  return TwoLandscapes{*std::move(cycles), *std::move(bytes)};
}

}  // namespace tilewright::search
