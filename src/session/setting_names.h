#pragma once

#include <string_view>

namespace tilewright::session {

/// Names of settings that begin messages of this module: "target: WHY" or "shape x=1x3: WHY". The
/// program prints such a message with its option, "--target: WHY".
inline constexpr std::string_view kSettingNames[] = {
    "target",     "threads",  "libs",    "vta-config", "device", "runner", "no-fuse-residuals",
    "prefer",     "key",      "package", "tophub",     "shape",  "dim",    "value",
    "requantize", "precision"};

}  // namespace tilewright::session
