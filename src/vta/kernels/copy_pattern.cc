#include "src/vta/kernels/copy_pattern.h"

#include <fmt/format.h>

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

Result<std::vector<Transfer>> CopyPatterns(std::span<const CopyDimension> dimensions) {
  if (const auto whole = CopyPattern(dimensions); whole.ok()) return std::vector{*whole};
  const CopyDimension& outer = dimensions.front();
  const auto inner = CopyPattern(dimensions.subspan(1));
  if (!inner.ok()) return inner.status();
  std::vector<Transfer> transfers;
  for (std::int64_t i = 0; i < outer.extent; ++i) {
    transfers.push_back(*inner);
    transfers.back().sram_base = static_cast<std::uint32_t>(i * inner->SramElements());
    transfers.back().dram_base = static_cast<std::uint32_t>(i * outer.stride);
  }
  return transfers;
}

}  // namespace tilewright::vta
