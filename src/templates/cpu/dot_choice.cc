#include "src/templates/cpu/dot_choice.h"

namespace tilewright {

DotChoice ChooseDot(const CpuFeatures& features, DataType data) {
  if (!features.has_int8_dot()) return {"dot2.s16", 2, false, kInt16};
  if (features.arm_dotprod && data == kInt8) return {"dot4.s8s8", 4, false, std::nullopt};
  return {"dot4.u8s8", 4, data == kInt8, std::nullopt};
}

}  // namespace tilewright
