#pragma once

#include <span>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Handlers of operators that sample regions of images.
std::span<const OnnxHandlerEntry> OnnxRoiHandlers();

/// Sampling of regions along one dimension.
struct RoiSampling {
  std::int64_t bins = 1, ratio = 1;  ///< ratio: samples per bin
  double scale = 1;
  bool half_pixel = true;
};

/// Emits the means of the bins of regions, with a number of samples that depends on the size of the
/// region. Takes images [N,C,H,W], float32 corners [R,4] and the image index of each region [R].
/// The result is float32 [R,C,bins of height,bins of width].
int EmitAdaptiveRoiAlign(OnnxNode& node, int images, int corners, int which,
                         const RoiSampling& rows, const RoiSampling& columns);

}  // namespace tilewright
