#include "src/graph/onnx/operators/quantized/quantized_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

// Operand of a sum: its integers minus the zero point (int32), and its scales.
struct Side {
  int value = -1;
  QuantizedValue quantized;
  double largest = 0;  // limit of the magnitude of `value`
};

Side SideOf(OnnxNode& node, const QuantizedValue& quantized) {
  const int value = EmitOffset(node, quantized);
  if (!node.ok()) return {};
  const int bits = node.TypeOf(quantized.id).dtype.bits;
  return {value, {value, quantized.quantization_params}, std::exp2(std::min(bits, 31))};
}

bool AreFinite(const Tensor& factors) {
  for (std::int64_t i = 0; i < factors.elements(); ++i) {
    if (!std::isfinite(factors.At(i)) || factors.At(i) == 0) return false;
  }
  return true;
}

void Negate(Tensor& factors) {
  for (float& factor : factors.As<float>()) factor = -factor;
}

// Emits (main * (its scale / the other's) +- other) * (the other's scale / the range's). The kernel
// that computes `main` reads the other operand directly from memory. The zero point of the other
// operand is subtracted first, which is exact; after the sum it would cancel digits that the sum
// has lost.
int FloatSum(OnnxNode& node, OpKind kind, const QuantizedValue& a, const QuantizedValue& b,
             const QuantizedRange& range) {
  const auto is_wide = [&](const QuantizedValue& quantized) {
    return node.TypeOf(quantized.id).dtype.bits > 16;
  };
  bool a_leads = a.id > b.id;
  if (is_wide(a) != is_wide(b)) a_leads = is_wide(a);
  if (!IsPerTensor(a) || !IsPerTensor(b)) a_leads = !IsPerTensor(a);
  const QuantizedValue &main = a_leads ? a : b, &other = a_leads ? b : a;
  const Side leading = SideOf(node, main);
  if (!node.ok()) return -1;
  const bool plain = IsPerTensor(other);
  const double unit =
      plain ? static_cast<double>(other.quantization_params.scales[0]) : range.scale;
  Tensor factors = FactorsOf(node, leading.quantized, unit);
  if (!AreFinite(factors)) return -1;
  const bool subtracts = kind == OpKind::kSub;
  if (subtracts && !a_leads) Negate(factors);
  const OpKind join = subtracts && a_leads ? OpKind::kSub : OpKind::kAdd;
  int sum = EmitRoundedProduct(node, leading.value, std::move(factors));
  if (!plain) {
    const Side following = SideOf(node, other);
    if (!node.ok()) return -1;
    Tensor others = FactorsOf(node, following.quantized, unit);
    if (!AreFinite(others)) return -1;
    const int product = EmitRoundedProduct(node, following.value, std::move(others));
    return EmitRounded(node, node.Emit(join, {sum, product}), range);
  }
  int addend = node.EmitCast(other.id, kFloat32);
  const auto zero = static_cast<double>(other.quantization_params.zero_point);
  if (zero != 0) addend = node.Emit(OpKind::kSub, addend, zero);
  sum = node.Emit(join, {sum, addend});
  const int factor = node.EmitScalar(kFloat32, unit / range.scale);
  return EmitRounded(node, node.Emit(OpKind::kMul, {sum, factor}), range);
}

// Returns the number of fraction bits of both factors such that the sum of the products fits in a
// signed integer of `bits`. `a` and `b` are the largest magnitudes of the products in steps of the
// result.
int CommonShift(double a, double b, int bits) {
  int exponent = 0;
  std::frexp(a + b, &exponent);
  return std::min(bits - 2 - exponent, bits - 2);
}

// Emits (left * its factors +- right * its factors, + 1/2) >> shift. Both factors have `shift`
// fraction bits.
int ShiftedSum(OnnxNode& node, OpKind kind, const Side& left, const Side& right, DataType dtype,
               const QuantizedRange& range) {
  const Tensor left_factors = FactorsOf(node, left.quantized, range.scale);
  const Tensor right_factors = FactorsOf(node, right.quantized, range.scale);
  const auto largest = [](const Tensor& factors) {
    double most = 0;
    for (std::int64_t i = 0; i < factors.elements(); ++i) most = std::max(most, factors.At(i));
    return most;
  };
  const int shift = CommonShift(left.largest * largest(left_factors),
                                right.largest * largest(right_factors), dtype.bits);
  if (shift < 1) return -1;
  const auto multiplied = [&](const Side& side, const Tensor& factors) {
    Tensor multipliers(TensorType{factors.shape(), dtype});
    for (std::int64_t i = 0; i < factors.elements(); ++i) {
      const auto multiplier =
          static_cast<std::int64_t>(std::llround(std::ldexp(factors.At(i), shift)));
      const auto at = static_cast<std::size_t>(i);
      if (dtype == kInt64) {
        multipliers.As<std::int64_t>()[at] = multiplier;
      } else {
        multipliers.As<std::int32_t>()[at] = static_cast<std::int32_t>(multiplier);
      }
    }
    const int wide = node.EmitCast(side.value, dtype);
    return node.Emit(OpKind::kMul, {wide, node.EmitConstant(std::move(multipliers))});
  };
  const int a = multiplied(left, left_factors), b = multiplied(right, right_factors);
  const int half = node.EmitScalar(dtype, std::exp2(shift - 1));
  const int sum = node.Emit(OpKind::kAdd, {node.Emit(kind, {a, b}), half});
  int rounded = node.Emit(OpKind::kShiftRight, {sum, node.EmitScalar(dtype, shift)});
  if (dtype == kInt64) {
    Operator clip{OpKind::kClip, {}};
    clip.attributes.a_max = std::exp2(30);  // a zero point is added to it in int32
    clip.attributes.a_min = -clip.attributes.a_max;
    rounded = node.EmitCast(node.Emit(clip, {rounded}), kInt32);
  }
  return EmitNarrowed(node, rounded, range);
}

}  // namespace

int EmitOffset(OnnxNode& node, const QuantizedValue& quantized) {
  if (node.TypeOf(quantized.id).dtype.is_float()) return quantized.id;
  const int wide = node.EmitCast(quantized.id, kInt32);
  const auto zero = static_cast<double>(quantized.quantization_params.zero_point);
  return zero == 0 ? wide : node.Emit(OpKind::kSub, {wide, node.EmitScalar(kInt32, zero)});
}

int EmitRoundedProduct(OnnxNode& node, int value, Tensor factors) {
  Operator bound{OpKind::kClip, {}};
  bound.attributes.a_min = static_cast<double>(std::numeric_limits<float>::lowest());
  bound.attributes.a_max = std::numeric_limits<double>::infinity();
  const int real = node.EmitCast(value, kFloat32);
  return node.Emit(bound, {node.Emit(OpKind::kMul, {real, node.EmitConstant(std::move(factors))})});
}

int EmitQuantizedSum(OnnxNode& node, OpKind kind, const QuantizedValue& a, const QuantizedValue& b,
                     const QuantizedRange& range) {
  if (!node.ok()) return -1;
  if (node.requantize() == Requantize::kByFloat) return FloatSum(node, kind, a, b, range);
  const Side left = SideOf(node, a), right = SideOf(node, b);
  if (!node.ok()) return -1;
  const auto is_narrow = [&](const QuantizedValue& quantized) {
    return IsPerTensor(quantized) && node.TypeOf(quantized.id).dtype.bits <= 8;
  };
  const DataType dtype = is_narrow(a) && is_narrow(b) ? kInt32 : kInt64;
  return ShiftedSum(node, kind, left, right, dtype, range);
}

}  // namespace tilewright
