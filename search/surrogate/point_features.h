#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/strategy.h"

namespace tilewright::search {

/// Numbers that describe a point to a surrogate model, from the values of its knobs alone.
///
/// A knob of numbers is its position among its values, scaled to 0..1: the list of values
/// chooses the scale. A long list of integers that mixes odd and even ones adds the power of two
/// that divides the value, because hardware prefers multiples of it. The parts of a split are
/// logarithms. Other knobs are categories, which are equal or not.
class PointFeatures {
 public:
  /// space: has to outlive the features.
  explicit PointFeatures(const SearchSpace& space);
  std::size_t count() const { return is_category_.size(); }
  /// Whether a feature is a category; false for numbers.
  const std::vector<bool>& is_category() const { return is_category_; }
  /// Number of knobs with several values.
  std::size_t knobs() const { return knobs_; }
  /// Appends the features of a point.
  void AppendTo(std::vector<float>& rows, Point point) const;

 private:
  /// Features of one knob: `width` numbers for each of its values, from feature `first` on.
  struct Knobs {
    std::size_t first = 0, width = 0;
    std::vector<float> of_value;
  };
  void AddKnob(const Knob& knob, bool ordered, std::vector<Knobs>& of_space);

  const SearchSpace& space_;
  std::vector<std::vector<Knobs>> tables_;  // of each space, in knob order
  std::vector<bool> is_category_;
  std::vector<float> absent_;  // a feature's value for points of other spaces
  std::size_t knobs_ = 0;
};

}  // namespace tilewright::search
