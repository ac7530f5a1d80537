#pragma once

#include <cstdint>
#include <vector>

#include "src/ir/stmt.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Matrices of Winograd's F(m, r): m neighboring sums of r products each, by m + r - 1
/// multiplications. With the window d of m + r - 1 values and the weights g:
///   sums = output * ((weight * g) .* (data * d))
/// In two dimensions the same applies along rows and columns.
struct WinogradMatrices {
  using Matrix = std::vector<std::vector<double>>;  ///< rows
  Matrix data;                                      ///< (m + r - 1) x (m + r - 1)
  Matrix weight;                                    ///< (m + r - 1) x r
  Matrix output;                                    ///< m x (m + r - 1)
};
/// Returns the matrices of F(m, r). Requires m + r - 1 from 2 to 8.
/// Source: Cook and Toom's construction; points after Barabasz and others, "Error Analysis and
/// Improving the Accuracy of Winograd Convolution for DNNs".
WinogradMatrices MakeWinogradMatrices(std::int64_t m, std::int64_t r);

/// Errors: kUnsupported if layouts.winograd_tile is not 0 and the convolution has no Winograd form.
Status CheckWinograd(const Workload& workload, const KernelLayouts& layouts);

/// Partition of a convolution's output into tiles of m x m.
struct WinogradTiles {
  std::int64_t m = 0;               ///< rows and columns of a tile of the output
  std::int64_t window = 0;          ///< rows and columns of the data that a tile reads
  std::int64_t rows = 0, cols = 0;  ///< tiles of one image
  std::int64_t count = 0;           ///< of the batch
};
WinogradTiles WinogradTilesOf(const ConvShape& shape, std::int64_t m);

/// Returns the ratio of the products to those of a direct convolution in whole tiles:
/// (m + r - 1)^2 / (m r)^2; 1 for m = 0 (no tiles).
double WinogradProductShare(std::int64_t m, std::int64_t r);

/// Returns the channels per block of layouts whose data and result are "NCHW<b>c"; 0 for plain
/// NCHW.
std::int64_t WinogradBlock(const KernelLayouts& layouts);

/// Number format of a convolution: float32, or integers transformed to int16 and summed in int32
/// (src/tensor/compute/winograd_integer.h). Integers always have channels in blocks.
struct WinogradKind {
  std::int64_t m = 0;      ///< rows and columns of a tile
  std::int64_t block = 0;  ///< channels per block; 0 for plain NCHW
  bool whole = false;      ///< true for integers
  /// Plain NCHW with SpatialPack: output channels and tiles in blocks of these numbers; 0: without.
  std::int64_t packed_outputs = 0, packed_tiles = 0;
};
WinogradKind WinogradKindOf(const Workload& workload, const KernelLayouts& layouts);

/// Returns the shape of the weight [O, I, r, r] for tiles of m x m outputs: [window, window, I, O],
/// or with channels in blocks of b [O / b, window, window, I, b], O padded to whole blocks. For
/// integers: [O / b, window, window, I / 2, b, 2], because pairs are multiplied at once. With
/// packed outputs: [window, window, O / packed_outputs, I, packed_outputs].
std::vector<std::int64_t> WinogradWeightShape(const ConvShape& shape, const WinogradKind& kind);
/// Returns the weight of that shape, float32 or int16, padded with zeros.
Tensor WinogradWeight(const Tensor& weight, const WinogradKind& kind);
/// Returns the same as loops, with parameters `weight` and the transformed weight.
Program WinogradWeightLoops(const Buffer& weight, const WinogradKind& kind);

/// Returns the stages of the convolution of `data` (already padded with zeros for all windows) with
/// a transformed weight. In order:
///   "window" [ci, p, a, b]: the data of tile p
///   "rows" [ci, p, e, b], "data_transform" [e, f, ci, p]: transformed along rows, then columns
///   "products" [e, f, k, p]: one matrix product for each of window^2 positions
///   "columns" [k, p, i, f], "tile" [k, p, i, j]: transformed back
///   "reduce" [n, k, oh, ow]: the tiles in their places
/// With packed tiles, pb is a block of them and q a tile of the block: "window" [ci, pb, a, b, q],
/// "rows" [ci, pb, e, b, q], "data_transform" [e, f, pb, ci, q]. The last block is padded with
/// zeros, and "products" has all tiles of all blocks.
/// With channels in blocks, c is the channel of a block: "rows" [cb, p, e, b, c], "data_transform"
/// [e, f, cb, p, c], "products" [e, f, kb, p, c], "columns" [kb, p, i, f, c], "tile" [kb, p, i, j,
/// c], "reduce" [n, kb, oh, ow, c].
std::vector<ComputeOp> WinogradStages(const Buffer& data, const Buffer& weight,
                                      const ConvShape& shape, const WinogradKind& kind);

}  // namespace tilewright
