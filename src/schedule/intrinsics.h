#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "src/ir/dtype.h"

namespace tilewright {

/// Tensor intrinsic that a schedule can place with Schedule::Tensorize and a back end can emit.
/// Its form is  acc[l] += sum over j < depth of a[j] * b[l * depth + j]  for l < lanes:
/// `a` is `depth` consecutive elements (broadcast), `b` is lanes x depth consecutive elements,
/// `acc` is `lanes` consecutive elements. With `taps`, each lane has its own factors on both sides:
///   acc[l] += sum over j < depth of a[j][l] * b[l * depth + j];
/// `a` is then depth x lanes consecutive elements. Elements of its region outside of the buffer, in
/// the dimension that j counts in, are zero and not read.
struct DotIntrinsic {
  std::string_view name;
  int depth;  ///< products summed into one lane
  DataType a, b, acc;
  bool taps = false;
};

/// Returns the intrinsic of a name:
/// "dot4.u8s8": uint8 x int8 -> int32, depth 4 (vpdpbusd, udot-like, dp4a).
/// "dot4.s8s8": int8 x int8 -> int32, depth 4 (dp4a, sdot; several instructions on x86).
/// "dot4.s8u8": int8 x uint8 -> int32, the factors of dot4.u8s8 in the other order.
/// "dot2.bf16": bfloat16 x bfloat16 -> float32, depth 2 (vdpbf16ps, two multiply-adds).
/// "dot2.s16": int16 x int16 -> int32, depth 2 (vpmaddwd + add, vpdpwssd).
/// "taps4.u8s8": uint8 x int8 -> int32, four taps of each lane (a shuffle and vpdpbusd).
/// The number of lanes is the extent of the vectorized axis; it follows from the place of the
/// intrinsic. Returns null for an unknown name.
const DotIntrinsic* FindDotIntrinsic(std::string_view name);

/// Matrix product of one warp (32 threads) on a GPU's tensor cores, from the view of one thread:
///   acc[i][j] += sum over q < k of a[i][q] * b[j][q]   for i < rows(), j < 2.
/// The threads of a block are 4 x 8 x warps. All four threads of a row (thread.x) share the rows of
/// `a`, all eight of a column (thread.y) the two columns of `b`. Thread (x, y) has row
/// y * rows() + i and column x * 2 + j of the warp's product. The hardware's numbering of rows,
/// columns and products follows from that; any permutation of them is valid.
struct MmaIntrinsic {
  std::string_view name;
  int m, n, k;
  DataType operand, acc;
  int capability;  ///< first compute capability with this intrinsic

  static constexpr int kColumns = 2;  ///< of one thread
  static constexpr int kThreadsX = 4, kThreadsY = 8;
  int rows() const { return m / kThreadsY; }      ///< of one thread
  int sums() const { return rows() * kColumns; }  ///< of one thread
  int chunk() const { return k / kThreadsX; }     ///< products whose factors one thread loads
  int words() const { return chunk() * operand.bytes() / 4; }  ///< ... of 4 bytes each, per row
};

/// Returns the intrinsic of a name: "mma.m8n8k16.s8", "mma.m16n8k8.f16" (sm_75), "mma.m16n8k32.s8",
/// "mma.m16n8k16.f16", "mma.m16n8k8.tf32" (sm_80). Null for an unknown name.
const MmaIntrinsic* FindMmaIntrinsic(std::string_view name);
/// Returns all of them, sorted by name.
std::span<const MmaIntrinsic> MmaIntrinsics();

}  // namespace tilewright
