// Resize and Upsample. Every mode is separable: along one dimension a result is a sum of a few
// input elements ("taps") times weights that depend only on the position. A dimension becomes one
// gather per tap with constant positions. Nearest neighbours need no weights, so they support all
// element types. With antialias the kernel of linear and cubic modes is as wide as the input
// elements that one output element covers; many taps are one product with a matrix.

#include <algorithm>
#include <cmath>

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

using Shape = std::vector<std::int64_t>;

// Resized dimension.
struct Stretch {
  std::size_t axis = 0;
  std::int64_t from = 0, to = 0;
  double scale = 1;
};

// Mapping of positions and interpolation of neighbours.
struct Method {
  std::string mode = "nearest", coordinates = "asymmetric", rounding = "floor";
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
};

struct Tap {
  Shape positions;
  std::vector<double> weights;
};

// Returns the fractional position in the input of position `to` of the output.
double Coordinate(const Method& method, const Stretch& s, std::int64_t to) {
  const auto x = static_cast<double>(to);
  const auto from = static_cast<double>(s.from);
  const double resized = from * s.scale;  // fractional output length, as in ONNX
  const double half_pixel = (x + 0.5) / s.scale - 0.5;
  if (method.coordinates == "asymmetric") return x / s.scale;
  if (method.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / s.scale;
  if (method.coordinates == "align_corners") {
    return s.to == 1 || resized == 1 ? 0 : x * (from - 1) / (resized - 1);
  }
  if (method.coordinates == "pytorch_half_pixel") return s.to == 1 ? 0 : half_pixel;
  if (method.coordinates == "half_pixel_symmetric") {
    return half_pixel + from / 2 * (1 - static_cast<double>(s.to) / resized);
  }
  return half_pixel;
}

double Nearest(const Method& method, double x) {
  if (method.rounding == "floor") return std::floor(x);
  if (method.rounding == "ceil") return std::ceil(x);
  return method.rounding == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

// Returns the weights of the elements around a position `fraction` after element 0: from element -1
// on for cubic modes (Keys' kernel), from element 0 on for linear ones.
std::vector<double> WeightsOf(const Method& method, double fraction) {
  if (method.mode == "linear") return {1 - fraction, fraction};
  const double a = method.cubic_a;
  const auto near = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [&](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + fraction), near(fraction), near(1 - fraction), far(2 - fraction)};
}

// Returns the extent of the kernel to either side of a position.
double ReachOf(const Method& method, const Stretch& s) {
  return (method.mode == "linear" ? 1 : 2) / std::min(s.scale, 1.0);
}

// Returns the weight of an element at `distance` from a position by the stretched kernel, before
// normalization.
double StretchedWeight(const Method& method, const Stretch& s, double distance) {
  const double d = std::fabs(distance) * std::min(s.scale, 1.0);
  if (method.mode == "linear") return std::max(1 - d, 0.0);
  const double a = method.cubic_a;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// Returns the elements that the kernel reaches and their weights. Elements outside of the input are
// replaced by the border element or, with exclude_outside, dropped.
std::vector<Tap> SmoothTapsOf(const Method& method, const Stretch& s) {
  const double reach = ReachOf(method, s);
  const auto count = static_cast<std::size_t>(2 * std::ceil(reach));
  std::vector<Tap> taps(count);
  for (std::int64_t to = 0; to < s.to; ++to) {
    const double x = Coordinate(method, s, to);
    const double first = std::floor(x) - std::ceil(reach) + 1;
    std::vector<double> weights;
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const double at = first + static_cast<double>(k);
      const bool outside = at < 0 || at > static_cast<double>(s.from - 1);
      const bool left_out = method.exclude_outside && outside;
      weights.push_back(left_out ? 0 : StretchedWeight(method, s, at - x));
      sum += weights.back();
      const double within = std::clamp(at, 0.0, static_cast<double>(s.from - 1));
      taps[k].positions.push_back(static_cast<std::int64_t>(within));
    }
    for (std::size_t k = 0; k < count; ++k) {
      taps[k].weights.push_back(sum == 0 ? 0 : weights[k] / sum);
    }
  }
  return taps;
}

// Emits the taps as a matrix [to, from] that multiplies the lines along the dimension.
int EmitByMatrix(OnnxNode& node, int data, const std::vector<Tap>& taps, const Stretch& s) {
  if (s.from * s.to > OnnxImport::kMaxConstantBytes / 8) {
    node.FailUnsupported("antialias from " + std::to_string(s.from) + " elements to " +
                         std::to_string(s.to) + ", expected a product of both of at most 2^25");
    return -1;
  }
  Tensor matrix(TensorType{{s.to, s.from}, node.TypeOf(data).dtype});
  std::vector<double> weights(static_cast<std::size_t>(matrix.elements()));
  for (const Tap& tap : taps) {
    for (std::size_t i = 0; i < tap.positions.size(); ++i) {
      weights[i * static_cast<std::size_t>(s.from) + static_cast<std::size_t>(tap.positions[i])] +=
          tap.weights[i];
    }
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    matrix.Set(static_cast<std::int64_t>(i), weights[i]);
  }
  const std::int64_t rank = node.Rank(data);
  Shape axes;
  for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i);
  std::swap(axes[s.axis], axes.back());
  const int turned = node.EmitTranspose(data, axes);
  if (!node.ok()) return -1;
  Shape shape = node.TypeOf(turned).shape;
  const int lines = node.EmitReshape(turned, {node.TypeOf(turned).elements() / s.from, s.from});
  const int made = EmitDense(node, lines, node.EmitConstant(std::move(matrix)), true);
  shape.back() = s.to;
  return node.EmitTranspose(node.EmitReshape(made, std::move(shape)), std::move(axes));
}

