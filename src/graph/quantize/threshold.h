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
/// The threshold for which values rounded to `steps` steps below it, and clipped to it, have the
/// least squared error, of 97 from 1/4 of the largest magnitude to all of it. Zeros have none.
double MseThreshold(const std::vector<float>& values, double steps);

}  // namespace tilewright::quantize
