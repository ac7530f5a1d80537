// AutoTVM's templates for x86, arm_cpu and vta (reference: 12.7-12.12, 12.18-12.20).

#include <algorithm>

#include "records/autotvm/python_set.h"
#include "records/autotvm/templates.h"
#include "src/base/math.h"

namespace tilewright::records {
namespace {

constexpr std::int64_t kMaxOwTile = 64;

/// Returns divisors and powers of two up to a limit, as "verbose" lists them.
std::vector<std::int64_t> VerboseFactors(std::int64_t extent, std::int64_t limit) {
  std::vector<std::int64_t> divisors, powers;
  for (std::int64_t d = 1; d <= extent; ++d) {
    if (extent % d == 0) divisors.push_back(d);
  }
  for (std::int64_t p = 1; p <= extent; p *= 2) powers.push_back(p);
  std::vector<std::int64_t> factors =
      PythonSet::Union(PythonSet(divisors), PythonSet(powers)).Members();
  std::erase_if(factors, [limit](std::int64_t f) { return f > limit; });
  return factors;
}

/// Space of a packed convolution: data N/b C/c H W b c, kernel O/c I/c KH KW c c.
Result<AutotvmSpace> PackedSpace(const AutotvmTaskArguments& task, bool transposed) {
  TW_ASSIGN_OR_RETURN(auto data, AutotvmTensor(task, 0, 6));
  TW_ASSIGN_OR_RETURN(auto kernel, AutotvmTensor(task, 1, 6));
  // The same arguments with four-dimensional tensors give the output's size.
  const auto plain = [](const std::vector<std::int64_t>& sizes) {
    AutotvmValue list = AutotvmValue::List({});
    for (std::size_t i = 0; i < 4; ++i) list.items.push_back(AutotvmValue::Int(sizes[i]));
    return AutotvmValue::List({AutotvmValue::Text("TENSOR"), list, AutotvmValue::Text("")});
  };
  std::vector<AutotvmValue> args = task.args;
  args[0] = plain(data);
  args[1] = plain(kernel);
  const AutotvmTaskArguments unpacked{task.task, args, task.target, task.edition};
  TW_ASSIGN_OR_RETURN(
      auto conv, transposed ? AutotvmTransposed(unpacked, 4) : AutotvmConvolution(unpacked, false));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_b", conv.n, 2).Split("tile_h", conv.oh, 2).Split("tile_w", conv.ow, 2);
  // Groups: input channels of one group.
  builder.Split("tile_ci", transposed ? conv.c : kernel[1], 2);
  builder.Split("tile_co", kernel[0], 2);
  builder.Other("oc_nthread", {1, 2}).Other("h_nthread", {1, 2});
  return std::move(builder).Done();
}

}  // namespace

Result<AutotvmSpace> Conv2dNchwcX86Space(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmConvolution(task, false));
  constexpr std::int64_t kLongest = 1 << 20;  // VerboseFactors is linear in the size
  if (conv.ow > kLongest) return InvalidArgument("conv2d_NCHWc.x86: output wider than 2^20");
  AutotvmSpaceBuilder builder;
  builder.Split("tile_ic", conv.c, 2).Split("tile_oc", conv.k, 2);
  if (task.edition == AutotvmEdition::kVerbose) {
    builder.Add(AutotvmKnob::Inner("tile_ow", conv.ow, VerboseFactors(conv.ow, kMaxOwTile)));
  } else {
    builder.Split("tile_ow", conv.ow, 2, {{1, kMaxOwTile}});
  }
  if (conv.kh == 1 && conv.kw == 1) {
    builder.Other("tile_oh",
                  conv.oh > 1 ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{1});
  } else {
    builder.Add(
        AutotvmKnob::List("unroll_kw", KnobKind::kOther, {KnobValue{true}, KnobValue{false}}));
  }
  return std::move(builder).Done();
}

Result<AutotvmSpace> DenseNopackX86Space(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto data, AutotvmTensor(task, 0, 2));
  TW_ASSIGN_OR_RETURN(auto weight, AutotvmTensor(task, 1, 2));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_y", data[0], 2).Split("tile_x", weight[0], 2);
  builder.Split("tile_k", data[1], 2);
  TW_ASSIGN_OR_RETURN(auto space, std::move(builder).Done());
  space.order = AutotvmSpace::Order::kLine;
  return space;
}

Result<AutotvmSpace> SpatialPackArm(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmConvolution(task, false));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_co", conv.k, 2).Split("tile_oh", conv.oh, 2).Split("tile_ow", conv.ow, 2);
  AddSpatialPackTail(builder);
  return std::move(builder).Done();
}

Result<AutotvmSpace> TransposeArm(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmTransposed(task, 4));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_co", conv.k, 2).Split("tile_oh", conv.oh, 2).Split("tile_ow", conv.ow, 2);
  AddSpatialPackTail(builder);
  return std::move(builder).Done();
}

Result<AutotvmSpace> WinogradArm(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmConvolution(task, false));
  constexpr std::int64_t kTile = 4;
  const std::int64_t tiles = conv.n * CeilDiv(conv.oh, kTile) * CeilDiv(conv.ow, kTile);
  AutotvmSpaceBuilder builder;
  builder.Split("tile_p", tiles, 2, {{1, 16}}).Split("tile_k", conv.k, 2, {{1, 16}});
  builder.Split("tile_c", conv.c, 2, {{1, 16}});
  builder.Add(AutotvmKnob::Annotate("ann_reduce", {"none", "unroll"}, 1));
  builder.Add(AutotvmKnob::Annotate("ann_spatial", {"none", "unroll", "vec"}, 2));
  return std::move(builder).Done();
}

Result<AutotvmSpace> DepthwiseArm(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto conv, AutotvmConvolution(task, true));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_c", conv.k, 2).Split("tile_h", conv.oh, 2).Split("tile_w", conv.ow, 2);
  builder.Add(AutotvmKnob::Annotate("ann", {"none", "unroll", "vec"}, 3));
  return std::move(builder).Done();
}

Result<AutotvmSpace> Conv2dPackedVta(const AutotvmTaskArguments& task) {
  return PackedSpace(task, false);
}

Result<AutotvmSpace> GroupConv2dPackedVta(const AutotvmTaskArguments& task) {
  return PackedSpace(task, false);
}

Result<AutotvmSpace> TransposePackedVta(const AutotvmTaskArguments& task) {
  return PackedSpace(task, true);
}

Result<AutotvmSpace> ElementwisePackedVta(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto data, AutotvmTensor(task, 0, 6));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_co", data[1], 2).Split("tile_h", data[2], 2);
  builder.Split("tile_w", data[3], 2);
  return std::move(builder).Done();
}

Result<AutotvmSpace> DensePackedVta(const AutotvmTaskArguments& task) {
  TW_ASSIGN_OR_RETURN(auto data, AutotvmTensor(task, 0, 4));
  TW_ASSIGN_OR_RETURN(auto weight, AutotvmTensor(task, 1, 4));
  AutotvmSpaceBuilder builder;
  builder.Split("tile_b", data[0], 2).Split("tile_ci", data[1], 2);
  builder.Split("tile_co", weight[0], 2).Other("oc_nthread", {1, 2});
  return std::move(builder).Done();
}

}  // namespace tilewright::records
