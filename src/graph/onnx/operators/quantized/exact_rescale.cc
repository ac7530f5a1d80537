// Requantization by ONNX's definition, or by one product that was verified for all integers.

#include "src/graph/onnx/operators/quantized/exact_rescale.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "src/graph/onnx/operators/quantized/quantized_sum.h"

namespace tilewright {
namespace {

constexpr float kUp = std::numeric_limits<float>::infinity();

// Number of neighbours of the nearest float that are tried as a factor.
constexpr int kNeighbours = 3;

std::vector<float> AndNeighbours(float factor) {
  std::vector<float> factors = {factor};
  float above = factor, below = factor;
  for (int i = 0; i < kNeighbours; ++i) {
    factors.push_back(above = std::nextafter(above, kUp));
    factors.push_back(below = std::nextafter(below, -kUp));
  }
  return factors;
}

// Returns all integers of a type minus the zero point.
std::vector<float> Offsets(DataType dtype, std::int64_t zero_point) {
  const std::int64_t count = std::int64_t{1} << dtype.bits;
  const std::int64_t least = dtype.code == TypeCode::kInt ? -count / 2 : 0;
  std::vector<float> offsets;
  for (std::int64_t i = 0; i < count; ++i) {
    offsets.push_back(static_cast<float>(least + i - zero_point));
  }
  return offsets;
}

// Returns the integer to which a quotient by the scale is quantized.
float Rounded(float quotient, const QuantizedRange& range) {
  const float number = std::nearbyint(quotient) + static_cast<float>(range.zero_point);
  return std::clamp(number, static_cast<float>(range.low), static_cast<float>(range.high));
}

// Returns a factor whose products quantize to the same integers as the definition for all offsets;
// nothing if no tried factor does, or if the limit of tries is reached.
std::optional<float> FactorOf(OnnxNode& node, const std::vector<float>& offsets, float from,
                              const QuantizedRange& range) {
  const auto to = static_cast<float>(range.scale);
  if (!node.ReserveTries(std::ssize(offsets))) return std::nullopt;
  std::vector<float> expected;
  expected.reserve(offsets.size());
  for (const float offset : offsets) expected.push_back(Rounded(offset * from / to, range));
  for (const float factor : AndNeighbours(from / to)) {
    if (!node.ReserveTries(std::ssize(offsets))) return std::nullopt;
    bool same = true;
    for (std::size_t i = 0; i < offsets.size() && same; ++i) {
      same = Rounded(offsets[i] * factor, range) == expected[i];
    }
    if (same) return factor;
  }
  return std::nullopt;
}

bool IsStored(OnnxNode& node, const QuantizedValue& quantized, int bits) {
  const DataType dtype = node.TypeOf(quantized.id).dtype;
  return dtype.is_integer() && dtype.bits <= bits;
}

bool IsFinite(const std::vector<float>& scales) {
  return std::ranges::all_of(scales, [](float scale) { return std::isfinite(scale) && scale > 0; });
}

// Results of the definition for all pairs of integers: a * its scale combined with b * its scale.
// Stored in memory, because a sum of products must not be contracted.
struct Pairs {
  OpKind kind = OpKind::kAdd;
  std::vector<float> a, b;            // integers minus their zero points
  std::vector<float> real_a, real_b;  // multiplied by their scales
  float scale_a = 1, scale_b = 1;

  std::int64_t count() const { return std::ssize(a) * std::ssize(b); }

  float Joined(float x, float y) const {
    if (kind == OpKind::kMul) return x * y;
    return kind == OpKind::kAdd ? x + y : x - y;
  }

  // Returns whether quotient(i, j) of every pair quantizes to the same integer as the definition.
  template <typename Quotient>
  bool Agree(const QuantizedRange& range, const Quotient& quotient) const {
    const auto scale = static_cast<float>(range.scale);
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t j = 0; j < b.size(); ++j) {
        const float expected = Joined(real_a[i], real_b[j]) / scale, given = quotient(i, j);
        if (given != expected && Rounded(given, range) != Rounded(expected, range)) return false;
      }
    }
    return true;
  }
};

Pairs PairsOf(OnnxNode& node, OpKind kind, const QuantizedValue& a, const QuantizedValue& b) {
  Pairs pairs{.kind = kind,
              .a = Offsets(node.TypeOf(a.id).dtype, a.quantization_params.zero_point),
              .b = Offsets(node.TypeOf(b.id).dtype, b.quantization_params.zero_point),
              .real_a = {},
              .real_b = {},
              .scale_a = a.quantization_params.scales[0],
              .scale_b = b.quantization_params.scales[0]};
  for (const float offset : pairs.a) pairs.real_a.push_back(offset * pairs.scale_a);
  for (const float offset : pairs.b) pairs.real_b.push_back(offset * pairs.scale_b);
  return pairs;
}

