#pragma once

#include <cstdint>
#include <string_view>

#include "src/ir/dtype.h"

namespace tilewright {

/// A tensor intrinsic a schedule can place with Schedule::Tensorize and a back end can emit.
/// All have the form  acc[l] += sum over j < depth of a[j] * b[l * depth + j]  for l < lanes:
/// `a` is `depth` consecutive elements (broadcast), `b` is lanes x depth consecutive elements,
/// `acc` is `lanes` consecutive elements.
struct DotIntrinsic {
  std::string_view name;
  int depth;  ///< products summed into one lane
  DataType a, b, acc;
};

/// "dot4.u8s8": uint8 x int8 -> int32, depth 4 (vpdpbusd, udot-like, dp4a).
/// "dot4.s8s8": int8 x int8 -> int32, depth 4 (dp4a, sdot; spelled out on x86).
/// "dot2.s16": int16 x int16 -> int32, depth 2 (vpmaddwd + add, vpdpwssd).
/// Lanes are the extent of the vectorized axis and follow from where the intrinsic is placed.
/// Returns null if there is none of that name.
const DotIntrinsic* FindDotIntrinsic(std::string_view name);

}  // namespace tilewright
