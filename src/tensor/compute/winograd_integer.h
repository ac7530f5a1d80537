#pragma once

#include <cstdint>
#include <string>

#include "src/tensor/compute/winograd.h"
#include "src/tensor/tensor.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Winograd's F(m, r) in whole numbers: of data d and weights g
///   output * ((weight * g) .* (data * d))
/// is `scale` times the sums, exactly. In two dimensions it is scale^2 times them.
struct IntegerWinograd {
  WinogradMatrices matrices;  ///< of whole numbers
  std::int64_t scale = 1;     ///< twice an odd number

  /// What is left of a sum modulo 2^32 is multiplied with this (modulo 2^32: by the inverse of the
  /// odd part of scale^2) and shifted right by kShift bits, arithmetically. So the products may
  /// wrap around; the result has to be below 2^(31 - kShift) only.
  std::int32_t inverse() const;
  static constexpr int kShift = 2;  ///< scale^2 has this many factors of 2
};

/// The points are those of MakeWinogradMatrices, as fractions, so only 2 x 2 of the differences
/// between them are even; m is 2 or 4 and r is 3.
IntegerWinograd MakeIntegerWinograd(std::int64_t m, std::int64_t r);

/// Why 8-bit data and int8 weights cannot be multiplied so in int16, summed in int32, with the
/// exact result; empty if they can. Of F(4, 3) data are transformed to at most 98 times, weights to
/// at most 225 times their largest magnitude, both within 16 bits; the result limits the channels.
std::string IntegerWinogradRefusal(const Workload& workload, const ConvShape& shape);
/// Whether there are such transforms for tiles of m x m.
constexpr bool HasIntegerWinogradTiles(std::int64_t m) { return m == 2 || m == 4; }
/// Input channels up to which the result stays within 29 bits and a sign.
std::int64_t MaxIntegerWinogradChannels(DataType data);

}  // namespace tilewright
