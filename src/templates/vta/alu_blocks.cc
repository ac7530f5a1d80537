#include "src/templates/vta/alu_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "src/templates/space_values.h"
#include "src/templates/vta/packed_workload.h"

namespace tilewright {

Result<vta::ResultBlocks> AluResultOf(const vta::Design& design, const Workload& workload,
                                      OpKind op) {
  if (workload.op != op) return Unsupported(fmt::format("expected {}", OpName(op)));
  const std::string layout = VtaDataLayout(design);
  if (workload.data_layout != layout) {
    return Unsupported(fmt::format("layout {}, expected {}", workload.data_layout, layout));
  }
  for (const TensorType* type : {&workload.data, &workload.weight}) {
    if (type == &workload.weight && !workload.has_weight()) continue;
    if (type->dtype != kInt8 && type->dtype != kInt32) {
      return Unsupported(fmt::format("{}, expected int8 or int32", DataTypeName(type->dtype)));
    }
    if (type->dtype == kInt8 && !IsExtended(design)) {
      return Unsupported(design.target() + " does not load int8 data into the accumulator");
    }
  }
  if (op == OpKind::kMul && !IsExtended(design)) {
    return Unsupported(design.target() + " does not multiply");
  }
  TW_ASSIGN_OR_RETURN(const auto type, workload.OutputType());
  return vta::ResultBlocks{
      .batch = type.shape[0], .co = type.shape[1], .height = type.shape[2], .width = type.shape[3]};
}

Result<ConfigSpace> AluSpace(const vta::ResultBlocks& result) {
  std::vector<Result<Knob>> knobs;
  knobs.push_back(Knob::Split("tile_co", result.co, 2));
  knobs.push_back(Knob::Split("tile_h", result.height, 2));
  knobs.push_back(Knob::Split("tile_w", result.width, 2));
  return MakeSpace(std::move(knobs));
}

vta::ResultBlocks WithBlocks(vta::ResultBlocks result, const Config& config) {
  result.block_co = config.Factors("tile_co")[1];
  result.block_h = config.Factors("tile_h")[1];
  result.block_w = config.Factors("tile_w")[1];
  return result;
}

Config LargestBlocks(const ConfigSpace& space, const vta::ResultBlocks& result,
                     const std::function<bool(const vta::ResultBlocks&)>& builds) {
  std::vector<std::pair<vta::ResultBlocks, std::int64_t>> list;
  for (std::int64_t index = 0; index < space.size(); ++index) {
    list.emplace_back(WithBlocks(result, space.At(index)), index);
  }
  std::ranges::stable_sort(list, std::ranges::greater(), [](const auto& entry) {
    const vta::ResultBlocks& blocks = entry.first;
    return std::tuple(blocks.entries(), blocks.block_w * blocks.block_h, blocks.block_w);
  });
  const auto found = std::ranges::find_if(list, [&](const auto& e) { return builds(e.first); });
  return space.At(found == list.end() ? 0 : found->second);
}

Epilogue AluSteps(const Workload& workload, const Epilogue& epilogue) {
  Epilogue steps;
  if (workload.has_weight()) {
    EpilogueStep own{.op = {workload.op, {}}, .operand = OperandKind::kTensor};
    own.operand_dtype = workload.weight.dtype;
    steps.steps.push_back(std::move(own));
  }
  steps.steps.insert(steps.steps.end(), epilogue.steps.begin(), epilogue.steps.end());
  if (workload.out_dtype == kInt8 && steps.steps.empty()) {
    EpilogueStep narrow{.op = {OpKind::kCast, {}}};
    narrow.op.attributes.dtype = kInt8;
    steps.steps.push_back(std::move(narrow));
  }
  return steps;
}

Result<VtaEpilogue> VtaStepsOf(const vta::Design& design, const Workload& workload,
                               const Epilogue& epilogue) {
  if (IsAnchor(workload.op)) return VtaEpilogueOf(design, epilogue, /*gemm_adds=*/true);
  return VtaEpilogueOf(design, AluSteps(workload, epilogue));
}

}  // namespace tilewright
