#pragma once

#include "src/templates/registry.h"

namespace tilewright {

// The templates for CUDA; how each works is at the beginning of its .cc.

/// `batch_matmul.cuda`: AutoTVM's batched matrix product.
TemplateEntry BatchMatmulCudaEntry();
/// `batch_matmul_mma.cuda`, `dense_mma.cuda`: matrix products on tensor cores, for the types of
/// RefusesMmaTypes (mma.h) and sizes that are multiples of the instruction's.
TemplateEntry BatchMatmulMmaCudaEntry();
TemplateEntry DenseMmaCudaEntry();
/// `conv2d_mma.cuda`: convolutions on tensor cores, as an implicit matrix product.
TemplateEntry Conv2dMmaCudaEntry();
/// `conv2d_nchw.cuda`: AutoTVM's direct convolution.
TemplateEntry Conv2dNchwCudaEntry();
/// `conv2d_NCHWc_int8.cuda`: AutoTVM's convolution of 8-bit data in blocks of 4 channels, whose
/// products one dp4a sums.
TemplateEntry Conv2dNchwcInt8CudaEntry();
/// `conv2d_nchw_winograd.cuda`: AutoTVM's Winograd convolution.
TemplateEntry Conv2dNchwWinogradCudaEntry();
/// `conv2d_transpose_nchw.cuda`: AutoTVM's transposed convolution.
TemplateEntry Conv2dTransposeNchwCudaEntry();
/// `dense_int8.cuda`: AutoTVM's matrix product of 8-bit data, by dp4a.
TemplateEntry DenseInt8CudaEntry();
/// `dense_large_batch.cuda`: AutoTVM's matrix product for 32 rows or more.
TemplateEntry DenseLargeBatchCudaEntry();
/// `dense_small_batch.cuda`: AutoTVM's matrix product with one block for each result.
TemplateEntry DenseSmallBatchCudaEntry();
/// `depthwise_conv2d_nchw.cuda`: AutoTVM's depthwise convolution.
TemplateEntry DepthwiseConv2dNchwCudaEntry();
/// `group_conv2d_nchw.cuda`: AutoTVM's convolution of several groups.
TemplateEntry GroupConv2dNchwCudaEntry();

/// `conv2d.cudnn`, `dense.cublas`, `batch_matmul.cublas`: cuDNN and cuBLAS, only for targets that
/// name the library (-libs=cudnn,cublas).
TemplateEntry Conv2dCudnnEntry();
TemplateEntry DenseCublasEntry();
TemplateEntry BatchMatmulCublasEntry();

/// All of them in order of preference.
inline constexpr TemplateMaker kCudaTemplates[] = {
    &Conv2dMmaCudaEntry,
    &Conv2dNchwcInt8CudaEntry,
    &Conv2dNchwCudaEntry,
    &Conv2dNchwWinogradCudaEntry,
    &DepthwiseConv2dNchwCudaEntry,
    &GroupConv2dNchwCudaEntry,
    &Conv2dTransposeNchwCudaEntry,
    &DenseMmaCudaEntry,
    &DenseInt8CudaEntry,
    &DenseLargeBatchCudaEntry,
    &DenseSmallBatchCudaEntry,
    &BatchMatmulMmaCudaEntry,
    &BatchMatmulCudaEntry,
    &Conv2dCudnnEntry,
    &DenseCublasEntry,
    &BatchMatmulCublasEntry,
};

}  // namespace tilewright
