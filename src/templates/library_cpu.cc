#include "src/templates/library_cpu.h"

#include <optional>

#include "src/base/math.h"
#include "src/target/library.h"
#include "src/templates/parts.h"

namespace tilewright {
namespace {

constexpr std::string_view kName = "dnnl";

std::string RefusesTarget(const Target& target) {
  const std::string triple = target.Option("mtriple");
  if (!triple.empty() && !triple.starts_with("x86_64")) return "only x86-64";
  const auto features = FeaturesOf(target);
  if (!features.ok()) return features.status().message();
  return features->avx2 ? "" : "only with AVX2 or more";
}

/// Why sums of products of these types may differ from the exact ones.
/// depth: products in a sum. through_float: the library converts the sum to float32 and back.
std::string RefusesTypes(const Workload& w, const Target& target, std::int64_t depth,
                         bool through_float) {
  if (IsFloat32(w)) return "";
  if (!IsInt8(w)) return "only float32, or 8-bit summed in int32";
  const auto features = FeaturesOf(target);
  if (!features.ok() || !(features->avx512_vnni || features->avx_vnni)) {
    return "its 8-bit products saturate without VNNI instructions";
  }
  const std::int64_t largest = w.data.dtype == kUInt8 ? 255 : 128;
  constexpr std::int64_t kLargestWeight = 128, kExactInFloat = 1 << 24;
  if (through_float && depth * largest * kLargestWeight > kExactInFloat) {
    return "its sums go through float32, which does not hold all those of " +
           std::to_string(depth) + " products";
  }
  return "";
}

std::int64_t TypeOf(DataType dtype) {
  if (dtype == kFloat32) return TW_LIBRARY_F32;
  if (dtype == kInt32) return TW_LIBRARY_S32;
  return dtype == kInt8 ? TW_LIBRARY_S8 : TW_LIBRARY_U8;
}

TwLibraryShape ShapeOf(const Workload& w, std::int64_t kind) {
  TwLibraryShape shape{};
  shape.kind = kind;
  shape.data_type = TypeOf(w.data.dtype);
  shape.weight_type = TypeOf(w.weight.dtype);
  shape.result_type = TypeOf(w.out_dtype);
  shape.n = shape.r = shape.s = shape.groups = shape.h = shape.w = shape.oh = shape.ow = 1;
  return shape;
}

/// The sum by the library, the rest by code for the target, with the whole sum in memory between.
Result<Kernel> CallThenRest(const Workload& w, const Epilogue& epilogue, const Target& target,
                            const AnchorForm& form, const TwLibraryShape& shape) {
  auto features = FeaturesOf(target);
  TW_RETURN_IF_ERROR(features);
  auto compute = DefineAnchor(w, epilogue, form);
  TW_RETURN_IF_ERROR(compute);
  Schedule s(*std::move(compute));
  const StageId sum = s.Stage("reduce");
  if (s.HasStage("pad")) s.ComputeInline(s.Stage("pad"));
  std::string operation = w.Key();
  if (!form.data.empty()) operation += " " + form.data + "->" + form.output;
  s.CallLibrary(sum, {std::string(FindLibrary(kName)->file), std::move(operation), shape});
  if (s.HasStage("output")) {
    ScheduleFlat(s, s.Stage("output"), features->float_lanes(), target);
  }
  TW_RETURN_IF_ERROR(s.status());
  return Kernel{std::move(s), form};
}

/// A way in which data and result lie in memory.
struct Arrangement {
  std::string name;
  std::string data, result;
  std::int64_t data_code = 0, result_code = 0;
};

/// Those of the convolution; the target's own block of channels first, which the generated code
/// around it has too. Groups of several channels can not be filled up to whole blocks. For integers
/// the library has fast code with the channels innermost only.
std::vector<Arrangement> ArrangementsOf(const ConvShape& shape, std::int64_t lanes, bool integers) {
  std::vector<Arrangement> all;
  const Arrangement last = {"channels_last", "NHWC", "NHWC", TW_LIBRARY_NHWC, TW_LIBRARY_NHWC};
  if (integers) return {last};
  const bool depthwise = shape.groups == shape.c && shape.groups == shape.k;
  const bool whole = shape.c % lanes == 0 && shape.k % lanes == 0;
  if (lanes >= TW_LIBRARY_BLOCKED_8 && (shape.groups == 1 || depthwise || whole)) {
    const std::string blocked = Blocked("NCHW", lanes, 'c');
    const bool few = shape.c < lanes && !depthwise;
    all.push_back({"blocked", few ? "NCHW" : blocked, blocked,
                   few ? std::int64_t{TW_LIBRARY_NCHW} : lanes, lanes});
  }
  all.push_back(last);
  all.push_back({"plain", "NCHW", "NCHW", TW_LIBRARY_NCHW, TW_LIBRARY_NCHW});
  return all;
}

Result<std::vector<Arrangement>> ArrangementsOf(const Workload& w, const Target& target) {
  auto shape = ConvShapeOf(w);
  TW_RETURN_IF_ERROR(shape);
  auto features = FeaturesOf(target);
  TW_RETURN_IF_ERROR(features);
  return ArrangementsOf(*shape, features->float_lanes(), !IsFloat32(w));
}

}  // namespace

std::string Conv2dDnnl::Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2d) return "only convolutions";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  if (std::string reason = RefusesTarget(target); !reason.empty()) return reason;
  const auto shape = ConvShapeOf(w);
  if (!shape.ok()) return shape.status().message();
  return RefusesTypes(w, target, shape->c / shape->groups * shape->r * shape->s,
                      /*through_float=*/true);
}

