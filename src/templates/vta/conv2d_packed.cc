#include "src/templates/vta/conv2d_packed.h"

#include "src/templates/vta/packed_workload.h"

namespace tilewright {

Result<vta::PackedConv2d> PackedConv2dOperator::ShapeOf(const vta::Design& design,
                                                        const Workload& workload) {
  return PackedConv2dOf(design, workload);
}

Result<ConfigSpace> PackedConv2dOperator::Space(const Shape& conv) {
  return PackedConvSpace(conv.batch, conv.out_height(), conv.out_width(), conv.ci, conv.co);
}

Result<vta::PackedOperator> PackedConv2dOperator::Schedule(const Shape& conv,
                                                           const Config& config) {
  return vta::SchedulePackedConv2d(conv, PackedConvTiles(config));
}

Result<vta::PackedConv2d> PackedGroupConv2dOperator::ShapeOf(const vta::Design& design,
                                                             const Workload& workload) {
  return PackedGroupConv2dOf(design, workload);
}

}  // namespace tilewright
