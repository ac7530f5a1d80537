#include "src/report/knob_table.h"

#include <algorithm>
#include <cctype>

#include "src/report/statistics.h"

namespace tilewright::report {
namespace {

constexpr std::size_t kMaxPairs = 6;
constexpr double kMinPairShare = 0.005;  // a pair that explains less is omitted

/// Compares texts that contain numbers by their values: "[2,16]" before "[10,1]".
bool NaturalLess(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    std::size_t end_a = i, end_b = j;
    while (end_a < a.size() && digit(a[end_a])) ++end_a;
    while (end_b < b.size() && digit(b[end_b])) ++end_b;
    if (end_a - i != end_b - j) return end_a - i < end_b - j;
    if (const int order = a.compare(i, end_a - i, b, j, end_b - j); order != 0) return order < 0;
    i = end_a;
    j = end_b;
  }
  return a.size() - i < b.size() - j;
}

}  // namespace

std::vector<int> OrderedAxes::PlacesOf(std::vector<int> levels) const {
  for (std::size_t knob = 0; knob < levels.size(); ++knob) {
    levels[knob] = places[knob][static_cast<std::size_t>(levels[knob])];
  }
  return levels;
}

ConfigLevels::ConfigLevels(const Candidate& candidate) : key_(candidate.template_key) {
  for (const auto& [name, value] : candidate.config.values) names_.push_back(name);
  levels_.resize(names_.size());
}

bool ConfigLevels::Describes(const Candidate& candidate) const {
  return key_ == candidate.template_key && names_.size() == candidate.config.values.size() &&
         std::ranges::equal(names_, candidate.config.values, {}, {},
                            [](const auto& value) { return value.first; });
}

std::size_t ConfigLevels::Add(const Config& config) {
  std::vector<int> row;
  for (std::size_t knob = 0; knob < names_.size(); ++knob) {
    const auto next = static_cast<int>(levels_[knob].size());
    row.push_back(levels_[knob].emplace(config.values[knob].second.ToString(), next).first->second);
  }
  rows_.push_back(std::move(row));
  return rows_.size() - 1;
}

bool ConfigLevels::IsAt(std::size_t row, const Candidate& candidate) const {
  if (!Describes(candidate)) return false;
  for (std::size_t knob = 0; knob < names_.size(); ++knob) {
    const auto level = levels_[knob].find(candidate.config.values[knob].second.ToString());
    if (level == levels_[knob].end() || level->second != rows_[row][knob]) return false;
  }
  return true;
}

OrderedAxes ConfigLevels::OrderAxes() const {
  OrderedAxes ordered;
  for (std::size_t knob = 0; knob < names_.size(); ++knob) {
    KnobTable::Axis axis{names_[knob], {}};
    for (const auto& [text, level] : levels_[knob]) axis.values.push_back(text);
    std::ranges::sort(axis.values, NaturalLess);
    std::vector<int> places(axis.values.size());
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      places[static_cast<std::size_t>(levels_[knob].at(axis.values[i]))] = static_cast<int>(i);
    }
    ordered.axes.push_back(std::move(axis));
    ordered.places.push_back(std::move(places));
  }
  return ordered;
}

std::vector<KnobShare> ImportanceOf(const std::vector<KnobTable::Axis>& axes,
                                    const std::vector<std::vector<int>>& rows,
                                    const std::vector<double>& logs) {
  std::vector<KnobShare> single, pairs;
  std::vector<std::vector<int>> columns(axes.size());
  for (std::size_t knob = 0; knob < axes.size(); ++knob) {
    for (const auto& row : rows) columns[knob].push_back(row[knob]);
    if (axes[knob].values.size() < 2) continue;
    single.push_back(
        {axes[knob].name, "", ExplainedShare(columns[knob], axes[knob].values.size(), logs)});
  }
  const auto share_of = [&single](const std::string& name) {
    const auto found = std::ranges::find(single, name, &KnobShare::first);
    return found == single.end() ? 0 : found->share;
  };
  for (std::size_t a = 0; a < axes.size(); ++a) {
    for (std::size_t b = a + 1; b < axes.size(); ++b) {
      const std::size_t width = axes[b].values.size();
      if (axes[a].values.size() < 2 || width < 2) continue;
      std::vector<int> both(rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        both[i] = columns[a][i] * static_cast<int>(width) + columns[b][i];
      }
      const double more = ExplainedShare(both, axes[a].values.size() * width, logs) -
                          share_of(axes[a].name) - share_of(axes[b].name);
      if (more > kMinPairShare) pairs.push_back({axes[a].name, axes[b].name, more});
    }
  }
  const auto larger = [](const KnobShare& a, const KnobShare& b) { return a.share > b.share; };
  std::ranges::stable_sort(single, larger);
  std::ranges::stable_sort(pairs, larger);
  if (pairs.size() > kMaxPairs) pairs.resize(kMaxPairs);
  single.insert(single.end(), pairs.begin(), pairs.end());
  return single;
}

}  // namespace tilewright::report
