#include "src/compiler/plan/layout_costs.h"

#include <algorithm>
#include <bit>

#include "src/base/math.h"
#include "src/target/cpu.h"
#include "src/tensor/layout.h"
#include "src/tensor/operator_table.h"

namespace tilewright {
namespace {

// Measured on one core of a Zen 4 with 512-bit vectors (3.7 GHz), in the networks of bench/peers.
constexpr double kVectorsPerSecond = 3.4e9;  // multiply-adds of whole vectors by default configs
constexpr double kBytesPerSecond = 80e9;     // of operators without products: caches, mostly
constexpr double kMovedPerSecond = 40e9;     // of changes of layout
constexpr double kStartSeconds = 0.3e-6;     // a kernel's start; more to wake other threads
constexpr double kWakeSeconds = 1e-6;
constexpr double kTileShare = 0.125;       // time of AMX products over that of vectors of float32
constexpr std::int64_t kTileColumns = 16;  // results of a tile row

std::int64_t BytesIn(const TensorType& type, const PhysicalLayout& layouts) {
  const auto shape = MemoryShape(type, layouts);
  return shape.ok() ? Product(*shape) * type.dtype.bytes() : type.bytes();
}

std::int64_t ChannelBlockOf(const std::string& layout_text) {
  const auto layout = Layout::Parse(layout_text);
  return layout.ok() ? layout->BlockOf('C') : 1;
}

/// Returns true if the columns of images are neighbors in memory, so that vectors consist of them.
bool HasRowsOfColumns(const std::string& layout_text) {
  return layout_text.empty() || layout_text.ends_with("W");
}

/// Returns the vectors that a kernel on rows needs for a row of its result, relative to the vectors
/// that the row fills. A rest is computed by vectors of half the size, a quarter, …
double VectorsPerFull(const ConvShape& s, std::int64_t lanes) {
  const bool flat = s.r == 1 && s.s == 1 && s.stride_h == 1 && s.stride_w == 1 &&
                    s.pad_top + s.pad_left + s.pad_bottom + s.pad_right == 0;
  const std::int64_t row = flat ? s.oh * s.ow : s.ow;
  const auto rest = static_cast<std::uint64_t>(row % lanes);
  const std::int64_t vectors = row / lanes + std::popcount(rest);
  return static_cast<double>(vectors * lanes) / static_cast<double>(row);
}

/// Returns true if a concat or a slice needs no kernel (plan_parts.cc).
bool IsInPlace(const Graph& graph, const FusedGroup& group, const GroupKernel& kernel) {
  const OpKind kind = graph.node(group.output).op.kind;
  if (group.nodes.size() != 1 || (kind != OpKind::kConcat && kind != OpKind::kSlice)) return false;
  const OperatorListValue& value = kernel.operators.values().back();
  const std::vector<std::int64_t>& shape = value.type.shape;
  std::size_t outermost = 0;
  while (outermost + 1 < shape.size() && shape[outermost] == 1) ++outermost;
  if (kind == OpKind::kConcat) {
    return value.op->attributes.axis >= 0 &&
           static_cast<std::size_t>(value.op->attributes.axis) <= outermost;
  }
  if (kernel.inputs.size() != 1) return false;
  const std::vector<std::int64_t>& whole = kernel.inputs[0].shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (whole[i] != shape[i]) return i <= outermost;
  }
  return true;
}

/// Returns the factor by which an operator is slower than its bytes suggest, because of its layout.
double SlownessOf(const Graph& graph, const FusedGroup& group, const PhysicalLayout& layouts) {
  if (!HasRowsOfColumns(layouts.layout)) return 1;
  const Node& node = graph.node(group.nodes.front());
  const OpAttributes& own = node.op.attributes;
  const auto rank = static_cast<std::int64_t>(node.type.shape.size());
  // Neighbors in a row are read one by one.
  if (node.op.kind == OpKind::kGather) return own.axis == rank - 1 || own.axis == -1 ? 6 : 1;
  if (FamilyOf(node.op.kind) != OpFamily::kPool) return 1;
  // Windows along a row: neighbors overlap in memory, or are apart.
  return own.strides.size() == 2 && own.strides[1] > 1 ? 10 : 3;
}

}  // namespace

