// `auto.cuda/flat`: every stage a launch, or whole rows of several stages in one, with the
// distribution over blocks and threads as knobs.

#include "src/target/gpu.h"
#include "src/templates/auto/grid_stages.h"
#include "src/templates/auto/rules.h"
#include "src/templates/auto/templates.h"
#include "src/templates/limits.h"
#include "src/templates/space_values.h"
#include "src/templates/stages.h"
#include "src/tensor/expression/collapse.h"

namespace tilewright {
namespace flat_cuda_auto {
namespace {

constexpr KnobDoc kKnobs[] = {
    {"threads", "Threads of a block."},
    {"elements",
     "Elements, or vectors of them, that one thread computes after each other. Without effect "
     "on sums."},
    {"vector", "Neighbouring elements that one access of a thread writes. Without effect on sums."},
    {"joined", "true treats neighbouring dimensions that are read and written alike as one."},
    {"row_threads", "Threads that share one sum, or one row of the result. Only with reductions."},
    {"rows",
     "true computes all stages of a row in one block, if the computation goes row by row and a"
     " row fits into shared memory. Only with reductions."},
    {"blocks",
     "true splits long sums into sums of blocks, which are added up. Only with reductions."},
};

Result<ConfigSpace> FlatCudaSpace(const Workload& w) {
  std::vector<Result<Knob>> knobs = {
      Knob::Other("threads", {256, 32, 64, 128, 512, 1024}), Knob::Other("elements", {1, 2, 4, 8}),
      Knob::Other("vector", {1, 2, 4}), Knob::Bool("joined", {true, false})};
  if (HasReduction(w.expression)) {
    knobs.push_back(Knob::Other("row_threads", {32, 1, 8, 16, 64, 128, 256, 512}));
    knobs.push_back(Knob::Bool("rows", {true, false}));
    knobs.push_back(Knob::Bool("blocks", {true, false}));
  }
  return MakeSpace(std::move(knobs));
}

std::string Refuses(const Workload& w, const Target& target) {
  if (std::string why = RefusesAnyExpression(w, target); !why.empty()) return why;
  return ComputeCapabilityOf(target).status().message();
}

Result<ConfigSpace> DefineSpace(const Workload& w, const Target&) { return FlatCudaSpace(w); }

Result<Config> DefaultConfig(const Workload& w, const Target&) {
  TW_ASSIGN_OR_RETURN(auto space, FlatCudaSpace(w));
  return space.At(0);
}

Result<Kernel> Apply(const Workload& w, const Epilogue&, const Target& target,
                     const Config& config) {
  const bool joined = config.Integer("joined") != 0;
  Compute compute = DefineExpression(joined ? Collapsed(w.expression) : w.expression);
  std::vector<std::string> arranged;
  if (joined) arranged.emplace_back("joined");
  GridChoices choices;
  choices.threads = config.Integer("threads");
  choices.elements = config.Integer("elements");
  choices.vector = config.Integer("vector");
  choices.shared_bytes = LowerLimitsFor(target).launch.shared_bytes;
  bool rows = false;
  if (HasReduction(w.expression)) {
    choices.row_threads = config.Integer("row_threads");
    rows = config.Integer("rows") != 0;
    if (config.Integer("blocks") != 0) {
      SplitLongReductions(compute);
      arranged.emplace_back("sums_in_blocks");
    }
  }
  Schedule schedule(std::move(compute));
  auto in_rows = rows ? RowsOfBlocks(schedule, choices) : std::nullopt;
  if (in_rows) {
    schedule = *std::move(in_rows);
  } else {
    InlineElementwise(schedule);
    DistributeStages(schedule, {}, choices);
  }
  return FinishKernel(std::move(schedule), {}, std::move(arranged));
}

}  // namespace
}  // namespace flat_cuda_auto

TemplateEntry AutoFlatCudaEntry() {
  using namespace flat_cuda_auto;
  return LoopTemplate("auto.cuda/flat", 1, "cuda", kKnobs, &Refuses, &DefineSpace, &DefaultConfig,
                      &Apply);
}

}  // namespace tilewright
