// Converts tasks of record format 0.1 to the names and arguments of 0.2 (reference, section 3).
// Entities and index are the same in both formats.

#include <algorithm>

#include "records/autotvm/task.h"

namespace tilewright::records {
namespace {

using Kind = AutotvmValue::Kind;
using Arguments = std::vector<AutotvmValue>;

/// Converts [h, w] to [h, w, h, w]: top, left, bottom, right.
void WidenPadding(AutotvmValue& padding) {
  if (padding.is(Kind::kInt)) padding = AutotvmValue::List({padding, padding});
  if (!padding.IsInts() || padding.items.size() != 2) return;
  padding.items.push_back(padding.items[0]);
  padding.items.push_back(padding.items[1]);
}

AutotvmValue Ones() { return AutotvmValue::List({AutotvmValue::Int(1), AutotvmValue::Int(1)}); }

/// data, kernel, strides, padding, [dilation,] layout, dtype: padding widened, layout dropped.
Status PlainConvolution(Arguments& args, bool keep_layout) {
  if (args.size() == 6) args.insert(args.begin() + 4, Ones());
  if (args.size() != 7) return Unsupported("expected 6 or 7 arguments of a convolution");
  WidenPadding(args[3]);
  if (!keep_layout) args.erase(args.begin() + 5);
  return {};
}

/// data, kernel, strides, padding, [dilation,] dtype.
Status Depthwise(Arguments& args) {
  if (args.size() == 5) args.insert(args.begin() + 4, Ones());
  if (args.size() != 6) return Unsupported("expected 5 or 6 arguments of a depthwise convolution");
  WidenPadding(args[3]);
  return {};
}

/// data, kernel, strides, padding, dtype[, output padding].
Status Transposed(Arguments& args) {
  if (args.size() == 5) {
    args.push_back(AutotvmValue::List({AutotvmValue::Int(0), AutotvmValue::Int(0)}));
  }
  if (args.size() != 6) return Unsupported("expected 5 or 6 arguments of a transposed convolution");
  WidenPadding(args[3]);
  return {};
}

/// data, kernel, channels, kernel size, [dilation,] strides, padding, layout, [out layout,] dtype
/// (or, shortly before 0.2, data, kernel, strides, padding, dilation, layout, dtype) becomes
/// data, kernel, strides, padding, dilation, "NCHW", "NCHW", dtype.
Status BlockedConvolution(Arguments& args) {
  const AutotvmValue nchw = AutotvmValue::Text("NCHW");
  if (args.size() == 7) {
    WidenPadding(args[3]);
    args = {args[0], args[1], args[2], args[3], args[4], nchw, nchw, args[6]};
    return {};
  }
  // The first text is the layout; padding and strides precede it.
  const auto layout = std::ranges::find(args, Kind::kText, &AutotvmValue::kind);
  const auto at = static_cast<std::size_t>(layout - args.begin());
  if (args.size() < 8 || args.size() > 10 || at < 6 || at > 7) {
    return Unsupported("expected 7 to 10 arguments of a blocked convolution, its layout as 6 or 7");
  }
  AutotvmValue dilation = Ones();
  if (at == 7) {
    dilation = args[4].is(Kind::kInt) ? AutotvmValue::List({args[4], args[4]}) : args[4];
  }
  AutotvmValue padding = args[at - 1];
  WidenPadding(padding);
  args = {args[0], args[1], args[at - 2], padding, dilation, nchw, nchw, args.back()};
  return {};
}

/// Converts a tensor of a workload of format 0.1: the sizes, then the dtype.
Result<AutotvmValue> WorkloadTensor(const AutotvmValue& flat) {
  if (flat.items.size() < 2 || !flat.items.back().is(Kind::kText)) {
    return Unsupported("expected packed tensors in the workload");
  }
  AutotvmValue sizes = flat;
  sizes.items.pop_back();
  return AutotvmValue::List({AutotvmValue::Text("TENSOR"), std::move(sizes), flat.items.back()});
}

/// Converts accelerator tasks of plain sizes: the line's workload has the packed tensors.
/// ["conv2d", data, kernel, strides, padding, dilation, layout, dtype]
Status FromWorkload(const AutotvmValue& workload, Arguments& args) {
  if (workload.items.size() != 8) return Unsupported("expected a workload of 8 items");
  TW_ASSIGN_OR_RETURN(auto data, WorkloadTensor(workload.items[1]));
  TW_ASSIGN_OR_RETURN(auto kernel, WorkloadTensor(workload.items[2]));
  args = {std::move(data), std::move(kernel)};
  args.insert(args.end(), workload.items.begin() + 3, workload.items.end());
  WidenPadding(args[3]);
  return {};
}

/// Returns the suffix of the task names of a device.
std::string FamilyOf(const AutotvmTarget& target) {
  const std::vector<std::string> keys = target.keys();
  const auto has = [&keys](std::string_view key) { return std::ranges::count(keys, key) > 0; };
  if (has("arm_cpu")) return "arm_cpu";
  if (has("mali")) return "mali";
  if (has("vta")) return "vta";
  return has("gpu") ? "cuda" : "x86";
}

/// Sets the successor of a convolution and its arguments.
Status UpgradeConvolution(const std::string& family, bool winograd, std::string& name,
                          Arguments& args) {
  const bool packed = !args.empty() && args[0].IsTensor() && args[0].items[1].items.size() == 6;
  if (packed && family == "vta" && !winograd) {
    name = "conv2d_packed.vta";
    return PlainConvolution(args, true);
  }
  if (family != "cuda" && family != "arm_cpu" && family != "mali") {
    return Unsupported("no successor is known");
  }
  const char* how = winograd ? "_winograd" : family == "cuda" ? "" : "_spatial_pack";
  name = std::string("conv2d_nchw") + how + "." + family;
  return PlainConvolution(args, false);
}

Status Upgrade(const std::string& family, std::string_view legacy_template,
               const AutotvmValue& workload, std::string& name, Arguments& args) {
  const bool direct = legacy_template.empty() || legacy_template == "direct";
  if (name == "topi_x86_conv2d" || name == "topi_x86_conv2d_NCHWc") {
    name = "conv2d_NCHWc.x86";
    return BlockedConvolution(args);
  }
  if (name == "topi_intel_graphics_conv2d_NCHWc") {
    name = "conv2d_NCHWc.intel_graphics";
    return BlockedConvolution(args);
  }
  if (name == "topi_nn_conv2d" && (direct || legacy_template == "winograd")) {
    return UpgradeConvolution(family, !direct, name, args);
  }
  if (name == "conv2d" && direct && family == "vta") {
    name = "conv2d_packed.vta";
    return FromWorkload(workload, args);
  }
  const bool has_spatial = family == "cuda" || family == "arm_cpu";
  if (name == "topi_nn_depthwise_conv2d_nchw" && direct && (has_spatial || family == "mali")) {
    name = "depthwise_conv2d_nchw." + family;
    return Depthwise(args);
  }
  if (name == "topi_nn_conv2d_transpose_nchw" && direct && has_spatial) {
    name = "conv2d_transpose_nchw." + family;
    return Transposed(args);
  }
  if (name == "topi_nn_dense" && direct && (family == "mali" || family == "arm_cpu")) {
    name = family == "mali" ? "dense.mali" : "dense_nopack.x86";
    return {};
  }
  return Unsupported("no successor is known");
}

}  // namespace

Status UpgradeLegacyTask(const AutotvmTarget& target, std::string_view legacy_template,
                         const AutotvmValue& workload, std::string& name, Arguments& args) {
  const std::string old = name;
  const Status status = Upgrade(FamilyOf(target), legacy_template, workload, name, args);
  if (status.ok()) return status;
  return status.WithContext("task '" + old + "' (" + std::string(legacy_template) +
                            ") of format 0.1 on " + target.kind());
}

}  // namespace tilewright::records
