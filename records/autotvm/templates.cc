// Table of AutoTVM's templates and helpers of their definitions. Each definition repeats the knobs
// of the original in its order, because a config index depends on that order.

#include "records/autotvm/templates.h"

#include <algorithm>
#include <array>

namespace tilewright::records {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;

constexpr std::array kTemplates = {
    AutotvmTemplate{"add.vta", &ElementwisePackedVta},
    AutotvmTemplate{"batch_matmul.cuda", &BatchMatmulCuda},
    AutotvmTemplate{"conv1d_transpose_nchw.cuda", &Conv1dTransposeCuda},
    AutotvmTemplate{"conv2d_NCHWc.intel_graphics", &Conv2dIntelGraphics},
    AutotvmTemplate{"conv2d_NCHWc.x86", &Conv2dNchwcX86Space},
    AutotvmTemplate{"conv2d_nchw.cuda", &Conv2dNchwCuda},
    AutotvmTemplate{"conv2d_nchw_spatial_pack.arm_cpu", &SpatialPackArm},
    AutotvmTemplate{"conv2d_nchw_spatial_pack.mali", &SpatialPackMali},
    AutotvmTemplate{"conv2d_nchw_winograd.arm_cpu", &WinogradArm},
    AutotvmTemplate{"conv2d_nchw_winograd.cuda", &Conv2dWinogradCuda},
    AutotvmTemplate{"conv2d_nchw_winograd.image2d", &WinogradImage2d},
    AutotvmTemplate{"conv2d_nchw_winograd.mali", &WinogradMali},
    AutotvmTemplate{"conv2d_nchwc.image2d", &Conv2dImage2d},
    AutotvmTemplate{"conv2d_packed.vta", &Conv2dPackedVta},
    AutotvmTemplate{"conv2d_transpose_nchw.arm_cpu", &TransposeArm},
    AutotvmTemplate{"conv2d_transpose_nchw.cuda", &Conv2dTransposeCuda},
    AutotvmTemplate{"conv2d_transpose_packed.vta", &TransposePackedVta},
    AutotvmTemplate{"dense.mali", &DenseMali},
    AutotvmTemplate{"dense_nopack.x86", &DenseNopackX86Space},
    AutotvmTemplate{"dense_packed.vta", &DensePackedVta},
    AutotvmTemplate{"dense_small_batch.gpu", &DenseSmallBatchGpu},
    AutotvmTemplate{"depthwise_conv2d_nchw.arm_cpu", &DepthwiseArm},
    AutotvmTemplate{"depthwise_conv2d_nchw.cuda", &DepthwiseCuda},
    AutotvmTemplate{"depthwise_conv2d_nchw.mali", &DepthwiseMali},
    AutotvmTemplate{"depthwise_conv2d_nchwc.image2d", &DepthwiseImage2d},
    AutotvmTemplate{"group_conv2d_packed.vta", &GroupConv2dPackedVta},
    AutotvmTemplate{"multiply.vta", &ElementwisePackedVta},
};
static_assert(std::ranges::is_sorted(kTemplates, {}, &AutotvmTemplate::name));

Status Bad(const AutotvmTaskArguments& task, std::size_t i, const std::string& expected) {
  return InvalidArgument(std::string(task.task) + ": argument " + std::to_string(i) +
                         ": expected " + expected);
}

/// Reads `count` integers of argument i within [low, 2^31]; repeats them if there are fewer.
Result<std::vector<std::int64_t>> Numbers(const AutotvmTaskArguments& task, std::size_t i,
                                          std::size_t count, std::int64_t low) {
  std::vector<std::int64_t> numbers;
  if (i < task.args.size() && task.args[i].IsInts()) numbers = task.args[i].Ints();
  if (i < task.args.size() && task.args[i].is(AutotvmValue::Kind::kInt)) {
    numbers = {task.args[i].integer};
  }
  const bool in_range = std::ranges::all_of(
      numbers, [low](std::int64_t number) { return number >= low && number <= kMaxSize; });
  if (numbers.empty() || count % numbers.size() != 0 || !in_range) {
    return Bad(task, i, std::to_string(count) + " integers of at least " + std::to_string(low));
  }
  const std::size_t given = numbers.size();
  for (std::size_t j = given; j < count; ++j) numbers.push_back(numbers[j - given]);
  return numbers;
}

}  // namespace

Result<std::vector<std::int64_t>> AutotvmTensor(const AutotvmTaskArguments& task, std::size_t i,
                                                std::size_t rank) {
  // A tensor with a fourth item (a misplaced output padding) still has its sizes.
  const AutotvmValue* tensor = i < task.args.size() ? &task.args[i] : nullptr;
  const bool is_tensor = tensor != nullptr && tensor->items.size() >= 3 &&
                         tensor->items[0].text == "TENSOR" && tensor->items[1].IsInts();
  if (!is_tensor || tensor->items[1].items.size() != rank) {
    return Bad(task, i, "a tensor of " + std::to_string(rank) + " sizes");
  }
  std::vector<std::int64_t> sizes = tensor->items[1].Ints();
  for (std::int64_t size : sizes) {
    if (size < 1 || size > kMaxSize) return Bad(task, i, "sizes within 1 and 2^31");
  }
  return sizes;
}

