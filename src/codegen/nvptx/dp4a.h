#pragma once

namespace tilewright::nvptx {

/// Assembly of d = c + the four products of the bytes of a (signed or not) and of b (signed);
/// operands d, a, b, c. From compute capability 6.1 on.
inline constexpr const char* kDp4aSigned = "dp4a.s32.s32 $0, $1, $2, $3;";
inline constexpr const char* kDp4aUnsigned = "dp4a.u32.s32 $0, $1, $2, $3;";

}  // namespace tilewright::nvptx
