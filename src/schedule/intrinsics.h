#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/ir/dtype.h"
#include "src/ir/stmt.h"

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

/// Matrix product of tile registers (AMX), with all loops of its reductions:
///   acc[i][j] = sum over the steps of sum over q < groups, t < depth of a[i][q][t] * b[q][j][t].
/// A step is one product of tiles; steps are the iterations of the outer reductions, of any number.
/// Rows of `acc`, rows (i) of `a` and rows (q) of `b` are each consecutive elements: columns,
/// groups x depth, and columns x depth of them. The statement writes the sums; it does not add to
/// them. Rows and columns of the sums in more than one tile share the tiles of `a` and `b`.
struct TileIntrinsic {
  std::string_view name;
  int depth;  ///< products whose factors are one word of 4 bytes
  DataType a, b, acc;

  static constexpr int kRegisters = 8;
  static constexpr int kRows = 16;     ///< of a register
  static constexpr int kColumns = 16;  ///< of sums, 4 bytes each
  static constexpr int kLoops = 4;     ///< at the end of a stage: rows, columns, groups, depth
};

/// Tiles of one statement. The sums are in rows x columns tiles of at most 16 x 16 elements.
struct TileRegisterShape {
  std::int64_t rows = 0, columns = 0;  ///< of the sums
  std::int64_t groups = 0;             ///< rows of `b` in a step

  std::int64_t row_tiles() const;
  std::int64_t column_tiles() const;
  /// Returns true if one factor's tiles, one of the other's and the sums fit the registers.
  bool fits() const;
  friend auto operator<=>(const TileRegisterShape&, const TileRegisterShape&) = default;
};

/// Sizes of a statement of tile products, and distances in memory, in elements of the buffers.
struct TileProducts {
  /// Reduction around the steps: its iterations, and the distance between two in each factor.
  struct Steps {
    std::int64_t count = 0, a = 0, b = 0;
  };
  TileRegisterShape shape;
  std::int64_t acc_row = 0, a_row = 0, b_group = 0;  ///< from one row to the next
  std::vector<Steps> steps;                          ///< the outermost first
};
/// Returns the statement. Its regions are the sums, then the two factors, each a box of its buffer.
Stmt MakeTileProducts(const TileIntrinsic& tiles, std::vector<Region> regions,
                      const TileProducts& products);
/// Returns the sizes and distances of such a statement.
TileProducts TileProductsOf(const StmtNode& stmt);

/// Returns the intrinsic of a name: "tiles.u8s8" (tdpbusd), "tiles.s8s8" (tdpbssd): depth 4;
/// "tiles.bf16" (tdpbf16ps): depth 2. Null for an unknown name.
const TileIntrinsic* FindTileIntrinsic(std::string_view name);
/// Returns true if the statement, or one inside it, multiplies tiles.
bool MultipliesTiles(const Stmt& stmt);

/// Returns the intrinsic of a name: "mma.m8n8k16.s8", "mma.m16n8k8.f16" (sm_75), "mma.m16n8k32.s8",
/// "mma.m16n8k16.f16", "mma.m16n8k8.tf32" (sm_80). Null for an unknown name.
const MmaIntrinsic* FindMmaIntrinsic(std::string_view name);
/// Returns all of them, sorted by name.
std::span<const MmaIntrinsic> MmaIntrinsics();

}  // namespace tilewright
