#pragma once

#include <string>
#include <utility>
#include <vector>

#include "search/recorded/recorded_space.h"
#include "search/strategies/fronts.h"
#include "src/space/pareto_front.h"

namespace tilewright::search {

/// Two recordings of one space, by two metrics.
struct TwoRecordedSpaces {
  RecordedSpace first, second;

  std::vector<double> ValuesOf(Point point) const {
    return {first.Find(point)->value, second.Find(point)->value};
  }
  Observation At(Point point) const {
    Observation observed{point, Outcome::kOk, first.Find(point)->value};
    observed.values = ValuesOf(point);
    return observed;
  }
  /// Returns the values on the front of the whole space.
  std::vector<std::vector<double>> Exhaustive() const {
    std::vector<std::vector<double>> rows;
    for (const RecordedSpace::Row& row : first.rows) rows.push_back(ValuesOf(row.point));
    return FrontRows(rows);
  }
  static std::vector<std::vector<double>> FrontRows(const std::vector<std::vector<double>>& rows) {
    std::vector<std::vector<double>> front;
    for (const std::size_t i : ParetoFront(rows)) front.push_back(rows[i]);
    return front;
  }
};

/// Reads `<prefix>_cycles.csv` and `<prefix>_dram_bytes.csv`.
inline Result<TwoRecordedSpaces> LoadTwo(const std::string& prefix) {
  auto cycles = RecordedSpace::Load(prefix + "_cycles.csv");
  TW_RETURN_IF_ERROR(cycles);
  auto bytes = RecordedSpace::Load(prefix + "_dram_bytes.csv");
  TW_RETURN_IF_ERROR(bytes);
  return TwoRecordedSpaces{*std::move(cycles), *std::move(bytes)};
}

}  // namespace tilewright::search
