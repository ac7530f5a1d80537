#include "src/templates/workload_kind.h"

namespace tilewright {

bool IsFlatConvolution(const ConvShape& s) {
  return s.r == 1 && s.s == 1 && s.stride_h == 1 && s.stride_w == 1 && s.pad_top == 0 &&
         s.pad_left == 0 && s.pad_bottom == 0 && s.pad_right == 0;
}

Workload PlainConvolution(const Workload& w, const ConvShape& s, bool flat) {
  Workload plain = w;
  plain.data_layout = "NCHW";
  plain.kernel_layout = "OIHW";
  plain.data.shape = {s.n, s.c, flat ? 1 : s.h, flat ? s.h * s.w : s.w};
  plain.weight.shape = {s.k, s.c / s.groups, s.r, s.s};
  return plain;
}

bool IsFloat32(const Workload& w) {
  return w.data.dtype == kFloat32 && w.weight.dtype == kFloat32 && w.out_dtype == kFloat32;
}

bool IsFloat16(const Workload& w) { return w.data.dtype == kFloat16 && w.weight.dtype == kFloat16; }

bool IsBFloat16(const Workload& w) {
  return w.data.dtype == kBFloat16 && w.weight.dtype == kBFloat16;
}

bool IsInt8(const Workload& w) {
  return (w.data.dtype == kInt8 || w.data.dtype == kUInt8) && w.weight.dtype == kInt8 &&
         w.out_dtype == kInt32;
}

bool IsInt16(const Workload& w) {
  const DataType weight = w.weight.dtype;
  return w.data.dtype == kInt16 && (weight == kInt16 || weight == kInt8 || weight == kUInt8) &&
         w.out_dtype == kInt32;
}

std::string RefusesDense(const Workload& w) {
  if (w.op != OpKind::kDense) return "only dense";
  return w.data_layout == "MK" && w.kernel_layout == "NK" ? "" : "only MK data and NK weights";
}

bool IsPlainNchw(const Workload& w) { return w.data_layout == "NCHW" && w.kernel_layout == "OIHW"; }

MatmulSizes MatmulSizesOf(const Workload& w) {
  const std::size_t rank = w.data.shape.size();
  return {w.data.shape[rank - 2], w.weight.shape[w.kernel_layout.find('N')],
          w.data.shape[rank - 1]};
}

std::string Blocked(const std::string& layout, std::int64_t block, char dimension) {
  return layout + std::to_string(block) + dimension;
}

}  // namespace tilewright
