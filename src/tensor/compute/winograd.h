#pragma once

#include <cstdint>
#include <vector>

#include "src/tensor/compute/compute.h"
#include "src/tensor/tensor.h"

namespace tilewright {

/// Winograd's F(m, r): m neighbouring sums of r products each, by m + r - 1 multiplications. With
/// the window d of m + r - 1 values and the weights g:
///   sums = output * ((weight * g) .* (data * d))
/// and in two dimensions the same along rows and columns.
struct WinogradMatrices {
  using Matrix = std::vector<std::vector<double>>;  ///< rows
  Matrix data;                                      ///< (m + r - 1) x (m + r - 1)
  Matrix weight;                                    ///< (m + r - 1) x r
  Matrix output;                                    ///< m x (m + r - 1)
};
/// m + r - 1 is from 2 to 8.
/// Source: Cook and Toom's construction; points after Barabasz and others, "Error Analysis and
/// Improving the Accuracy of Winograd Convolution for DNNs".
WinogradMatrices MakeWinogradMatrices(std::int64_t m, std::int64_t r);

/// Errors: kUnsupported if form.winograd_tile is not 0 and the convolution cannot be computed so.
Status CheckWinograd(const Workload& workload, const KernelLayouts& layouts);

/// How a convolution is cut in tiles of m x m outputs.
struct WinogradTiles {
  std::int64_t m = 0;               ///< rows and columns of a tile of the output
  std::int64_t window = 0;          ///< rows and columns of the data it needs
  std::int64_t rows = 0, cols = 0;  ///< tiles of one image
  std::int64_t count = 0;           ///< of the batch
};
WinogradTiles WinogradTilesOf(const ConvShape& shape, std::int64_t m);

/// Products for each product of the definition: (m + r - 1)^2 / (m r)^2, tiles at the edges taken
/// as the others; 1 for m = 0, which is no tiles.
double WinogradProductShare(std::int64_t m, std::int64_t r);

/// Channels per block of a form whose data and result are in "NCHW<b>c"; 0 for plain NCHW.
std::int64_t WinogradBlock(const KernelLayouts& layouts);

/// In which numbers a convolution is computed: float32, or (whole) integers transformed to int16
/// and summed in int32, see src/tensor/compute/winograd_integer.h; always with channels in blocks.
struct WinogradKind {
  std::int64_t m = 0;      ///< rows and columns of a tile
  std::int64_t block = 0;  ///< channels per block; 0 for plain NCHW
  bool whole = false;
};
WinogradKind WinogradKindOf(const Workload& workload, const KernelLayouts& layouts);

/// The shape of the weight [O, I, r, r] for tiles of m x m outputs: [window, window, I, O], or with
/// channels in blocks of b [O / b, window, window, I, b], O rounded up to whole blocks. In whole
/// numbers [O / b, window, window, I / 2, b, 2]: pairs are multiplied at once.
std::vector<std::int64_t> WinogradWeightShape(const ConvShape& shape, const WinogradKind& kind);
/// The weight of that shape, float32 or int16, zeros where it was rounded up.
Tensor WinogradWeight(const Tensor& weight, const WinogradKind& kind);

/// The stages of the convolution of `data` (padded: zeros for all windows are there) with a
/// transformed weight. In order:
///   "window" [ci, p, a, b]: the data of tile p
///   "rows" [ci, p, e, b], "data_transform" [e, f, ci, p]: transformed along rows, then columns
///   "products" [e, f, k, p]: one matrix product for each of window^2 positions
///   "columns" [k, p, i, f], "tile" [k, p, i, j]: transformed back
///   "reduce" [n, k, oh, ow]: the tiles in their places
/// With channels in blocks, c the channel of a block: "rows" [cb, p, e, b, c], "data_transform"
/// [e, f, cb, p, c], "products" [e, f, kb, p, c], "columns" [kb, p, i, f, c], "tile" [kb, p, i, j,
/// c], "reduce" [n, kb, oh, ow, c].
std::vector<ComputeOp> WinogradStages(const Buffer& data, const Buffer& weight,
                                      const ConvShape& shape, const WinogradKind& kind);

}  // namespace tilewright
