#pragma once

#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>

namespace tilewright::reference {

/// Returns the maximum distance between sin, cos or tan (`name`) of a value within `error` of x and
/// that of x. The ends of the interval do not bound it: it may be longer than a period, or contain
/// a pole.
inline double ErrorOfPeriodic(std::string_view name, double x, double error) {
  if (!(error > 0)) return 0;
  if (name != "tan") return std::fmin(error, 2);  // no slope of sin and cos is steeper than 1
  constexpr double kPi = std::numbers::pi, kInfinity = std::numeric_limits<double>::infinity();
  const double low = x - error, high = x + error;
  const bool one_branch = std::floor(low / kPi + 0.5) == std::floor(high / kPi + 0.5);
  if (!one_branch || !(error < kPi)) return kInfinity;
  return std::fmax(std::fabs(std::tan(low) - std::tan(x)), std::fabs(std::tan(high) - std::tan(x)));
}

}  // namespace tilewright::reference