// Returns whether the caller's own implementation is exact.
bool ShortFormAgrees(const Pairs& pairs, bool a_leads, const QuantizedRange& range) {
  const auto scale = static_cast<float>(range.scale);
  if (pairs.kind == OpKind::kMul || pairs.scale_a == pairs.scale_b) {
    const float from = pairs.kind == OpKind::kMul ? pairs.scale_a * pairs.scale_b : pairs.scale_a;
    const float factor = from / scale;
    return pairs.Agree(range, [&](std::size_t i, std::size_t j) {
      return pairs.Joined(pairs.a[i], pairs.b[j]) * factor;
    });
  }
  // EmitQuantizedSum counts one side in steps of the other.
  const float unit = a_leads ? pairs.scale_b : pairs.scale_a;
  std::vector<float> leading = a_leads ? pairs.a : pairs.b;
  for (float& value : leading) value *= (a_leads ? pairs.scale_a : pairs.scale_b) / unit;
  const auto factor = static_cast<float>(static_cast<double>(unit) / range.scale);
  return pairs.Agree(range, [&](std::size_t i, std::size_t j) {
    return (a_leads ? pairs.Joined(leading[i], pairs.b[j]) : pairs.Joined(pairs.a[i], leading[j])) *
           factor;
  });
}

// Returns a factor that can replace the division by the scale; nothing as in FactorOf.
std::optional<float> ReciprocalOf(OnnxNode& node, const Pairs& pairs, const QuantizedRange& range) {
  for (const float factor : AndNeighbours(1 / static_cast<float>(range.scale))) {
    if (!node.ReserveTries(pairs.count())) return std::nullopt;
    const bool same = pairs.Agree(range, [&](std::size_t i, std::size_t j) {
      return pairs.Joined(pairs.real_a[i], pairs.real_b[j]) * factor;
    });
    if (same) return factor;
  }
  return std::nullopt;
}

}  // namespace

int EmitExactRescale(OnnxNode& node, const QuantizedValue& quantized, const QuantizedRange& range) {
  constexpr int kMaxBits = 16;
  if (!node.ok() || node.requantize() == Requantize::kByIntegers) return -1;
  if (!IsStored(node, quantized, kMaxBits) || !IsFinite(quantized.quantization_params.scales))
    return -1;
  const std::vector<float> offsets =
      Offsets(node.TypeOf(quantized.id).dtype, quantized.quantization_params.zero_point);
  Tensor factors = FactorsOf(node, quantized, range.scale);
  bool exact = true;
  std::map<float, std::optional<float>> found;  // channels may share a scale
  for (std::size_t i = 0; i < quantized.quantization_params.scales.size() && exact; ++i) {
    const float scale = quantized.quantization_params.scales[i];
    auto known = found.find(scale);
    if (known == found.end()) {
      known = found.emplace(scale, FactorOf(node, offsets, scale, range)).first;
    }
    const std::optional<float>& factor = known->second;
    exact = factor.has_value();
    if (exact) factors.As<float>()[i] = *factor;
  }
  const int value = EmitOffset(node, quantized);
  if (exact) return EmitRequantized(node, value, std::move(factors), range);
  const int scales = node.EmitConstant(FactorsOf(node, quantized, 1));
  const int real = node.Emit(OpKind::kMul, {node.EmitCast(value, kFloat32), scales});
  return EmitRounded(node, node.Emit(OpKind::kDiv, real, range.scale), range);
}

int EmitExactPair(OnnxNode& node, OpKind kind, const QuantizedValue& a, const QuantizedValue& b,
                  const QuantizedRange& range) {
  constexpr int kMaxBits = 8;
  if (!node.ok() || node.requantize() == Requantize::kByIntegers) return -1;
  for (const QuantizedValue* quantized : {&a, &b}) {
    if (!IsPerTensor(*quantized) || !IsStored(node, *quantized, kMaxBits)) return -1;
    if (!IsFinite(quantized->quantization_params.scales)) return -1;
  }
  const Pairs pairs = PairsOf(node, kind, a, b);
  if (node.ReserveTries(pairs.count()) && ShortFormAgrees(pairs, a.id > b.id, range)) return -1;
  const auto real = [&](const QuantizedValue& quantized) {
    return EmitRoundedProduct(node, EmitOffset(node, quantized), FactorsOf(node, quantized, 1));
  };
  const int real_a = real(a), real_b = real(b);
  const int joined = node.Emit(kind, {real_a, real_b});
  if (const auto factor = ReciprocalOf(node, pairs, range)) {
    const int scaled = node.Emit(OpKind::kMul, joined, static_cast<double>(*factor));
    return EmitRounded(node, scaled, range);
  }
  return EmitRounded(node, node.Emit(OpKind::kDiv, joined, range.scale), range);
}

}  // namespace tilewright
