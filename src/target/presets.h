#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

/// A board by the name its users give it.
struct TargetPreset {
  std::string name;         ///< "rasp4b": of the file in configs/targets, without .json
  std::string description;  ///< "Raspberry Pi 4 B with a 32-bit system"
  std::string target;       ///< TVM-style string
};

/// The preset in a file's text: an object with `description` and `target`.
/// Errors: kInvalidArgument with what is wrong, and where.
Result<TargetPreset> ParsePreset(std::string_view text, std::string name);

/// Those of a folder, by name. Errors: kInvalidArgument with the file and what is wrong in it;
/// kNotFound if there is no such folder.
Result<std::vector<TargetPreset>> ReadPresets(const std::string& folder);

/// A target as written on the command line, as a target string: the name of a preset becomes its
/// target, and `llvm` with the -model of a preset and no -mtriple takes what it lacks from that
/// preset. Anything else is returned as it is.
/// Errors: those of ReadPresets for a shipped file that is damaged.
Result<std::string> ExpandTarget(std::string_view text, const std::string& folder);

}  // namespace tilewright
