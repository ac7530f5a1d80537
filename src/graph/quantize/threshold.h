#pragma once

#include <vector>

namespace tilewright::quantize {

/// Largest of |x|; 0 for none.
double LargestMagnitude(const std::vector<float>& values);
/// |x| at position int(0.99999 * n) of the sorted magnitudes. Reorders the values.
double PercentileThreshold(std::vector<float>& values);
/// The threshold whose quantized histogram is nearest to the histogram of all values, in the sense
/// of Kullback and Leibler. 8001 bins over [-max|x|, max|x|], 255 quantized ones.
double KlThreshold(const std::vector<float>& values);

}  // namespace tilewright::quantize
