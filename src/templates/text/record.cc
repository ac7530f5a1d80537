// Writes a schedule as the text that makes it: the primitives that were applied, one a line, with a
// name for each stage and loop. The text is parsed and applied again and has to give the same
// loops; otherwise it is not returned.

#include <fmt/format.h>

#include <map>
#include <set>

#include "src/ir/print.h"
#include "src/schedule/lower/lower.h"
#include "src/templates/limits.h"
#include "src/templates/text/apply.h"
#include "src/templates/text/keywords.h"
#include "src/templates/text/text_template.h"

namespace tilewright {
namespace {

class Recorder {
 public:
  explicit Recorder(const Schedule& schedule) : schedule_(schedule) {}

  Result<std::string> Run() {
    for (const Schedule::Step& step : schedule_.steps()) TW_RETURN_IF_ERROR(One(step));
    return std::move(out_);
  }

 private:
  using Primitive = Schedule::Primitive;

  std::string NewName(const std::string& like) {
    constexpr std::size_t kLongest = 48;
    std::string name;
    for (const char c : like.substr(0, kLongest)) {
      const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      name += fine ? c : '_';
    }
    if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name.insert(0, "l");
    if (IsReservedInSchedules(name)) name += "_";
    const std::string first = name;
    for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", first, i);
    return name;
  }

  const std::string& NameOf(StageId stage) {
    std::string& name = stages_[stage.index];
    if (name.empty()) {
      const std::string& own = schedule_.stage(stage).op.name;
      name = NewName(own);
      out_ += fmt::format("{} = stage(\"{}\")\n", name, own);
    }
    return name;
  }
  const std::string& Named(StageId stage) {
    return stages_[stage.index] = NewName(schedule_.stage(stage).op.name);
  }
  const std::string& Named(StageId stage, LoopId loop) {
    const std::string own = schedule_.stage(stage).op.name + "_" + schedule_.loop(loop).name;
    return loops_[loop.index] = NewName(own);
  }
  const std::string& NameOf(StageId stage, LoopId loop) {
    if (const auto found = loops_.find(loop.index); found != loops_.end()) return found->second;
    const Schedule::StageInfo& info = schedule_.stage(stage);
    const std::string of = NameOf(stage);
    std::string axis = "axis";
    std::size_t place = 0;
    while (place < info.root.size() && !(info.root[place] == loop)) ++place;
    if (place >= info.op.axes.size()) {
      axis = "reduced";
      place -= info.op.axes.size();
    }
    const std::string& name = Named(stage, loop);
    out_ += fmt::format("{} = {}({}, {})\n", name, axis, of, place);
    return name;
  }
  /// Loops of the step, as arguments.
  std::string LoopsOf(const Schedule::Step& step, std::size_t count) {
    std::string list;
    for (std::size_t i = 0; i < count; ++i) {
      list += (i > 0 ? ", " : "") + NameOf(step.stage, step.loops[i]);
    }
    return list;
  }

  Status One(const Schedule::Step& step) {
    switch (step.primitive) {
      case Primitive::kSplit:
      case Primitive::kSplitParts:
      case Primitive::kFuse:
      case Primitive::kReorder:
      case Primitive::kAnnotate:
      case Primitive::kPragma:
      case Primitive::kPrefetch:
      case Primitive::kTensorize:
        OfLoops(step);
        return {};
      case Primitive::kCallLibrary:
        return Unsupported("a library's call computes stage '" +
                           schedule_.stage(step.stage).op.name + "', which no text can say");
      default:
        OfStages(step);
        return {};
    }
  }

  void OfLoops(const Schedule::Step& step) {
    const bool split =
        step.primitive == Primitive::kSplit || step.primitive == Primitive::kSplitParts;
    const std::size_t count = split                                ? 1
                              : step.primitive == Primitive::kFuse ? 2
                                                                   : step.loops.size();
    const std::string loops = LoopsOf(step, count);
    switch (step.primitive) {
      case Primitive::kSplit:
      case Primitive::kSplitParts: {
        const std::string outer = Named(step.stage, step.loops[1]);
        out_ += fmt::format("{}, {} = {}({}, {}{})\n", outer, Named(step.stage, step.loops[2]),
                            step.primitive == Primitive::kSplit ? "split" : "parts", loops,
                            step.number, step.tail == Tail::kPeel ? ", peel" : "");
        return;
      }
      case Primitive::kFuse:
        out_ += fmt::format("{} = fuse({})\n", Named(step.stage, step.loops[2]), loops);
        return;
      case Primitive::kReorder:
        out_ += fmt::format("reorder({})\n", loops);
        return;
      case Primitive::kPragma:
        out_ += fmt::format("pragma({}, \"{}\", {})\n", loops, step.text, step.number);
        return;
      case Primitive::kPrefetch:
        out_ +=
            fmt::format("prefetch({}, \"{}\", {}, {})\n", loops, step.text, step.number, step.more);
        return;
      case Primitive::kTensorize:
        out_ += fmt::format("tensorize({}, \"{}\")\n", loops, step.text);
        return;
      default:
        break;
    }
    if (step.kind == LoopKind::kParallel) out_ += fmt::format("parallel({})\n", loops);
    if (step.kind == LoopKind::kVectorized) out_ += fmt::format("vectorize({})\n", loops);
    if (step.kind == LoopKind::kUnrolled) out_ += fmt::format("unroll({})\n", loops);
    for (const auto& [kind, word] : kThreadKeywords) {
      if (step.kind == kind) out_ += fmt::format("bind({}, {})\n", loops, word);
    }
  }