std::vector<Tap> TapsOf(const Method& method, const Stretch& s) {
  const auto last = static_cast<double>(s.from - 1);
  const auto within = [&](double x) { return static_cast<std::int64_t>(std::clamp(x, 0.0, last)); };
  std::vector<Tap> taps(method.mode == "nearest" ? 1 : method.mode == "linear" ? 2 : 4);
  for (std::int64_t to = 0; to < s.to; ++to) {
    const double x = Coordinate(method, s, to);
    if (method.mode == "nearest") {
      taps[0].positions.push_back(within(Nearest(method, x)));
      continue;
    }
    const double first = std::floor(x) - (method.mode == "cubic" ? 1 : 0);
    std::vector<double> weights = WeightsOf(method, x - std::floor(x));
    double sum = 0;
    for (std::size_t k = 0; k < taps.size(); ++k) {
      const double at = first + static_cast<double>(k);
      if (method.exclude_outside && (at < 0 || at > last)) weights[k] = 0;
      sum += weights[k];
      taps[k].positions.push_back(within(at));
    }
    for (std::size_t k = 0; k < taps.size(); ++k) {
      taps[k].weights.push_back(method.exclude_outside ? weights[k] / sum : weights[k]);
    }
  }
  return taps;
}

int EmitStretched(OnnxNode& node, int data, const Method& method, const Stretch& s) {
  constexpr std::size_t kMaxGathers = 12;  // from this number on, a product is faster
  const auto axis = static_cast<std::int64_t>(s.axis);
  int result = -1;
  const bool smooth = method.antialias && method.mode != "nearest" && s.scale < 1;
  if (smooth && ReachOf(method, s) * static_cast<double>(s.to) > 0x1p22) {
    node.FailUnsupported("antialias with a scale of " + std::to_string(s.scale) + " to " +
                         std::to_string(s.to) + " elements, expected fewer");
    return -1;
  }
  const std::vector<Tap> taps = smooth ? SmoothTapsOf(method, s) : TapsOf(method, s);
  if (taps.size() > kMaxGathers) return EmitByMatrix(node, data, taps, s);
  for (const Tap& tap : taps) {
    if (std::ranges::all_of(tap.weights, [](double w) { return w == 0; }) && !tap.weights.empty()) {
      continue;
    }
    int part = EmitPick(node, data, axis, tap.positions);
    if (!node.ok()) return -1;
    if (!tap.weights.empty()) {
      Shape shape(static_cast<std::size_t>(node.Rank(data) - axis), 1);
      shape[0] = s.to;
      Tensor weights(TensorType{shape, node.TypeOf(data).dtype});
      for (std::int64_t i = 0; i < s.to; ++i) {
        weights.Set(i, tap.weights[static_cast<std::size_t>(i)]);
      }
      part = node.Emit(OpKind::kMul, {part, node.EmitConstant(std::move(weights))});
    }
    result = result < 0 ? part : node.Emit(OpKind::kAdd, {result, part});
  }
  return result;
}

// Returns floats of an input or attribute, which must be constant at import.
std::vector<double> KnownScales(OnnxNode& node, int index) {
  const Tensor* contents = node.Known(index);
  if (!node.ok()) return {};
  if (contents == nullptr || !contents->dtype().is_float()) {
    node.FailUnknown(index, "must be a list of scales that is constant at import");
    return {};
  }
  std::vector<double> scales;
  for (std::int64_t i = 0; i < contents->elements(); ++i) scales.push_back(contents->At(i));
  return scales;
}

bool IsOneOf(const std::string& text, std::initializer_list<std::string_view> known) {
  return std::ranges::find(known, text) != known.end();
}