Result<ConfigSpace> Conv2dDnnl::DefineSpace(const Workload& w, const Target& target) {
  auto all = ArrangementsOf(w, target);
  TW_RETURN_IF_ERROR(all);
  std::vector<KnobValue> names;
  for (Arrangement& one : *all) names.push_back(KnobValue{std::move(one.name)});
  return MakeSpace({Knob::Candidates("layout", KnobKind::kOther, std::move(names))});
}

Result<Config> Conv2dDnnl::DefaultConfig(const Workload& w, const Target& target) {
  auto space = DefineSpace(w, target);
  TW_RETURN_IF_ERROR(space);
  return space->At(0);
}

Result<Kernel> Conv2dDnnl::Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                                 const Config& config) {
  auto all = ArrangementsOf(w, target);
  TW_RETURN_IF_ERROR(all);
  const KnobValue* layout = config.Find("layout");
  for (const Arrangement& one : *all) {
    if (layout == nullptr || *layout != KnobValue{one.name}) continue;
    const ConvShape c = *ConvShapeOf(w);
    TwLibraryShape shape = ShapeOf(w, TW_LIBRARY_CONVOLUTION);
    shape.constant_weight = 1;
    shape.data_layout = one.data_code, shape.result_layout = one.result_code;
    shape.n = c.n, shape.c = c.c, shape.h = c.h, shape.w = c.w;
    shape.k = c.k, shape.r = c.r, shape.s = c.s, shape.oh = c.oh, shape.ow = c.ow;
    shape.groups = c.groups;
    shape.stride_h = c.stride_h, shape.stride_w = c.stride_w;
    shape.dilation_h = c.dilation_h, shape.dilation_w = c.dilation_w;
    shape.pad_top = c.pad_top, shape.pad_left = c.pad_left;
    shape.pad_bottom = c.pad_bottom, shape.pad_right = c.pad_right;
    AnchorForm form;
    form.data = one.data, form.output = one.result;
    return CallThenRest(w, epilogue, target, form, shape);
  }
  return InvalidArgument("no such layout: " + config.ToString());
}

template <OpKind kOp>
std::string MatmulDnnl<kOp>::Refuses(const Workload& w, const Target& target) {
  const bool batched = kOp == OpKind::kBatchMatmul;
  if (w.op != kOp) return batched ? "only batch_matmul" : "only dense";
  if (w.data_layout != (batched ? "BMK" : "MK") || w.kernel_layout != (batched ? "BNK" : "NK")) {
    return "only rows of both operands";
  }
  if (batched && w.data.shape[0] != w.weight.shape[0]) return "only as many matrices of both";
  if (std::string reason = RefusesTarget(target); !reason.empty()) return reason;
  return RefusesTypes(w, target, w.data.shape.back(), /*through_float=*/false);
}

template <OpKind kOp>
Result<ConfigSpace> MatmulDnnl<kOp>::DefineSpace(const Workload&, const Target&) {
  return ConfigSpace();
}

template <OpKind kOp>
Result<Config> MatmulDnnl<kOp>::DefaultConfig(const Workload&, const Target&) {
  return ConfigSpace().At(0);
}

template <OpKind kOp>
Result<Kernel> MatmulDnnl<kOp>::Apply(const Workload& w, const Epilogue& epilogue,
                                      const Target& target, const Config&) {
  TwLibraryShape shape = ShapeOf(w, TW_LIBRARY_MATMUL);
  const std::size_t first = kOp == OpKind::kBatchMatmul ? 1 : 0;
  if (first == 1) shape.n = w.data.shape[0];
  shape.h = w.data.shape[first], shape.c = w.data.shape[first + 1];
  shape.k = w.weight.shape[first];
  shape.constant_weight = first == 0 ? 1 : 0;
  return CallThenRest(w, epilogue, target, AnchorForm(), shape);
}

template struct MatmulDnnl<OpKind::kDense>;
template struct MatmulDnnl<OpKind::kBatchMatmul>;

}  // namespace tilewright
