// Exact remainder of float64 numbers by long division. A digit of the quotient is rounded to the
// nearest integer of 24 bits, so the remainder is at most half of the divisor. Products of the
// digit with both halves of the divisor, of 27 and 26 bits, are exact. The differences are exact,
// too: they are multiples of the divisor's last bit, below 2^53 of these.
#include "src/graph/onnx/operators/exact_fmod.h"

#include <cmath>

namespace tilewright {

int EmitExactFmod(OnnxNode& node, int a, int b) {
  constexpr int kDigit = 24, kDigits = 88;  // quotients have up to 2^2098
  constexpr double kLarge = 0x1p600, kSmaller = 0x1p-200;
  const auto choose = [&](int condition, int yes, int no) {
    return node.Emit(OpKind::kWhere, {condition, yes, no});
  };
  const int dividend = node.Emit(OpKind::kAbs, {a}), whole = node.Emit(OpKind::kAbs, {b});
  const int one = node.EmitScalar(kFloat64, 1);
  // Computing the upper half of a large divisor would overflow, so large operands are scaled down.
  // A dividend below the divisor, which scaling could round, is already the remainder.
  const int large = node.Emit(OpKind::kLess, {node.EmitScalar(kFloat64, kLarge), whole});
  const int scale = choose(large, node.EmitScalar(kFloat64, kSmaller), one);
  const int divisor = node.Emit(OpKind::kMul, {whole, scale});
  int rest = node.Emit(OpKind::kMul, {dividend, scale});
  // Adding 2^26 times the divisor rounds it to 27 bits.
  const int shifted = node.Emit(OpKind::kMul, divisor, 0x1p26);
  const int upper = node.Emit(OpKind::kSub, {node.Emit(OpKind::kAdd, {shifted, divisor}), shifted});
  const int lower = node.Emit(OpKind::kSub, {divisor, upper});
  // Multiplies by a power of two in two steps, so that neither factor is out of the range of
  // float64.
  const auto scaled = [&](int id, int bits) {
    const int half = bits / 2;
    return node.Emit(OpKind::kMul, node.Emit(OpKind::kMul, id, std::exp2(half)),
                     std::exp2(bits - half));
  };
  for (int digit = kDigits - 1; digit >= 0; --digit) {
    const int bits = kDigit * digit;
    const int unit = scaled(divisor, bits);
    const int count = node.Emit(OpKind::kRoundEven, {node.Emit(OpKind::kDiv, {rest, unit})});
    const int high = node.Emit(OpKind::kMul, {count, scaled(upper, bits)});
    const int low = node.Emit(OpKind::kMul, {count, scaled(lower, bits)});
    const int left = node.Emit(OpKind::kSub, {node.Emit(OpKind::kSub, {rest, high}), low});
    // A scaled divisor out of the range has quotient 0.
    rest = choose(node.Emit(OpKind::kEqual, count, 0), rest, left);
  }
  const int below = node.Emit(OpKind::kLess, rest, 0);
  const int positive = choose(below, node.Emit(OpKind::kAdd, {rest, divisor}), rest);
  const int result = node.Emit(OpKind::kDiv, {positive, scale});
  const int smaller = node.Emit(OpKind::kLess, {dividend, whole});
  return choose(smaller, dividend, result);
}

}  // namespace tilewright