void CheckMethod(OnnxNode& node, const Method& method) {
  if (!IsOneOf(method.mode, {"nearest", "linear", "cubic"})) {
    return node.FailUnsupported("mode " + method.mode +
                                " is not supported, expected nearest, linear or cubic");
  }
  if (!IsOneOf(method.coordinates, {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                    "align_corners", "asymmetric", "tf_half_pixel_for_nn"})) {
    return node.FailUnsupported("coordinate_transformation_mode " + method.coordinates +
                                " is not supported");
  }
  if (!IsOneOf(method.rounding, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})) {
    return node.FailInvalid("attribute nearest_mode is " + method.rounding);
  }
  const TensorType type = node.InputType(0);
  if (node.ok() && method.mode != "nearest" && !type.dtype.is_float() &&
      (!type.dtype.is_integer() || type.dtype.bits > 32)) {
    node.FailUnsupported("input 0 is " + type.ToString() + ", mode " + method.mode +
                         " needs floats or integers of up to 32 bits");
  }
}

// Returns the dimensions by their scales, in the order of `axes`.
std::vector<Stretch> ByScales(OnnxNode& node, const std::vector<double>& scales,
                              const Shape& axes) {
  std::vector<Stretch> result;
  const Shape shape = node.InputType(0).shape;
  for (std::size_t i = 0; i < axes.size() && node.ok(); ++i) {
    Stretch s{static_cast<std::size_t>(axes[i])};
    s.from = shape[s.axis];
    s.scale = scales[i];
    const double size = std::floor(static_cast<double>(s.from) * s.scale);
    if (!(size >= 1 && size <= static_cast<double>(kMaxPicked))) {
      node.FailInvalid("scale " + std::to_string(s.scale) + " of " + std::to_string(s.from) +
                       " elements gives none, or more than " + std::to_string(kMaxPicked));
      break;
    }
    s.to = static_cast<std::int64_t>(size);
    result.push_back(s);
  }
  return result;
}

std::vector<Stretch> BySizes(OnnxNode& node, const Shape& sizes, const Shape& axes) {
  const std::string policy = node.String("keep_aspect_ratio_policy", "stretch");
  if (!IsOneOf(policy, {"stretch", "not_larger", "not_smaller"})) {
    node.FailInvalid("attribute keep_aspect_ratio_policy is " + policy);
  }
  std::vector<Stretch> result;
  const Shape shape = node.InputType(0).shape;
  for (std::size_t i = 0; i < axes.size() && node.ok(); ++i) {
    Stretch s{static_cast<std::size_t>(axes[i])};
    s.from = shape[s.axis];
    s.to = sizes[i];
    if (s.to < 1 || s.to > kMaxPicked) {
      node.FailInvalid("size " + std::to_string(s.to) + ", expected 1 to " +
                       std::to_string(kMaxPicked));
    }
    s.scale = static_cast<double>(s.to) / static_cast<double>(s.from);
    result.push_back(s);
  }
  if (policy == "stretch" || result.empty()) return result;
  const auto [least, most] = std::ranges::minmax_element(result, {}, &Stretch::scale);
  const double scale = policy == "not_larger" ? least->scale : most->scale;
  for (Stretch& s : result) {
    s.scale = scale;
    s.to = std::max<std::int64_t>(std::llround(scale * static_cast<double>(s.from)), 1);
    if (s.to > kMaxPicked) node.FailInvalid("keeping the aspect ratio makes a dimension too large");
  }
  return result;
}

// Truncates interpolated integers, as ONNX Runtime does. Overshoot of cubic weights saturates. Sums
// that differ from an integer only in the last bits, from rounding of the weights, count as
// integers.
int Truncated(OnnxNode& node, int value, DataType dtype) {
  const double slack = dtype.bits > 16 ? 0x1p-18 : dtype.bits > 8 ? 0x1p-5 : 0x1p-12;
  const int below = node.Emit(OpKind::kLess, value, 0);
  const int low = node.Emit(OpKind::kSub, value, slack);
  const int high = node.Emit(OpKind::kAdd, value, slack);
  int moved = node.Emit(OpKind::kWhere, {below, low, high});
  const bool sign = dtype.code != TypeCode::kUInt;
  Operator clip{OpKind::kClip, {}};
  clip.attributes.a_min = sign ? -std::exp2(dtype.bits - 1) : 0;
  clip.attributes.a_max = std::exp2(sign ? dtype.bits - 1 : dtype.bits) - 1;
  moved = node.Emit(clip, {moved});
  return node.EmitCast(moved, dtype);
}

// Rounds to an integer type, half up.
int Nearby(OnnxNode& node, int value, DataType dtype) {
  const bool sign = dtype.code != TypeCode::kUInt;
  Operator clip{OpKind::kClip, {}};
  clip.attributes.a_min = sign ? -std::exp2(dtype.bits - 1) : 0;
  clip.attributes.a_max = std::exp2(sign ? dtype.bits - 1 : dtype.bits) - 1;
  const int moved = node.Emit(OpKind::kAdd, value, 0.5);
  return node.Emit(clip, {node.Emit(OpKind::kFloor, {moved})});
}

