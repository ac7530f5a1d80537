#pragma once

#include "src/templates/registry.h"

namespace tilewright {

// The templates for VTAs, on tensors in the layouts of the design (packed_workload.h).

/// `add.vta`, `multiply.vta`: AutoTVM's templates for two integer tensors.
TemplateEntry AddVtaEntry();
TemplateEntry MultiplyVtaEntry();
/// `elementwise_packed.vta`: the epilogue applied to one tensor, scheduled as add.vta.
TemplateEntry ElementwisePackedVtaEntry();
/// `max_pool2d_packed.vta`: the maximum of each window of an int8 tensor, on the ALU. No epilogue.
TemplateEntry MaxPool2dPackedVtaEntry();
/// `conv2d_packed.vta`, `group_conv2d_packed.vta`, `conv2d_transpose_packed.vta`,
/// `dense_packed.vta`: AutoTVM's convolutions and matrix products.
TemplateEntry Conv2dPackedVtaEntry();
TemplateEntry GroupConv2dPackedVtaEntry();
TemplateEntry Conv2dTransposePackedVtaEntry();
TemplateEntry DensePackedVtaEntry();
/// `conv2d_packed_slots.vta`: Tilewright's convolutions (vta::SlotConv2dPlan). They add int8
/// tensors of the epilogue with GEMM instructions, on every design.
TemplateEntry Conv2dPackedSlotsVtaEntry();

/// All of them in order of preference.
inline constexpr TemplateMaker kVtaTemplates[] = {
    &Conv2dPackedSlotsVtaEntry, &Conv2dPackedVtaEntry,
    &GroupConv2dPackedVtaEntry, &Conv2dTransposePackedVtaEntry,
    &DensePackedVtaEntry,       &AddVtaEntry,
    &MultiplyVtaEntry,          &ElementwisePackedVtaEntry,
    &MaxPool2dPackedVtaEntry,
};

}  // namespace tilewright
