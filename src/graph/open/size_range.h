#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/graph/open/size_counts.h"

namespace tilewright {

/// Dimension of a model file that stays open in a library, with the sizes that it may have and
/// those that were observed.
struct SizeRange {
  std::string name;
  std::int64_t least = 1, most = 1;
  SizeCounts counts = {};  ///< observed runs; empty: unknown
  /// Returns "batch=1..64".
  std::string ToString() const;
};

/// Largest size of a range.
inline constexpr std::int64_t kMaxOpenSize = std::int64_t{1} << 20;
/// Largest number of entries: a library has a table of a byte for each.
inline constexpr std::int64_t kMaxEntries = 65536;

/// Parses an argument of `--dim` if it states a range, as in "batch=1..64"; none for other texts.
/// Errors: kInvalidArgument as "--dim TEXT: reason, expected ...".
Result<std::optional<SizeRange>> ParseSizeRange(std::string_view text);

}  // namespace tilewright