Result<LayoutCosts> LayoutCosts::For(const Target& target) {
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  return LayoutCosts(features, target.num_threads());
}

bool LayoutCosts::UsesTiles(const Workload& workload, const KernelLayouts& layouts) const {
  const bool has = workload.data.dtype == kBFloat16
                       ? features_.amx_bf16
                       : features_.amx_int8 && workload.data.dtype.bits == 8;
  return has && layouts.output == "NHWC";
}

double LayoutCosts::Anchor(const Workload& workload, const KernelLayouts& layouts) const {
  const auto shape = ConvShapeOf(workload);
  const int lanes = features_.float_lanes();
  double vectors = static_cast<double>(workload.macs()) / lanes;
  if (shape.ok()) {
    const ConvShape& s = *shape;
    const bool depthwise = s.groups > 1 && s.c == s.groups;
    const bool uses_tiles = UsesTiles(workload, layouts);
    if (uses_tiles) {
      vectors *=
          kTileShare * static_cast<double>(RoundUp(s.k, kTileColumns)) / static_cast<double>(s.k);
    } else if (HasRowsOfColumns(layouts.output)) {
      vectors *= VectorsPerFull(s, lanes);
      // Data of neighboring results that are not adjacent are read one by one.
      if (s.stride_w > 1) vectors *= 4;
      if (s.groups == 1) vectors *= 1.1;
    } else {
      const std::int64_t block = ChannelBlockOf(layouts.output);
      vectors *= static_cast<double>(RoundUp(s.k, block)) / static_cast<double>(s.k);
      if (block < lanes && !features_.double_pumped_512) {
        vectors *= static_cast<double>(lanes) / static_cast<double>(block);
      }
      // With several groups in one block, each vector of data is shuffled for each product.
      if (s.groups > 1 && !depthwise && s.k / s.groups < block) vectors *= 1.3;
    }
    if (layouts.winograd_tile > 0) vectors *= 0.45;
    if (workload.data.dtype == kBFloat16 && !layouts.multiply_dtype && !uses_tiles) vectors *= 0.5;
    // In rows the padding is copied.
    if (depthwise && HasRowsOfColumns(layouts.output)) vectors *= 1.25;
  }
  const double bytes = static_cast<double>(
      BytesIn(workload.data, {workload.data_layout, layouts.data}) + workload.weight.bytes());
  return kStartSeconds + (threads_ > 1 ? kWakeSeconds : 0) +
         std::max(vectors / kVectorsPerSecond, bytes / kBytesPerSecond) / threads_;
}

double LayoutCosts::Group(const Graph& graph, const FusedGroup& group, const GroupKernel& kernel,
                          const PhysicalLayout& layouts) const {
  if (IsInPlace(graph, group, kernel)) return 0;
  std::int64_t bytes = kernel.operators.result().bytes();
  for (const GroupInput& input : kernel.inputs) {
    bytes += Product(input.shape) * graph.node(input.node).type.dtype.bytes();
  }
  return kStartSeconds + (threads_ > 1 ? kWakeSeconds : 0) +
         static_cast<double>(bytes) * SlownessOf(graph, group, layouts) / kBytesPerSecond /
             threads_;
}

double LayoutCosts::Change(const TensorType& type, const PhysicalLayout& from,
                           const PhysicalLayout& to) const {
  // Padded blocks need a test for each element.
  const double slowness = IsRounded(type, to) ? 2.5 : 1;
  const auto bytes = slowness * static_cast<double>(BytesIn(type, from) + BytesIn(type, to));
  return kStartSeconds + (threads_ > 1 ? kWakeSeconds : 0) + bytes / kMovedPerSecond / threads_;
}

}  // namespace tilewright
