#pragma once

#include <cstdint>
#include <optional>

namespace tilewright {

/// Number of positions of a tensor along an open spatial dimension, by the size of the dimension:
/// factor * floor((times * size + plus) / divide) + offset.
struct PositionCount {
  std::int64_t times = 1, plus = 0, divide = 1, factor = 1, offset = 0;

  std::int64_t At(std::int64_t size) const;
  /// Returns the positions that are added with `unit` sizes. Requires a multiple of `divide`.
  std::int64_t PerUnit(std::int64_t unit) const { return factor * times * (unit / divide); }

  /// Returns the count with `count` positions more.
  PositionCount Plus(std::int64_t count) const;
  /// Returns the number of windows of `extent` positions that begin `stride` positions apart. None
  /// if the form cannot state it.
  std::optional<PositionCount> Windows(std::int64_t extent, std::int64_t stride) const;
  /// Returns the count of a tensor with `count` positions for each one.
  PositionCount Times(std::int64_t count) const;
  /// Returns the count of a tensor with one position for `count`, exactly. None if that depends on
  /// the size.
  std::optional<PositionCount> DividedBy(std::int64_t count) const;

  friend bool operator==(const PositionCount&, const PositionCount&) = default;

 private:
  /// Returns the same function with as few terms as possible.
  PositionCount Canonical() const;
};

}  // namespace tilewright
