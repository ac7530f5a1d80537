#pragma once

#include <vector>

namespace tilewright::quantize {

/// Returns the largest |x|; 0 for no values.
double LargestMagnitude(const std::vector<float>& values);
/// Returns |x| at position int(0.99999 * n) of the sorted magnitudes. Reorders the values.
double PercentileThreshold(std::vector<float>& values);
/// Returns the threshold whose quantized histogram has the smallest Kullback-Leibler divergence
/// from the histogram of all values. 8001 bins over [-max|x|, max|x|], 255 quantized ones.
double KlThreshold(const std::vector<float>& values);
/// Returns the threshold with the smallest squared error of values rounded to `steps` steps below
/// it and clipped to it. Tries 97 thresholds from 1/4 of the largest magnitude to all of it. Zeros
/// have no error.
double MseThreshold(const std::vector<float>& values, double steps);

}  // namespace tilewright::quantize
