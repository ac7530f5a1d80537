#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "src/report/document.h"
#include "src/space/trial.h"

namespace tilewright::report {

/// Axes of a template's knobs, with the values in natural order.
struct OrderedAxes {
  std::vector<KnobTable::Axis> axes;
  std::vector<std::vector<int>> places;  ///< of each level of a knob on its axis

  /// Returns the positions on the axes of a row of levels.
  std::vector<int> PlacesOf(std::vector<int> levels) const;
};

/// Configs of one template as rows of levels. The level of a knob's value is its number in the
/// order of appearance.
class ConfigLevels {
 public:
  explicit ConfigLevels(const Candidate& candidate);
  /// Returns whether a candidate has this template and these knobs.
  bool Describes(const Candidate& candidate) const;
  /// Adds a config of such a candidate; returns the number of its row.
  std::size_t Add(const Config& config);
  /// Returns whether a row is the config of a candidate.
  bool IsAt(std::size_t row, const Candidate& candidate) const;
  OrderedAxes OrderAxes() const;

  const std::string& key() const { return key_; }
  const std::vector<int>& row(std::size_t number) const { return rows_[number]; }

 private:
  std::string key_;
  std::vector<std::string> names_;                  // of knobs
  std::vector<std::map<std::string, int>> levels_;  // of each knob, by the value's text
  std::vector<std::vector<int>> rows_;
};

/// Returns the knobs, then the pairs of knobs, by the share of log(value) that they explain. rows:
/// positions on the axes. logs: log(value) of each row.
std::vector<KnobShare> ImportanceOf(const std::vector<KnobTable::Axis>& axes,
                                    const std::vector<std::vector<int>>& rows,
                                    const std::vector<double>& logs);

}  // namespace tilewright::report
