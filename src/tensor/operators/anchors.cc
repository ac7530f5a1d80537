// Anchors: sums of products. Their loops (compute/anchor.cc) and reference results
// (reference/contraction.cc) follow from a workload; of matrix products, from the letters here.
#include "src/tensor/operator_table.h"
#include "src/tensor/operator_types.h"

namespace tilewright {
namespace {

constexpr OperatorRow kAnchorRows[] = {
    {.kind = OpKind::kConv2d,
     .name = "conv2d",
     .family = OpFamily::kAnchor,
     .description = "data, weight: sums of windows; strides padding dilation groups layouts dtype",
     .relay = "nn.conv2d",
     .layouts = {"NCHW", "OIHW", "NCHW"},
     .error = ErrorRule::kSums,
     .type = &TypeOfAnchor},
    {.kind = OpKind::kConv2dTranspose,
     .name = "conv2d_transpose",
     .family = OpFamily::kAnchor,
     .description = "as conv2d, spread over windows; output_padding",
     .relay = "nn.conv2d_transpose",
     .layouts = {"NCHW", "IOHW", "NCHW"},
     .error = ErrorRule::kSums,
     .type = &TypeOfAnchor},
    {.kind = OpKind::kDense,
     .name = "dense",
     .family = OpFamily::kAnchor,
     .description = "data [M,K], weight [N,K]: [M,N]",
     .relay = "nn.dense",
     .layouts = {"MK", "NK", "MN"},
     .error = ErrorRule::kSums,
     .type = &TypeOfAnchor},
    {.kind = OpKind::kBatchMatmul,
     .name = "batch_matmul",
     .family = OpFamily::kAnchor,
     .description = "a [B,M,K], b [B,N,K]: [B,M,N]",
     .relay = "nn.batch_matmul",
     .layouts = {"BMK", "BNK", "BMN"},
     .error = ErrorRule::kSums,
     .type = &TypeOfAnchor},
};

}  // namespace

std::span<const OperatorRow> AnchorOperators() { return kAnchorRows; }

}  // namespace tilewright
