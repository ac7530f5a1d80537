#include "src/templates/cpu/dot_choice.h"

#include "src/templates/workload_kind.h"

namespace tilewright {

DotChoice ChooseDot(const CpuFeatures& features, const Workload& w) {
  if (IsBFloat16(w)) return {"dot2.bf16", 2, 1, false, std::nullopt};
  const bool shifted = w.data.dtype == kInt8;
  if (features.has_saturating_dot() &&
      w.reduced_range_weights) {  // a sum of two products, and ones
    return {"dot4.u8s8", 4, 3, shifted, std::nullopt};
  }
  if (!features.has_int8_dot()) return {"dot2.s16", 2, 2, false, kInt16};
  if (features.arm_dotprod && shifted) return {"dot4.s8s8", 4, 1, false, std::nullopt};
  return {"dot4.u8s8", 4, 1, shifted, std::nullopt};
}

}  // namespace tilewright
