#pragma once

#include <cstdint>

#include "src/ir/stmt.h"

namespace tilewright {

/// Whether a kernel writes every element of its result, as its code says.
enum class Coverage : std::uint8_t {
  kAll,
  kPart,     ///< some element is written by nothing
  kUnknown,  ///< places depend on data, or there are too many to look at
};

/// max_places: of writes that are looked at one by one, where places are no plain sums of loop
/// variables. The result is the program's last parameter.
Coverage CoverageOf(const Program& program, std::int64_t max_places);

}  // namespace tilewright
