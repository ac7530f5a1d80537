#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/graph/quantize/passes.h"
#include "src/media/image_decode.h"

namespace tilewright::quantize {

struct DataSetOptions {
  ImageOptions image;
  std::int64_t limit = 1024;  ///< samples read at most
  /// Is told what is left over, if it is there: "3 of 11 pictures are left over: input x takes 8 at
  /// once".
  std::function<void(const std::string& text)> note = {};
};

/// Samples for a graph's inputs from files: .npy (one input), .npz (an array for each input, by
/// its name, or nameless, arr_0, if there is one input; others are noted), or pictures (see
/// WriteImageToBatch); of a folder, its files by name. An array is one sample, or several along its
/// first dimension; numbers are converted to the input's type. Pictures are gathered to the input's
/// batch; what is left over at the end of an array or of the pictures is passed over with a note,
/// unless that is all there is. Errors: kNotFound; kInvalidArgument with the file, what was found
/// and what was expected.
Result<std::vector<Sample>> LoadDataSet(const std::vector<std::string>& files, const Graph& graph,
                                        const DataSetOptions& options);

}  // namespace tilewright::quantize
