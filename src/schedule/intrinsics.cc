#include "src/schedule/intrinsics.h"

#include <array>

namespace tilewright {
namespace {

constexpr std::array kDotIntrinsics = {
    DotIntrinsic{"dot2.s16", 2, kInt16, kInt16, kInt32},
    DotIntrinsic{"dot4.s8s8", 4, kInt8, kInt8, kInt32},
    DotIntrinsic{"dot4.u8s8", 4, kUInt8, kInt8, kInt32},
};

}  // namespace

const DotIntrinsic* FindDotIntrinsic(std::string_view name) {
  for (const DotIntrinsic& intrinsic : kDotIntrinsics) {
    if (intrinsic.name == name) return &intrinsic;
  }
  return nullptr;
}

}  // namespace tilewright
