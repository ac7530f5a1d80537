#include "src/vta/kernels/uop_nest.h"

#include <utility>

#include "src/base/status.h"

namespace tilewright::vta {
namespace {
constexpr std::int64_t kMaxUops = 1 << 20;
}

std::int64_t UopCount(std::span<const NestLoop> loops, std::int64_t uops) {
  std::int64_t count = uops;
  int folded = 0;
  for (const NestLoop& loop : loops) {
    if (loop.extent != 1 && ++folded > 2) count *= loop.extent;
  }
  return count;
}

UopNest FoldNest(std::span<const NestLoop> loops, std::vector<Uop> uops) {
  TW_CHECK(UopCount(loops, std::ssize(uops)) <= kMaxUops);
  UopNest nest;
  nest.uops = std::move(uops);
  int folded = 0;
  for (const NestLoop& loop : loops) {
    if (loop.extent == 1) continue;
    if (folded == 0) {
      nest.iter_out = static_cast<std::uint32_t>(loop.extent);
      nest.dst.out = loop.dst;
      nest.src.out = loop.src;
      nest.wgt.out = loop.wgt;
    } else if (folded == 1) {
      nest.iter_in = static_cast<std::uint32_t>(loop.extent);
      nest.dst.in = loop.dst;
      nest.src.in = loop.src;
      nest.wgt.in = loop.wgt;
    } else {
      std::vector<Uop> unrolled;
      unrolled.reserve(nest.uops.size() * static_cast<std::size_t>(loop.extent));
      for (const Uop& uop : nest.uops) {
        for (std::uint32_t i = 0; i < loop.extent; ++i) {
          unrolled.push_back(
              {uop.dst + i * loop.dst, uop.src + i * loop.src, uop.wgt + i * loop.wgt});
        }
      }
      nest.uops = std::move(unrolled);
    }
    ++folded;
  }
  return nest;
}

}  // namespace tilewright::vta