// Antialiased integers are rounded after each dimension, starting with the last one, as ONNX
// Runtime does.
int EmitSmoothIntegers(OnnxNode& node, int data, const Method& method,
                       std::vector<Stretch> stretches, DataType dtype) {
  std::ranges::sort(stretches, std::ranges::greater(), &Stretch::axis);
  for (const Stretch& s : stretches) {
    if (!node.ok()) return -1;
    if (s.from == s.to && s.scale == 1) continue;
    data = Nearby(node, EmitStretched(node, data, method, s), dtype);
  }
  return node.EmitCast(data, dtype);
}

void ReturnStretched(OnnxNode& node, const Method& method, const std::vector<Stretch>& stretches) {
  CheckMethod(node, method);
  int result = node.Input(0);
  const DataType dtype = node.TypeOf(result).dtype;
  const bool mixes = method.mode != "nearest" && node.ok() && dtype.is_integer();
  if (mixes) result = node.EmitCast(result, dtype.bits > 16 ? kFloat64 : kFloat32);
  if (mixes && method.antialias) {
    return node.SetOutput(EmitSmoothIntegers(node, result, method, stretches, dtype));
  }
  for (const Stretch& s : stretches) {
    if (!node.ok()) return;
    if (s.from == s.to && s.scale == 1) continue;
    result = EmitStretched(node, result, method, s);
  }
  node.SetOutput(mixes ? Truncated(node, result, dtype) : result);
}

void CheckCount(OnnxNode& node, std::size_t seen, std::size_t expected) {
  if (seen == expected || !node.ok()) return;
  node.FailInvalid("has " + std::to_string(seen) + " scales or sizes, expected " +
                   std::to_string(expected));
}

Shape AllAxes(OnnxNode& node) {
  Shape axes;
  for (std::int64_t i = 0; i < node.Rank(node.Input(0)); ++i) axes.push_back(i);
  return axes;
}

// Only scales (an attribute in opset 7); positions start at the first element.
void ImportUpsample(OnnxNode& node) {
  if (node.op_type() == "Upsample" && node.opset() >= 10) {
    return node.FailInvalid("operator set " + std::to_string(node.opset()) +
                            " has no Upsample, expected Resize");
  }
  Method method;
  method.mode = node.String("mode", "nearest");
  const auto scales = node.opset() < 9 ? node.Floats("scales") : KnownScales(node, 1);
  const Shape axes = AllAxes(node);
  CheckCount(node, scales.size(), axes.size());
  if (node.ok()) ReturnStretched(node, method, ByScales(node, scales, axes));
}

// Inputs: data, roi (read only by a mode that is rejected), scales or sizes.
void ImportResize(OnnxNode& node) {
  if (node.opset() < 11) return ImportUpsample(node);
  node.IgnoreAttributes({"extrapolation_value"});  // for a mode that is rejected
  node.IgnoreInput(1);                             // region of this mode
  Method method;
  method.mode = node.String("mode", "nearest");
  method.coordinates = node.String("coordinate_transformation_mode", "half_pixel");
  method.rounding = node.String("nearest_mode", "round_prefer_floor");
  method.cubic_a = node.Float("cubic_coeff_a", -0.75);
  method.exclude_outside = node.Int("exclude_outside", 0) != 0;
  method.antialias = node.Int("antialias", 0) != 0;
  Shape axes = AllAxes(node);
  if (node.HasAttribute("axes")) {
    const std::int64_t rank = std::ssize(axes);
    axes = node.Ints("axes", {});
    for (std::int64_t& axis : axes) axis = node.Axis(axis, rank);
  }
  // Old exporters write the unused one as an empty list.
  const bool sized = node.HasInput(3) && node.InputType(3).elements() > 0;
  std::vector<Stretch> stretches;
  if (sized) {
    if (node.HasInput(2) && node.InputType(2).elements() > 0) {
      return node.FailInvalid("has scales and sizes, expected one of them");
    }
    const Shape sizes = node.KnownInts(3);
    CheckCount(node, sizes.size(), axes.size());
    if (node.ok()) stretches = BySizes(node, sizes, axes);
  } else {
    node.IgnoreAttributes({"keep_aspect_ratio_policy"});
    const std::vector<double> scales = KnownScales(node, 2);
    CheckCount(node, scales.size(), axes.size());
    if (node.ok()) stretches = ByScales(node, scales, axes);
  }
  if (node.ok()) ReturnStretched(node, method, stretches);
}

constexpr OnnxHandlerEntry kResizeHandlers[] = {
    {"Resize", &ImportResize},
    {"Upsample", &ImportUpsample},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxResizeHandlers() { return kResizeHandlers; }

}  // namespace tilewright
