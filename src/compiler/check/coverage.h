#pragma once

#include <cstdint>

#include "src/ir/stmt.h"

namespace tilewright {

/// Result of the analysis whether a kernel's code writes every element of its result.
enum class Coverage : std::uint8_t {
  kAll,
  kPart,     ///< some element is unwritten
  kUnknown,  ///< positions depend on data, or there are too many to enumerate
};

/// Analyzes the writes to the program's last parameter. max_places: limit of positions to enumerate
/// where they are no plain sums of loop variables.
Coverage CoverageOf(const Program& program, std::int64_t max_places);

}  // namespace tilewright
