// AutoTVM's templates for convolutions and matrix products on packed tensors of a VTA, with its
// knobs, so that its records apply. The streams are the original compiler's, instruction by
// instruction. Layouts of convolutions: data and output NCHW<batch>n<block>c, weight
// OIHW<block>o<block>i (AutoTVM calls that of a transposed one IOHW); of matrix products: data
// MK<batch>m<block>k, weight NK<block>n<block>k.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "src/templates/space_values.h"
#include "src/templates/vta/alu_epilogue.h"
#include "src/templates/vta/packed_workload.h"
#include "src/templates/vta/templates.h"
#include "src/templates/vta/vta_target.h"
#include "src/vta/kernels/packed_conv2d.h"
#include "src/vta/kernels/packed_conv2d_transpose.h"
#include "src/vta/kernels/packed_dense.h"

namespace tilewright {
namespace packed_products_vta {
namespace {

/// Largest epilogue of a quantized network: a bias and a residual.
std::vector<vta::EpilogueStep> LargestEpilogue() {
  using Operand = vta::EpilogueStep::Operand;
  return {{vta::AluOp::kAdd, Operand::kPerChannel, 0}, {vta::AluOp::kAdd, Operand::kTensor, 0}};
}

using Scheduled = std::function<Result<vta::PackedOperator>(const Config& config)>;

/// Returns the config that loads the fewest bytes and can be built with the epilogue.
std::optional<Config> MinTrafficWith(const vta::Design& design, const ConfigSpace& space,
                                     const Scheduled& schedule,
                                     const std::vector<vta::EpilogueStep>& epilogue) {
  std::vector<std::tuple<bool, std::int64_t, std::int64_t>> order;
  for (std::int64_t index = 0; index < space.size(); ++index) {
    const auto op = schedule(space.At(index));
    if (!op.ok() || !vta::CheckPackedOperator(design, *op, epilogue).ok()) continue;
    order.emplace_back(op->tiles.threads() == 1, vta::LoadedBytes(design, *op), index);
  }
  std::ranges::sort(order);
  for (const auto& [single, bytes, index] : order) {
    Config config = space.At(index);
    const auto op = schedule(config);
    if (op.ok() && vta::BuildPackedOperator(design, *op, epilogue).ok()) return config;
  }
  return std::nullopt;
}

/// Returns the config that loads the fewest bytes with two virtual threads, so that loads run at
/// the same time as products; with one thread if no config with two is legal. It leaves room for a
/// bias and a residual unless no config does.
Config MinTrafficConfig(const vta::Design& design, const ConfigSpace& space,
                        const Scheduled& schedule) {
  for (const std::vector<vta::EpilogueStep>& epilogue : {LargestEpilogue(), {}}) {
    if (auto config = MinTrafficWith(design, space, schedule, epilogue)) return *std::move(config);
  }
  return space.At(0);
}

constexpr KnobDoc kConvKnobs[] = {
    {"tile_b", "Batch: tiles, images of one tile. Without effect."},
    {"tile_h", "Rows of the result: tiles, rows of one tile."},
    {"tile_w", "Columns of the result: tiles, columns of one tile."},
    {"tile_ci",
     "Input channel blocks of a group: steps, channel blocks that are loaded and multiplied at"
     " once."},
    {"tile_co", "Output channel blocks: tiles, channel blocks of one tile."},
    {"oc_nthread", "Virtual threads that share the tiles of output channels: 1 or 2."},
    {"h_nthread",
     "Virtual threads that share the tiles of rows: 1 or 2. At most one of oc_nthread and "
     "h_nthread may be 2."},
};

constexpr KnobDoc kDenseKnobs[] = {
    {"tile_b", "Rows of the result, in blocks: tiles, blocks of one tile."},
    {"tile_ci",
     "Products of one sum, in blocks: steps, blocks that are loaded and multiplied at once."},
    {"tile_co", "Columns of the result, in blocks: tiles, blocks of one tile."},
    {"oc_nthread", "Virtual threads that share the tiles of columns: 1 or 2."},
};

/// Returns the knobs of a convolution whose result has these sizes; channels count blocks.
Result<ConfigSpace> ConvSpace(std::int64_t batch, std::int64_t out_h, std::int64_t out_w,
                              std::int64_t ci, std::int64_t co) {
  return MakeSpace({Knob::Split("tile_b", batch, 2), Knob::Split("tile_h", out_h, 2),
                    Knob::Split("tile_w", out_w, 2), Knob::Split("tile_ci", ci, 2),
                    Knob::Split("tile_co", co, 2), Knob::Other("oc_nthread", {1, 2}),
                    Knob::Other("h_nthread", {1, 2})});
}

vta::PackedConv2dTiles ConvTiles(const Config& config) {
  return {.h = config.Factors("tile_h")[1],
          .w = config.Factors("tile_w")[1],
          .ci = config.Factors("tile_ci")[1],
          .co = config.Factors("tile_co")[1],
          .oc_threads = config.Integer("oc_nthread"),
          .h_threads = config.Integer("h_nthread")};
}

/// Convolutions of one group.
struct Convolution {
  static constexpr std::span<const KnobDoc> kKnobs = kConvKnobs;
  static Result<vta::PackedConv2d> ShapeOf(const vta::Design& design, const Workload& workload) {
    return PackedConv2dOf(design, workload);
  }
  static Result<ConfigSpace> Space(const vta::PackedConv2d& conv) {
    return ConvSpace(conv.batch, conv.out_height(), conv.out_width(), conv.ci, conv.co);
  }
  static Result<vta::PackedOperator> Schedule(const vta::PackedConv2d& conv, const Config& config) {
    return vta::SchedulePackedConv2d(conv, ConvTiles(config));
  }
};

/// Convolutions of several groups of whole blocks. A tile of results has whole groups, or part of
/// one.
struct GroupConvolution : Convolution {
  static Result<vta::PackedConv2d> ShapeOf(const vta::Design& design, const Workload& workload) {
    return PackedGroupConv2dOf(design, workload);
  }
};

/// Transposed convolutions.
struct TransposedConvolution {
  using Shape = vta::PackedConv2dTranspose;
  static constexpr std::span<const KnobDoc> kKnobs = kConvKnobs;
  static Result<Shape> ShapeOf(const vta::Design& design, const Workload& workload) {
    if (workload.op != OpKind::kConv2dTranspose || workload.groups != 1) {
      return Unsupported("expected a transposed convolution of one group");
    }
    TW_ASSIGN_OR_RETURN(auto shape, PackedConvShapeOf(design, workload));
    if (shape.r < shape.stride_h || shape.s < shape.stride_w) {
      return Unsupported("expected a kernel that is not smaller than the strides");
    }
    if (shape.pad_top >= shape.r || shape.pad_left >= shape.s) {
      return Unsupported("expected a padding smaller than the kernel");
    }
    auto conv = InBlocks<Shape>(design, shape);
    conv.out_height = shape.oh;
    conv.out_width = shape.ow;
    return conv;
  }
  static Result<ConfigSpace> Space(const Shape& conv) {
    return ConvSpace(conv.batch, conv.out_height, conv.out_width, conv.ci, conv.co);
  }
  static Result<vta::PackedOperator> Schedule(const Shape& conv, const Config& config) {
    return vta::SchedulePackedConv2dTranspose(conv, ConvTiles(config));
  }
};

struct MatrixProduct {
  static constexpr std::span<const KnobDoc> kKnobs = kDenseKnobs;
  static Result<vta::PackedDense> ShapeOf(const vta::Design& design, const Workload& workload) {
    if (workload.op != OpKind::kDense) return Unsupported("expected a matrix product");
    TW_RETURN_IF_ERROR(CheckPackedOperands(design, workload,
                                           fmt::format("MK{}m{}k", design.batch(), design.block()),
                                           fmt::format("NK{0}n{0}k", design.block())));
    return vta::PackedDense{.batch = workload.data.shape[0],
                            .ci = workload.data.shape[1],
                            .co = workload.weight.shape[0]};
  }
  static Result<ConfigSpace> Space(const vta::PackedDense& dense) {
    return MakeSpace({Knob::Split("tile_b", dense.batch, 2), Knob::Split("tile_ci", dense.ci, 2),
                      Knob::Split("tile_co", dense.co, 2), Knob::Other("oc_nthread", {1, 2})});
  }
  static Result<vta::PackedOperator> Schedule(const vta::PackedDense& dense, const Config& config) {
    return vta::SchedulePackedDense(dense, {.b = config.Factors("tile_b")[1],
                                            .ci = config.Factors("tile_ci")[1],
                                            .co = config.Factors("tile_co")[1],
                                            .oc_threads = config.Integer("oc_nthread")});
  }
};

// The functions of a template for one of these operators.

template <typename Op>
std::string Refuses(const Workload& workload, const Target& target) {
  const auto vta = VtaTargetOf(target);
  if (!vta.ok()) return vta.status().message();
  return Op::ShapeOf(vta->design, workload).status().message();
}

template <typename Op>
Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto vta, VtaTargetOf(target));
  TW_ASSIGN_OR_RETURN(const auto shape, Op::ShapeOf(vta.design, workload));
  return Op::Space(shape);
}

template <typename Op>
Result<Config> DefaultConfig(const Workload& workload, const Target& target) {
  TW_ASSIGN_OR_RETURN(const auto vta, VtaTargetOf(target));
  TW_ASSIGN_OR_RETURN(const auto shape, Op::ShapeOf(vta.design, workload));
  TW_ASSIGN_OR_RETURN(const auto space, Op::Space(shape));
  return MinTrafficConfig(vta.design, space,
                          [&](const Config& config) { return Op::Schedule(shape, config); });
}

template <typename Op>
Result<vta::Stream> BuildStream(const Workload& workload, const Epilogue& epilogue,
                                const Target& target, const Config& config) {
  TW_ASSIGN_OR_RETURN(const auto vta, VtaTargetOf(target));
  TW_ASSIGN_OR_RETURN(const auto shape, Op::ShapeOf(vta.design, workload));
  TW_ASSIGN_OR_RETURN(const auto steps, VtaEpilogueOf(vta.design, epilogue));
  TW_ASSIGN_OR_RETURN(const auto op, Op::Schedule(shape, config));
  return vta::BuildPackedOperator(vta.design, op, steps.steps);
}

template <typename Op>
TemplateEntry EntryFor(std::string_view key) {
  return {key,
          1,
          "vta",
          Op::kKnobs,
          &Refuses<Op>,
          &DefineSpace<Op>,
          &DefaultConfig<Op>,
          nullptr,
          &BuildStream<Op>};
}

}  // namespace
}  // namespace packed_products_vta

TemplateEntry Conv2dPackedVtaEntry() {
  using namespace packed_products_vta;
  return EntryFor<Convolution>("conv2d_packed.vta");
}
TemplateEntry GroupConv2dPackedVtaEntry() {
  using namespace packed_products_vta;
  return EntryFor<GroupConvolution>("group_conv2d_packed.vta");
}
TemplateEntry Conv2dTransposePackedVtaEntry() {
  using namespace packed_products_vta;
  return EntryFor<TransposedConvolution>("conv2d_transpose_packed.vta");
}
TemplateEntry DensePackedVtaEntry() {
  using namespace packed_products_vta;
  return EntryFor<MatrixProduct>("dense_packed.vta");
}

}  // namespace tilewright
