#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// "; did you mean 'resnet18_v1'?" for the nearest of the known words, empty if none is near.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

}  // namespace tilewright