  void OfStages(const Schedule::Step& step) {
    const std::string stage = NameOf(step.stage);
    switch (step.primitive) {
      case Primitive::kComputeAt: {
        const std::string at = NameOf(step.other, step.loops[0]);
        out_ += fmt::format("compute_at({}, {})\n", stage, at);
        return;
      }
      case Primitive::kComputeInline:
        out_ += fmt::format("inline({})\n", stage);
        return;
      case Primitive::kCacheWrite:
        out_ += fmt::format("{} = cache_write({}, {})\n", Named(step.other), stage,
                            ScopeName(step.scope));
        return;
      case Primitive::kCacheRead:
        out_ += fmt::format("{} = cache_read(\"{}\", {}, {})\n", Named(step.other), step.text,
                            ScopeName(step.scope), stage);
        return;
      case Primitive::kRFactor:
        out_ += fmt::format("{} = rfactor({}, {}, {})\n", Named(step.other), stage, step.number,
                            step.more);
        return;
      case Primitive::kSetScope:
        out_ += fmt::format("scope({}, {})\n", stage, ScopeName(step.scope));
        return;
      case Primitive::kSkipZeroTaps:
        out_ += fmt::format("skip_zero_taps({})\n", stage);
        return;
      case Primitive::kDoubleBuffer:
        out_ += fmt::format("double_buffer({})\n", stage);
        return;
      case Primitive::kPipeline:
        out_ += fmt::format("pipeline({}, {})\n", stage, step.number);
        return;
      case Primitive::kPadRows:
        out_ += fmt::format("pad_rows({}, {}, {})\n", stage, step.number, step.more);
        return;
      case Primitive::kKeep:
        out_ += fmt::format("keep({})\n", stage);
        return;
      default:
        return;
    }
  }

  const Schedule& schedule_;
  std::map<int, std::string> stages_, loops_;
  std::set<std::string> taken_;
  std::string out_;
};

std::string LayoutsText(const KernelLayouts& layouts) {
  std::string out;
  if (!layouts.data.empty()) out += fmt::format("form(data, \"{}\")\n", layouts.data);
  if (!layouts.weight.empty()) out += fmt::format("form(weight, \"{}\")\n", layouts.weight);
  if (!layouts.output.empty()) out += fmt::format("form(output, \"{}\")\n", layouts.output);
  if (layouts.shift_data) out += "form(shift_data, 1)\n";
  if (layouts.multiply_dtype) {
    out += fmt::format("form(multiply_type, \"{}\")\n", DataTypeName(*layouts.multiply_dtype));
  }
  if (layouts.winograd_tile > 0) out += fmt::format("form(winograd, {})\n", layouts.winograd_tile);
  if (layouts.spatial_pack != SpatialPack()) {
    const auto& [channels, rows, columns] = layouts.spatial_pack;
    out += fmt::format("form(spatial_pack, {}, {}, {})\n", channels, rows, columns);
  }
  return out;
}

/// Lowered loops as text, or the reason why the schedule cannot be lowered.
std::string LoweredText(const Schedule& schedule, const Target& target) {
  const auto program = Lower(schedule, "kernel", LowerLimitsFor(target));
  return program.ok() ? ToString(*program) : program.status().message();
}

}  // namespace

Result<std::string> TextOfKernel(const Kernel& kernel, const Workload& workload,
                                 const Epilogue& epilogue, const Target& target,
                                 std::string_view name) {
  TW_RETURN_IF_ERROR(kernel.schedule.status());
  std::string text = fmt::format("schedule {} for {} on {}\nwhere workload() == \"{}\"\n", name,
                                 workload.op_name(), target.device(), workload.Key());
  for (const std::string& arranged : kernel.arranged)
    text += fmt::format("arrange({})\n", arranged);
  // The layouts of an expression follow from how its operands were arranged.
  if (workload.op != OpKind::kExpression) text += LayoutsText(kernel.layouts);
  TW_ASSIGN_OR_RETURN(auto primitives, Recorder(kernel.schedule).Run());
  text += primitives;
  TW_ASSIGN_OR_RETURN(auto parsed, ParseScheduleText(text, "the schedule's text"));
  TW_ASSIGN_OR_RETURN(auto again,
                      ScheduleApplier(parsed, workload, epilogue, target).Run(ConfigSpace().At(0)));
  const bool same = again.layouts == kernel.layouts &&
                    again.schedule.ToString() == kernel.schedule.ToString() &&
                    LoweredText(again.schedule, target) == LoweredText(kernel.schedule, target);
  if (!same) {
    return Unsupported("the template arranges what is computed in a way that no text can say");
  }
  return text;
}

}  // namespace tilewright
