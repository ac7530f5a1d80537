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
  std::int64_t limit = 1024;  ///< maximum number of samples
  /// Receives notes on unused data, if set. Example: "3 of 11 images are unused: the batch size of
  /// input x is 8".
  std::function<void(const std::string& text)> note = {};
};

/// Loads samples for a graph's inputs from files. A .npy file holds one input. A .npz file holds an
/// array for each input, by the input's name. With a single input, the array may also be nameless
/// (arr_0); other arrays are reported in a note. For image files see WriteImageToBatch. A
/// directory is replaced by its files, sorted by name. An array is one sample, or several along its
/// first dimension; its elements are converted to the input's type. Images are gathered into
/// batches of the input's size. An incomplete batch at the end of an array or of the images is
/// skipped with a note; it is an error if there is no complete one.
/// Returns kNotFound; kInvalidArgument with the file, the value found and the expected one.
Result<std::vector<Sample>> LoadDataSet(const std::vector<std::string>& files, const Graph& graph,
                                        const DataSetOptions& options);

}  // namespace tilewright::quantize
