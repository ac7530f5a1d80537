#include "src/ir/print.h"
#include "src/schedule/schedule.h"

namespace tilewright {

std::string Schedule::ToString() const {
  std::string out;
  for (StageId id : order_) {
    const StageInfo& info = stage(id);
    out += "stage " + info.op.name;
    if (info.attach == Attach::kInline) {
      out += " inlined\n";
      continue;
    }
    if (info.attach == Attach::kAt) {
      out += " at " + stage(info.consumer).op.name + "." + loop(info.at).name;
    }
    if (info.keep) out += " kept";
    if (info.scope == Scope::kLocal) out += " local";
    if (info.scope == Scope::kShared) out += " shared";
    if (info.skip_zero_taps) out += " skip_zero_taps";
    if (info.library) out += " " + info.library->operation + " by " + info.library->file;
    if (info.double_buffer) out += " double_buffer";
    if (info.pipeline > 0) out += " pipeline=" + std::to_string(info.pipeline);
    if (info.row_padding > 0) {
      out +=
          " pad_rows=" + std::to_string(info.padded_rows) + "x" + std::to_string(info.row_padding);
    }
    out += "\n";
    for (const Relation& r : info.relations) {
      const bool split = r.kind == Relation::Kind::kSplit;
      const std::string how =
          r.parts != 0 ? " in " + std::to_string(r.parts) : " by " + std::to_string(r.factor);
      out += split ? "  split " + loop(r.parent).name + how + (r.tail == Tail::kPeel ? " peel" : "")
                   : "  fuse " + loop(r.outer).name + ", " + loop(r.inner).name;
      out += "\n";
    }
    for (LoopId leaf : info.leaves) {
      const LoopInfo& l = loop(leaf);
      out +=
          "  loop " + l.name + " " + std::to_string(l.extent) + (l.reduction ? " reduction" : "");
      out += LoopSuffix(l.kind);
      if (leaf == info.tensorized) out += " " + info.intrinsic;
      for (const auto& [name, value] : l.pragmas) out += " " + name + "=" + std::to_string(value);
      out += "\n";
    }
  }
  if (!status_.ok()) out += "refused: " + status_.message() + "\n";
  return out;
}

}  // namespace tilewright
