#pragma once

#include <span>

#include "src/graph/onnx/node.h"

namespace tilewright {

/// Of operators that sample regions of images.
std::span<const OnnxHandlerEntry> OnnxRoiHandlers();

/// How regions are sampled along one dimension.
struct RoiSampling {
  std::int64_t bins = 1, ratio = 1;  ///< ratio: samples per bin
  double scale = 1;
  bool half_pixel = true;
};

/// The means of the bins of regions, of which each has as many samples as it is large: images
/// [N,C,H,W], float32 corners [R,4], the image of each region [R]; float32 [R,C,bins of height,
/// bins of width].
int EmitAdaptiveRoiAlign(OnnxNode& node, int images, int corners, int which,
                         const RoiSampling& rows, const RoiSampling& columns);

}  // namespace tilewright
