#include "src/tensor/compute/winograd_integer.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "src/base/status.h"

namespace tilewright {
namespace {

struct Fraction {  // x / y; the last point is infinity
  std::int64_t x, y;
};
// Every point is 0, 1 or infinity modulo 2, each of them twice. So the divisor of a point's row has
// only one even factor, which is no multiple of 4.
constexpr std::array<Fraction, 5> kFractions = {{{0, 1}, {1, 1}, {-1, 1}, {1, 2}, {-2, 1}}};

std::vector<Fraction> PointsOf(std::int64_t window) {
  std::vector<Fraction> points(kFractions.begin(), kFractions.begin() + window - 1);
  points.push_back({1, 0});
  return points;
}

std::int64_t IntegerPower(std::int64_t base, std::int64_t exponent) {
  std::int64_t power = 1;
  for (std::int64_t i = 0; i < exponent; ++i) power *= base;
  return power;
}

/// Returns x^i * y^(degree - i).
std::int64_t Monomial(const Fraction& p, std::int64_t i, std::int64_t degree) {
  return IntegerPower(p.x, i) * IntegerPower(p.y, degree - i);
}

/// Returns the product of (y_k x - x_k y) over all points but one, which vanishes at them; by
/// powers of x.
std::vector<std::int64_t> VanishingAtOthers(const std::vector<Fraction>& points,
                                            std::size_t left_out) {
  std::vector<std::int64_t> product = {1};
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (k == left_out) continue;
    std::vector<std::int64_t> next(product.size() + 1, 0);
    for (std::size_t i = 0; i < product.size(); ++i) {
      next[i + 1] += points[k].y * product[i];
      next[i] -= points[k].x * product[i];
    }
    product = std::move(next);
  }
  return product;
}

}  // namespace

IntegerWinograd MakeIntegerWinograd(std::int64_t m, std::int64_t r) {
  const std::int64_t window = m + r - 1;
  TW_CHECK(window >= 2 && window <= static_cast<std::int64_t>(kFractions.size()) + 1);
  const std::vector<Fraction> points = PointsOf(window);
  IntegerWinograd whole;
  std::vector<std::int64_t> divisors;
  for (std::size_t j = 0; j < points.size(); ++j) {
    const std::vector<std::int64_t> row = VanishingAtOthers(points, j);
    std::int64_t at_point = 0;
    for (std::int64_t i = 0; i < window; ++i) {
      at_point += row[static_cast<std::size_t>(i)] * Monomial(points[j], i, window - 1);
    }
    divisors.push_back(at_point);
    whole.scale = std::lcm(whole.scale, std::abs(at_point));
    whole.matrices.data.emplace_back(row.begin(), row.end());
  }
  for (std::size_t j = 0; j < points.size(); ++j) {
    std::vector<double>& row = whole.matrices.weight.emplace_back();
    for (std::int64_t k = 0; k < r; ++k) {
      row.push_back(static_cast<double>(Monomial(points[j], k, r - 1) * whole.scale / divisors[j]));
    }
  }
  for (std::int64_t i = 0; i < m; ++i) {
    std::vector<double>& row = whole.matrices.output.emplace_back();
    for (const Fraction& point : points) {
      row.push_back(static_cast<double>(Monomial(point, i, m - 1)));
    }
  }
  return whole;
}

std::int32_t IntegerWinograd::inverse() const {
  const auto odd = static_cast<std::uint32_t>((scale * scale) >> kShift);
  TW_CHECK(odd % 2 == 1);
  // Each step doubles the number of right bits: odd * odd is 1 modulo 8.
  std::uint32_t inverse = odd;
  for (int bits = 3; bits < 32; bits *= 2) inverse *= 2 - odd * inverse;
  return static_cast<std::int32_t>(inverse);
}

std::int64_t MaxIntegerWinogradChannels(DataType data) {
  constexpr std::int64_t kTaps = 9, kLargestWeight = 128;
  const std::int64_t largest = data == kUInt8 ? 255 : 128;
  constexpr std::int64_t kLargestResult = (std::int64_t{1} << (31 - IntegerWinograd::kShift)) - 1;
  return kLargestResult / (kTaps * kLargestWeight * largest);
}

std::string IntegerWinogradRefusal(const Workload& w, const ConvShape& shape) {
  const bool bytes = (w.data.dtype == kUInt8 || w.data.dtype == kInt8) && w.weight.dtype == kInt8 &&
                     w.out_dtype == kInt32;
  if (!bytes) return "only 8-bit data and int8 weights summed in int32";
  if (shape.r != 3 || shape.s != 3) return "only kernels of 3 x 3";
  if (shape.c % 2 != 0) return "only an even number of input channels";
  if (const std::int64_t most = MaxIntegerWinogradChannels(w.data.dtype); shape.c > most) {
    return fmt::format("{} input channels, whose sums are exact up to {}", shape.c, most);
  }
  return "";
}

}  // namespace tilewright
