#pragma once

#include "src/templates/registry.h"

namespace tilewright {

/// `conv2d_packed_slots.vta`: our own convolutions on packed tensors (vta::SlotConv2dPlan). Knobs:
/// tile_h, tile_w, tile_ci, tile_co (extents, the last tile has what is left), inp_slots, wgt_slots
/// (0: as many as fit), acc_slots, channels_outer, serpentine (0 or 1), unrolled (0 rows, 1 input
/// channels, 2 output channels). int8 tensors of the epilogue are added by products, on every
/// design. Layouts as for `conv2d_packed.vta`.
struct Conv2dPackedSlotsVta {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<vta::Stream> BuildStream(const Workload& workload, const Epilogue& epilogue,
                                         const Target& target, const Config& config);
};

}  // namespace tilewright
