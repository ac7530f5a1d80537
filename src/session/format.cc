#include "src/session/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "src/base/hash.h"
#include "src/base/text/plural.h"
#include "src/tensor/layout.h"
#include "src/tensor/open_workload.h"

namespace tilewright::session {
namespace {

/// Returns the logical shape of a tensor: the parts of a blocked dimension are multiplied.
std::vector<std::int64_t> PlainSizes(const TensorType& type, const std::string& text) {
  const auto layout = Layout::Parse(text);
  return layout.ok() && layout->parts().size() == type.shape.size() ? layout->Unpack(type.shape)
                                                                    : type.shape;
}

std::string ShortJoules(double joules) {
  if (joules < 1e-3) return fmt::format("{:.1f} µJ", joules * 1e6);
  if (joules < 1) return fmt::format("{:.2f} mJ", joules * 1e3);
  return fmt::format("{:.2f} J", joules);
}

}  // namespace

std::string ShortName(const Workload& workload) {
  if (auto conv = ConvShapeOf(workload); conv.ok()) {
    std::string name =
        fmt::format("{} {}->{} {}x{}", workload.op_name(), conv->c, conv->k, conv->r, conv->s);
    if (conv->stride_h != conv->stride_w) {
      name += fmt::format(" s{}x{}", conv->stride_h, conv->stride_w);
    } else if (conv->stride_h != 1) {
      name += fmt::format(" s{}", conv->stride_h);
    }
    if (conv->n != 1) name += fmt::format(" n{}", conv->n);
    return name + fmt::format(" {}x{}", conv->h, conv->w);
  }
  if (IsOpen(workload)) return OpenNameOf(workload);
  if (workload.op == OpKind::kExpression) {
    // The key is too long for a name; a hash distinguishes expressions.
    const std::string hash = HexOf(Fnv1a64(workload.Key())).substr(0, 8);
    return fmt::format("expression {} {}", hash,
                       fmt::join(workload.expression.result().shape, "x"));
  }
  if (!IsAnchor(workload.op)) {
    return fmt::format("{} {}", workload.op_name(), fmt::join(workload.data.shape, "x"));
  }
  const auto weight = PlainSizes(workload.weight, workload.kernel_layout);
  return fmt::format("{} {}x{}", workload.op_name(),
                     fmt::join(PlainSizes(workload.data, workload.data_layout), "x"),
                     weight.empty() ? 0 : weight.front());
}

std::string ShortSeconds(double seconds) {
  if (seconds <= 0) return "-";
  if (seconds < 0.95e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.1f} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string ShortValue(std::string_view metric, double value) {
  if (metric == "seconds") return ShortSeconds(value);
  if (value <= 0) return "-";
  // Small sizes, such as those of kernel code, are in kB.
  if (metric.ends_with("bytes") && value < 1e5) return fmt::format("{:.3f} kB", value * 1e-3);
  if (metric.ends_with("bytes")) return fmt::format("{:.3f} MB", value * 1e-6);
  if (metric == "joules") return ShortJoules(value);
  return fmt::format("{:.1f} k{}", value * 1e-3, metric);
}

std::string ShortDuration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string AllTasksText(const search::NetworkTimes& times) {
  if (times.without == 0) return "all tasks, as often as they are used";
  return fmt::format("{} of {} ({} without a time)", times.with,
                     Counted(times.with + times.without, "task"), times.without);
}

std::string RooflineShareText(double bound, double value) {
  return bound > 0 && value > 0 ? fmt::format("{:.1f}%", 100 * bound / value) : "-";
}

}  // namespace tilewright::session
