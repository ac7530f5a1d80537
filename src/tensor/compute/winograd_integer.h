#pragma once

#include <cstdint>
#include <string>

#include "src/tensor/compute/winograd.h"
#include "src/tensor/tensor.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Winograd's F(m, r) in integers: for data d and weights g,
///   output * ((weight * g) .* (data * d))
/// is exactly `scale` times the sums. In two dimensions it is scale^2 times them.
struct IntegerWinograd {
  WinogradMatrices matrices;  ///< of whole numbers
  std::int64_t scale = 1;     ///< twice an odd number

  /// Returns the inverse, modulo 2^32, of the odd part of scale^2. A sum modulo 2^32 is multiplied
  /// with it (modulo 2^32) and shifted right by kShift bits, arithmetically. The products may thus
  /// wrap around; only the result must be below 2^(31 - kShift).
  std::int32_t inverse() const;
  static constexpr int kShift = 2;  ///< scale^2 has this many factors of 2
};

/// The points are those of MakeWinogradMatrices, as fractions, so that only 2 x 2 of the
/// differences between them are even. m is 2 or 4 and r is 3.
IntegerWinograd MakeIntegerWinograd(std::int64_t m, std::int64_t r);

/// Returns the reason why 8-bit data and int8 weights cannot be multiplied in int16 and summed in
/// int32 with the exact result; empty if they can. F(4, 3) transforms data to at most 98 times and
/// weights to at most 225 times their largest magnitude, both within 16 bits; the result limits the
/// channels.
std::string IntegerWinogradRefusal(const Workload& workload, const ConvShape& shape);
/// Returns true if there are such transforms for tiles of m x m.
constexpr bool HasIntegerWinogradTiles(std::int64_t m) { return m == 2 || m == 4; }
/// Returns the number of input channels up to which the result stays within 29 bits and a sign.
std::int64_t MaxIntegerWinogradChannels(DataType data);

}  // namespace tilewright
