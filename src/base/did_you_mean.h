#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// Returns "; did you mean 'resnet18_v1'?" with the nearest known word; empty if none is similar.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

}  // namespace tilewright
