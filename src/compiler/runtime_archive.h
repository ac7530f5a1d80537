#pragma once

#include <string_view>

namespace tilewright {

/// Bytes of libtilewright_rt.a, which every compiled model contains, so that compiling needs no
/// file but the model's.
std::string_view RuntimeArchive();

}  // namespace tilewright
