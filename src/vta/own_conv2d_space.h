#pragma once

#include <cstdint>
#include <vector>

#include "src/vta/cycle_model.h"
#include "src/vta/own_conv2d.h"

namespace tilewright::vta {

/// The legal plans of a convolution that are worth a look, in a fixed order.
///
/// Tiles are what an axis gives when it is cut into some number of parts as equal as can be. Slots
/// are few, or as many as there is room for.
std::vector<OwnConv2dPlan> OwnConv2dPlans(const Design& design, const PackedConv2d& conv,
                                          const std::vector<EpilogueStep>& epilogue);

/// What a legal plan cannot do without: cycles of its busiest engine, and bytes on the bus but
/// for the micro-ops.
struct OwnConv2dBound {
  double cycles = 0;
  std::int64_t dram_bytes = 0;
};
OwnConv2dBound LowerBound(const Design& design, const PackedConv2d& conv, const OwnConv2dPlan& plan,
                          const std::vector<EpilogueStep>& epilogue, const CycleModel& model);

}  // namespace tilewright::vta
