// Templates that have oneDNN compute the anchor and generate code for the epilogue. They reject
// workloads whose result may not be exact: without VNNI instructions the library's 8-bit products
// saturate, and some of its convolutions compute sums of integers by way of float32.

#include "src/templates/cpu/templates.h"

#include <vector>

#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/templates/library_stage.h"
#include "src/templates/space_values.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace library_cpu {
namespace {

std::string RefusesTarget(const Target& target) {
  if (!DeviceTraitsOf(target).machine_code) return "only CPUs";
  const std::string triple = target.Option("mtriple");
  if (!triple.empty() && !triple.starts_with("x86_64")) return "only x86-64";
  const auto features = FeaturesOf(target);
  if (!features.ok()) return features.status().message();
  return features->avx2 ? "" : "only with AVX2 or more";
}

/// Returns the reason why sums of products of these types may not be exact.
/// depth: products in a sum. through_float: the library may convert the sum to float32 and back.
std::string RefusesInexact(const Workload& w, const Target& target, std::int64_t depth,
                           bool through_float) {
  if (IsFloat32(w)) return "";
  if (!IsInt8(w)) return "only float32, or 8-bit summed in int32";
  const auto features = FeaturesOf(target);
  if (!features.ok() || !(features->avx512_vnni || features->avx_vnni)) {
    return "its 8-bit products saturate without VNNI instructions";
  }
  // Signed data are shifted by 128 to be unsigned, and the sum is converted before the shift is
  // undone.
  constexpr std::int64_t kLargest = 255, kLargestWeight = 128, kExactInFloat = 1 << 24;
  if (through_float && depth * kLargest * kLargestWeight > kExactInFloat) {
    return "its sums may go through float32, which does not hold all those of " +
           std::to_string(depth) + " products";
  }
  return "";
}

/// Layouts of data and result.
struct Arrangement {
  std::string name;
  std::string data, result;
  std::int64_t data_code = 0, result_code = 0;
};

/// Returns possible layouts of the convolution. The target's own block of channels, which the
/// generated code around it also uses, comes first. Groups of several channels cannot be padded to
/// whole blocks. For integers the library has fast code only with the channels innermost.
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
  TW_ASSIGN_OR_RETURN(auto shape, ConvShapeOf(w));
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  return ArrangementsOf(shape, features.float_lanes(), !IsFloat32(w));
}

struct Dnnl {
  static constexpr std::string_view kName = "dnnl";
  static std::string Refuses(const Workload& w, const Target& target) {
    if (std::string reason = RefusesTarget(target); !reason.empty()) return reason;
    // Version 2.6.3 multiplies matrices of unsigned data exactly, and those of signed data by way
    // of float32.
    return RefusesInexact(w, target, w.data.shape.back(), w.data.dtype != kUInt8);
  }
};

std::string Refuses(const Workload& w, const Target& target) {
  if (w.op != OpKind::kConv2d) return "only convolutions";
  if (!IsPlainNchw(w)) return "only NCHW data and OIHW weights";
  if (std::string reason = RefusesTarget(target); !reason.empty()) return reason;
  const auto shape = ConvShapeOf(w);
  if (!shape.ok()) return shape.status().message();
  return RefusesInexact(w, target, shape->c / shape->groups * shape->r * shape->s,
                        /*through_float=*/true);
}

constexpr KnobDoc kKnobs[] = {
    {"layout",
     "Layouts of data and result. `blocked`: channels in blocks of the target's vector lanes; "
     "`channels_last`: NHWC; `plain`: NCHW."},
};

Result<ConfigSpace> DefineSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto all, ArrangementsOf(w, target));
  std::vector<KnobValue> names;
  for (Arrangement& one : all) names.push_back(KnobValue{std::move(one.name)});
  return MakeSpace({Knob::Candidates("layout", KnobKind::kOther, std::move(names))});
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, DefineSpace(w, target));
  return space.At(0);
}

Result<Kernel> Apply(const Workload& w, const Epilogue& epilogue, const Target& target,
                     const Config& config) {
  TW_ASSIGN_OR_RETURN(auto all, ArrangementsOf(w, target));
  const KnobValue* layout = config.Find("layout");
  for (const Arrangement& one : all) {
    if (layout == nullptr || *layout != KnobValue{one.name}) continue;
    TwLibraryShape shape = ConvolutionCall(w);
    shape.data_layout = one.data_code, shape.result_layout = one.result_code;
    KernelLayouts layouts;
    layouts.data = one.data, layouts.output = one.result;
    return LibraryCallWithEpilogue(w, epilogue, target, layouts, Dnnl::kName, shape);
  }
  return InvalidArgument("no such layout: " + config.ToString());
}

}  // namespace
}  // namespace library_cpu

TemplateEntry Conv2dDnnlEntry() {
  using namespace library_cpu;
  return LoopTemplate("conv2d.dnnl", 1, "llvm", kKnobs, &Refuses, &DefineSpace, &DefaultConfig,
                      &Apply);
}

TemplateEntry DenseDnnlEntry() {
  using namespace library_cpu;
  return LibraryProducts<OpKind::kDense, Dnnl>("dense.dnnl", "llvm");
}

TemplateEntry BatchMatmulDnnlEntry() {
  using namespace library_cpu;
  return LibraryProducts<OpKind::kBatchMatmul, Dnnl>("batch_matmul.dnnl", "llvm");
}

}  // namespace tilewright
