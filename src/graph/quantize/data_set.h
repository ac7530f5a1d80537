#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/graph/quantize/passes.h"
#include "src/graph/quantize/picture.h"

namespace tilewright::quantize {

struct DataSetOptions {
  /// Of a picture's samples, divided by 255: (x - mean) / deviation, per channel (grey: the first).
  std::array<double, 3> mean = {0.485, 0.456, 0.406};
  std::array<double, 3> deviation = {0.229, 0.224, 0.225};
  PictureFit fit = PictureFit::kExact;
  std::int64_t limit = 1024;  ///< samples read at most
};

/// Samples for a graph's inputs from files: .npy (one input), .npz (an array for each input, by
/// its name; any name if there is one input), or pictures (see ParsePicture) for an input of 1 or 3
/// channels, NCHW or NHWC; of a folder, its files by name. An array is one sample, or several along
/// its first dimension; numbers are converted to the input's type. Pictures are gathered to the
/// input's batch; what is left over at the end of an array or of the pictures is passed over.
/// Errors: kNotFound; kInvalidArgument with the file, what was found and what was expected.
Result<std::vector<Sample>> LoadDataSet(const std::vector<std::string>& files, const Graph& graph,
                                        const DataSetOptions& options);

}  // namespace tilewright::quantize
