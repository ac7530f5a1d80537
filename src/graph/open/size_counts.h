#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace tilewright {

struct SizeRange;

/// Numbers of runs that were observed, by size of an open dimension.
using SizeCounts = std::map<std::int64_t, std::int64_t>;

/// Parses lines `SIZE,COUNT`. A first line `size,count`, empty lines and lines that begin with `#`
/// are ignored; counts of one size are added.
/// file: for messages. Errors: kInvalidArgument as "FILE:LINE: reason, expected …", also for a file
/// without sizes.
Result<SizeCounts> ParseSizeCounts(std::string_view text, const std::string& file);

/// Checks that observed sizes are in a range. file: for messages.
/// Errors: kInvalidArgument naming the first size outside.
Status CheckSizeCounts(const SizeCounts& counts, const SizeRange& range, const std::string& file);

/// Size with its share of the runs.
struct WeighedSize {
  std::int64_t size = 1;
  double weight = 1;
};

/// Returns the sizes that decide between kernels, with their weights: the observed ones with their
/// counts. Without counts all small ones, and of larger ones a few in each factor of two; each
/// factor of two has the same weight.
std::vector<WeighedSize> DecidingSizes(const SizeRange& range);

/// Returns the sizes that are tuned for a range, at most four. The weight of each is the number of
/// its runs that count as much as all those of the sizes next to it, relative to the largest weight
/// of one. Sizes that stand for less than one percent of the whole are left out.
std::vector<WeighedSize> SizesToTune(const SizeRange& range);

}  // namespace tilewright
