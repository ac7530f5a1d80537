#include "src/vta/copy_pattern.h"

#include <fmt/format.h>

#include <vector>

namespace tilewright::vta {
namespace {
constexpr std::int64_t kFieldLimit = 1 << 16;  // x_size, y_size, x_stride
}

Result<Transfer> CopyPattern(std::span<const CopyDimension> dimensions) {
  std::vector<CopyDimension> merged;  // innermost first
  for (auto at = dimensions.rbegin(); at != dimensions.rend(); ++at) {
    if (at->extent == 1) continue;
    if (!merged.empty() && at->stride == merged.back().extent * merged.back().stride) {
      merged.back().extent *= at->extent;
    } else {
      merged.push_back(*at);
    }
  }
  if (merged.empty() || merged.front().stride != 1) merged.insert(merged.begin(), {1, 1});
  if (merged.size() > 2) {
    return InvalidArgument(
        fmt::format("a copy of {} dimensions that do not join: a transfer has rows and elements",
                    merged.size()));
  }
  const std::int64_t rows = merged.size() == 2 ? merged[1].extent : 1;
  const std::int64_t stride = merged.size() == 2 ? merged[1].stride : merged[0].extent;
  for (const std::int64_t value : {rows, merged[0].extent, stride}) {
    if (value >= kFieldLimit) {
      return InvalidArgument(
          fmt::format("a transfer of {} rows of {} elements, {} apart: expected "
                      "less than {} each",
                      rows, merged[0].extent, stride, kFieldLimit));
    }
  }
  Transfer transfer;
  transfer.y_size = static_cast<std::uint32_t>(rows);
  transfer.x_size = static_cast<std::uint32_t>(merged[0].extent);
  transfer.x_stride = static_cast<std::uint32_t>(stride);
  return transfer;
}

}  // namespace tilewright::vta
