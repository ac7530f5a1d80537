#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// Named target of a board.
struct TargetPreset {
  std::string name;         ///< "rasp4b": file name in configs/targets without .json
  std::string description;  ///< "Raspberry Pi 4 B with a 32-bit system"
  std::string target;       ///< TVM-style string
};

/// Parses a preset: an object with `description` and `target`.
/// Errors: kInvalidArgument with reason and position.
Result<TargetPreset> ParsePreset(std::string_view text, std::string name);

/// Reads all presets of a directory, sorted by name. Errors: kInvalidArgument with file and reason;
/// kNotFound if the directory does not exist.
Result<std::vector<TargetPreset>> ReadPresets(const std::string& folder);

/// Expands a target argument of the command line to a target string. The name of a preset becomes
/// its target. `llvm` with the -model of a preset and no -mtriple gets the missing options from
/// that preset. Any other text is returned unchanged.
/// Errors: those of ReadPresets for a damaged shipped file.
Result<std::string> ExpandTarget(std::string_view text, const std::string& folder);

}  // namespace tilewright
