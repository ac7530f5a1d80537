#pragma once

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/space/open/open_space.h"

namespace tilewright {

/// Parses a space as a text of knobs and conditions, with the statements of schedules
/// (docs/schedules.md): `space NAME`, `knob NAME = VALUES default VALUE`, and
/// `require CONDITION else "reason"`. Conditions become those of T1: a `/` is Python's `//`. Every
/// parameter has a default, the first value if none is stated.
/// Errors: kInvalidArgument with file, line and column; those of OpenSpace::Create, with the file.
Result<OpenSpace> ParseSpaceText(std::string_view text, std::string_view file);

/// Whether the contents of a file of a space are those of a T1 file, because they are JSON.
bool IsT1Text(std::string_view contents);

/// Loads a space: a T1 file, or else a text.
/// Errors: those of reading, OpenSpace::ParseT1 and ParseSpaceText, with the path.
Result<OpenSpace> LoadOpenSpace(const std::string& path);

}  // namespace tilewright