Result<AutotvmConv> AutotvmConvolution(const AutotvmTaskArguments& task, bool depthwise) {
  TW_ASSIGN_OR_RETURN(auto data, AutotvmTensor(task, 0, 4));
  TW_ASSIGN_OR_RETURN(auto kernel, AutotvmTensor(task, 1, 4));
  TW_ASSIGN_OR_RETURN(auto strides, Numbers(task, 2, 2, 1));
  TW_ASSIGN_OR_RETURN(auto padding, Numbers(task, 3, 4, 0));
  TW_ASSIGN_OR_RETURN(auto dilation, Numbers(task, 4, 2, 1));
  const auto& d = data;
  const auto& k = kernel;
  const auto& p = padding;
  AutotvmConv conv{d[0], d[1], d[2], d[3], depthwise ? k[0] * k[1] : k[0], k[2], k[3], 0, 0};
  conv.oh = (conv.h + p[0] + p[2] - ((conv.kh - 1) * dilation[0] + 1)) / strides[0] + 1;
  conv.ow = (conv.w + p[1] + p[3] - ((conv.kw - 1) * dilation[1] + 1)) / strides[1] + 1;
  if (conv.oh < 1 || conv.ow < 1) return Bad(task, 1, "a kernel no larger than the padded data");
  return conv;
}

Result<AutotvmConv> AutotvmTransposed(const AutotvmTaskArguments& task, std::size_t rank) {
  TW_ASSIGN_OR_RETURN(auto data, AutotvmTensor(task, 0, rank));
  TW_ASSIGN_OR_RETURN(auto kernel, AutotvmTensor(task, 1, rank));
  const std::size_t axes = rank - 2;
  TW_ASSIGN_OR_RETURN(auto strides, Numbers(task, 2, axes, 1));
  TW_ASSIGN_OR_RETURN(auto padding, Numbers(task, 3, 2 * axes, 0));
  std::vector<std::int64_t> added(axes, 0);
  if (task.args.size() > 5) {
    TW_ASSIGN_OR_RETURN(added, Numbers(task, 5, axes, 0));
  }
  AutotvmConv conv;
  conv.n = data[0], conv.c = data[1], conv.k = kernel[1];
  const auto output = [&](std::size_t axis) {
    return (data[2 + axis] - 1) * strides[axis] - padding[axis] - padding[axis + axes] +
           kernel[2 + axis] + added[axis];
  };
  conv.w = data.back(), conv.kw = kernel.back(), conv.ow = output(axes - 1);
  if (axes == 2) conv.h = data[2], conv.kh = kernel[2], conv.oh = output(0);
  if (conv.oh < 1 || conv.ow < 1) return Bad(task, 3, "a padding smaller than the output");
  return conv;
}

AutotvmSpaceBuilder& AutotvmSpaceBuilder::Split(std::string name, std::int64_t extent, int parts,
                                                std::vector<Bounds> bounds) {
  if (!status_.ok()) return *this;
  auto knob = AutotvmKnob::Split(std::move(name), extent, parts, std::move(bounds));
  if (!knob.ok()) {
    status_ = knob.status();
    return *this;
  }
  return Add(*std::move(knob));
}

AutotvmSpaceBuilder& AutotvmSpaceBuilder::Other(std::string name,
                                                const std::vector<std::int64_t>& values) {
  return Add(AutotvmKnob::Other(std::move(name), values));
}

AutotvmSpaceBuilder& AutotvmSpaceBuilder::Add(AutotvmKnob knob) {
  space_.knobs.push_back(std::move(knob));
  return *this;
}

AutotvmSpaceBuilder& AutotvmSpaceBuilder::Filter(AutotvmFilter filter) {
  space_.filters.push_back(std::move(filter));
  return *this;
}

Result<AutotvmSpace> AutotvmSpaceBuilder::Done() && {
  TW_RETURN_IF_ERROR(status_);
  return std::move(space_);
}

void AddSpatialPackTail(AutotvmSpaceBuilder& builder) {
  // n, co, oh, ow, ci, kh, kw, vh, vw, vc in this order, or with vc before vh and vw.
  builder.Add(
      AutotvmKnob::List("reorder_0", KnobKind::kReorder,
                        {KnobValue{std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
                         KnobValue{std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 9, 7, 8}}}));
  builder.Add(AutotvmKnob::Annotate("ann_reduce", {"none", "unroll"}, 2));
  builder.Add(AutotvmKnob::Annotate("ann_spatial", {"none", "unroll", "vec"}, 3));
}

Result<AutotvmSpace> DefineAutotvmSpace(std::string_view task,
                                        const std::vector<AutotvmValue>& args, const Target& target,
                                        AutotvmEdition edition) {
  const auto* found = std::ranges::lower_bound(kTemplates, task, {}, &AutotvmTemplate::name);
  if (found == kTemplates.end() || found->name != task) {
    return Unsupported("no AutoTVM space is known for task '" + std::string(task) + "'");
  }
  const bool old_unroll = target.kind_name() == "rocm" || target.kind_name() == "nvptx";
  if (edition == AutotvmEdition::kOldUnroll && !old_unroll) {
    return Unsupported("no older space on target kind " + target.kind_name());
  }
  if (edition == AutotvmEdition::kVerbose && task != "conv2d_NCHWc.x86") {
    return Unsupported("no newer space of task '" + std::string(task) + "'");
  }
  return found->define({task, args, target, edition});
}

std::vector<std::string_view> AutotvmTemplates() {
  std::vector<std::string_view> names;
  for (const AutotvmTemplate& entry : kTemplates) names.push_back(entry.name);
  return names;
}

}  // namespace tilewright::records
