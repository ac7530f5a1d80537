#pragma once

#include "src/templates/registry.h"

namespace tilewright {

// The templates for CPUs; how each works is at the beginning of its .cc.

/// `anchor_plain.cpu`: any anchor in the workload's own layouts (grouped and transposed
/// convolutions, NHWC, every integer type).
TemplateEntry AnchorPlainCpuEntry();
/// `batch_matmul.x86`: AutoTVM's batched matrix product.
TemplateEntry BatchMatmulX86Entry();
/// `batch_matmul_columns.cpu`: batched matrix products of floats and 16-bit integers for which
/// those below have no vectors: of few rows, and with columns that are rows in memory.
TemplateEntry BatchMatmulColumnsCpuEntry();
/// `batch_matmul_packed.cpu`: products of matrices of 16- or 32-bit floats that are both computed.
TemplateEntry BatchMatmulPackedCpuEntry();
/// `batch_matmul_packed_int8.cpu`: the same for 8-bit data and the dot product of the target.
TemplateEntry BatchMatmulPackedInt8CpuEntry();
/// `conv2d_direct.cpu`: float32 and float16 convolutions with activations in blocks of the target's
/// vector lanes, also in groups of whole blocks, or of several groups in one block.
TemplateEntry Conv2dDirectCpuEntry();
/// `conv2d_direct_int8.cpu`: the same for 8-bit data and the dot product of the target.
TemplateEntry Conv2dDirectInt8CpuEntry();
/// `conv2d_direct_bf16.cpu`: the same for bfloat16 and the dot product of its pairs.
TemplateEntry Conv2dDirectBFloat16CpuEntry();
/// `conv2d_half_blocks.cpu`: all of them on 512-bit vectors, in blocks of half a vector on each
/// side whose last block would otherwise be half empty.
TemplateEntry Conv2dHalfBlocksCpuEntry();
/// `conv2d_NCHWc.x86`: AutoTVM's blocked convolution.
TemplateEntry Conv2dNchwcX86Entry();
/// `conv2d_NCHWc_int8.x86`: AutoTVM's blocked convolution of 8-bit data for AVX-512's dot product.
TemplateEntry Conv2dNchwcInt8X86Entry();
/// `conv2d_pixels.cpu`: convolutions in NCHW, of any number of groups and channels.
TemplateEntry Conv2dPixelsCpuEntry();
/// `conv2d_winograd.cpu`: Winograd's convolution of 16- or 32-bit floats, in float32.
TemplateEntry Conv2dWinogradCpuEntry();
/// `conv2d_winograd_int8.cpu`: Winograd's convolution of 8-bit integers, exactly
/// (src/tensor/compute/winograd_integer.h).
TemplateEntry Conv2dWinogradInt8CpuEntry();
/// `dense_nopack.x86`: AutoTVM's matrix product that reads the weight in its own layout.
TemplateEntry DenseNopackX86Entry();
/// `dense_pack.x86`: AutoTVM's matrix product with a packed weight.
TemplateEntry DensePackX86Entry();
/// `dense_packed.cpu`: matrix products with constant weights, of 16- or 32-bit floats or 8-bit.
TemplateEntry DensePackedCpuEntry();
/// `dense_padded_int8.cpu`: the same for 8-bit data and sums whose length is no multiple of the dot
/// product's; the data are copied with zeros at the end of each row.
TemplateEntry DensePaddedInt8CpuEntry();
/// `dense_thin.cpu`: float32 matrix products with few results.
TemplateEntry DenseThinCpuEntry();
/// `depthwise_conv2d_NCHWc.x86`: AutoTVM's depthwise convolution in blocks of channels.
TemplateEntry DepthwiseNchwcX86Entry();
/// `depthwise_direct.cpu`: depthwise convolutions of floats of 16 and 32 bits or 8-bit data, with
/// activations in blocks of the target's vector lanes.
TemplateEntry DepthwiseDirectCpuEntry();
/// `depthwise_pixels.cpu`: float32 depthwise convolutions in NCHW whose windows move by one column,
/// for networks that keep NCHW around them.
TemplateEntry DepthwisePixelsCpuEntry();
/// `depthwise_taps_int8.cpu`: depthwise convolutions of 8-bit data on CPUs with dot products of
/// bytes.
TemplateEntry DepthwiseTapsInt8CpuEntry();
/// `group_conv2d_shuffled.cpu`: the kernel of conv2d_pixels.cpu, with the channels of its result in
/// the order of a channel shuffle: the first of each group, then the second of each, …
TemplateEntry GroupConv2dShuffledCpuEntry();

/// `conv2d_amx.cpu`, `dense_amx.cpu`, `batch_matmul_amx.cpu`: products of bytes and of bfloat16 in
/// tile registers, only for targets with AMX.
TemplateEntry Conv2dAmxCpuEntry();
TemplateEntry DenseAmxCpuEntry();
TemplateEntry BatchMatmulAmxCpuEntry();

/// `matmul_nbits.cpu`: products of float rows and weights of few bits in blocks
/// (src/tensor/block_quantized.h).
TemplateEntry MatmulNbitsCpuEntry();

/// `conv2d.dnnl`, `dense.dnnl`, `batch_matmul.dnnl`: oneDNN, only for targets that name it
/// (-libs=dnnl).
TemplateEntry Conv2dDnnlEntry();
TemplateEntry DenseDnnlEntry();
TemplateEntry BatchMatmulDnnlEntry();

/// All of them in order of preference: Tilewright's templates, AutoTVM's, the template that serves
/// every anchor, libraries.
// One on each line: patches and merges touch one.
// clang-format off
inline constexpr TemplateMaker kCpuTemplates[] = {
    &Conv2dDirectCpuEntry,
    &Conv2dDirectInt8CpuEntry,
    &Conv2dDirectBFloat16CpuEntry,
    &DepthwiseDirectCpuEntry,
    &DepthwiseTapsInt8CpuEntry,
    &DensePaddedInt8CpuEntry,
    &DensePackedCpuEntry,
    &BatchMatmulPackedCpuEntry,
    &BatchMatmulPackedInt8CpuEntry,
    &MatmulNbitsCpuEntry,
    &Conv2dNchwcInt8X86Entry,
    &Conv2dNchwcX86Entry,
    &Conv2dHalfBlocksCpuEntry,
    &Conv2dPixelsCpuEntry,
    &Conv2dWinogradCpuEntry,
    &Conv2dWinogradInt8CpuEntry,
    &DepthwiseNchwcX86Entry,
    &DepthwisePixelsCpuEntry,
    &GroupConv2dShuffledCpuEntry,
    &DensePackX86Entry,
    &DenseNopackX86Entry,
    &DenseThinCpuEntry,
    &BatchMatmulX86Entry,
    &BatchMatmulColumnsCpuEntry,
    &Conv2dAmxCpuEntry,
    &DenseAmxCpuEntry,
    &BatchMatmulAmxCpuEntry,
    &AnchorPlainCpuEntry,
    &Conv2dDnnlEntry,
    &DenseDnnlEntry,
    &BatchMatmulDnnlEntry,
};
// clang-format on

}  // namespace tilewright
