#pragma once

#include "src/templates/vta/packed_template.h"
#include "src/vta/kernels/packed_dense.h"

namespace tilewright {

/// `dense_packed.vta`: AutoTVM's template for matrix products on packed tensors: knobs tile_b,
/// tile_ci, tile_co and oc_nthread. Layouts: data MK<batch>m<block>k, weight NK<block>n<block>k.
struct PackedDenseOperator {
  using Shape = vta::PackedDense;
  static Result<Shape> ShapeOf(const vta::Design& design, const Workload& workload);
  static Result<ConfigSpace> Space(const Shape& dense);
  static Result<vta::PackedOperator> Schedule(const Shape& dense, const Config& config);
};
using DensePackedVta = PackedVta<PackedDenseOperator>;

}  // namespace tilewright
