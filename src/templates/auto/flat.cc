// `auto.cpu/flat`: the schedule of operators that are not tuned, with the decisions of its rules as
// knobs. Neighbouring dimensions of tensors can be joined to one.

#include <algorithm>

#include "src/target/cpu.h"
#include "src/templates/auto/rules.h"
#include "src/templates/auto/templates.h"
#include "src/templates/fixed_schedule.h"
#include "src/templates/space_values.h"
#include "src/tensor/expression/collapse.h"

namespace tilewright {
namespace flat_auto {
namespace {

constexpr KnobDoc kKnobs[] = {
    {"lanes", "Elements of one vector, along the innermost axis of a stage."},
    {"joined", "true treats neighbouring dimensions that are read and written alike as one."},
    {"across",
     "true transposes blocks of rows in registers where the data of a stage are contiguous "
     "along another axis than its vectors."},
    {"repeat", "Vectors that are unrolled in a stage without reduction."},
    {"tile", "Vectors of sums in registers at the same time. Only with reductions."},
    {"unroll",
     "The innermost reduction axis is unrolled if it has at most this many iterations. Only "
     "with reductions."},
    {"rows",
     "true computes all stages of one row of the result after each other, if the computation "
     "goes row by row. Only with reductions."},
    {"blocks",
     "true splits long sums into sums of blocks, which are added up. Only with reductions."},
};

Result<ConfigSpace> FlatSpace(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto features, FeaturesOf(target));
  const std::int64_t lanes = features.float_lanes();
  std::vector<Result<Knob>> knobs = {
      Knob::Other("lanes", {lanes, 2 * lanes, std::max<std::int64_t>(lanes / 2, 1)}),
      Knob::Bool("joined", {true, false}), Knob::Bool("across", {true, false}),
      Knob::Other("repeat", {1, 2, 4, 8})};
  if (HasReduction(w.expression)) {
    knobs.push_back(Knob::Other("tile", {4, 1, 2, 8}));
    knobs.push_back(Knob::Other("unroll", {3, 1, 8, 16}));
    knobs.push_back(Knob::Bool("rows", {true, false}));
    knobs.push_back(Knob::Bool("blocks", {true, false}));
  }
  return MakeSpace(std::move(knobs));
}

std::string Refuses(const Workload& w, const Target& target) {
  return RefusesAnyExpression(w, target);
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target& target) {
  return FlatSpace(w, target);
}

Result<Config> DefaultConfig(const Workload& w, const Target& target) {
  TW_ASSIGN_OR_RETURN(auto space, FlatSpace(w, target));
  return space.At(0);
}

Result<Kernel> Apply(const Workload& w, const Epilogue&, const Target& target,
                     const Config& config) {
  const bool joined = config.Integer("joined") != 0;
  Compute compute = DefineExpression(joined ? Collapsed(w.expression) : w.expression);
  std::vector<std::string> arranged;
  if (joined) arranged.emplace_back("joined");
  FlatChoices choices;
  choices.lanes = config.Integer("lanes");
  choices.across = config.Integer("across") != 0;
  choices.repeat = config.Integer("repeat");
  if (HasReduction(w.expression)) {
    choices.tile = config.Integer("tile");
    choices.unroll = config.Integer("unroll");
    choices.rows = config.Integer("rows") != 0;
    if (config.Integer("blocks") != 0) {
      SplitLongReductions(compute);
      arranged.emplace_back("sums_in_blocks");
    }
  }
  TW_ASSIGN_OR_RETURN(auto schedule, FlatSchedule(std::move(compute), target, choices));
  return Kernel{std::move(schedule), KernelLayouts(), std::move(arranged)};
}

}  // namespace
}  // namespace flat_auto

TemplateEntry AutoFlatEntry() {
  using namespace flat_auto;
  return LoopTemplate("auto.cpu/flat", 1, "llvm", kKnobs, &Refuses, &DefineSpace, &DefaultConfig,
                      &Apply);
}

}  // namespace tilewright
