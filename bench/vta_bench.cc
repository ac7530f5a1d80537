// Benchmarks of one ResNet-18 layer (64 x 56 x 56, 3x3, two virtual threads): building its stream,
// timing it without data, and executing it. Trials as in a search: random configs of Tilewright's
// slot-based space for the ten convolutions of ResNet-18, each built and timed without data.

#include <benchmark/benchmark.h>

#include "src/base/random.h"
#include "src/vta/kernels/packed_conv2d.h"
#include "src/vta/kernels/slot_conv2d_space.h"
#include "src/vta/simulator/simulator.h"
#include "src/vta/simulator/timing.h"

namespace tilewright::vta {
namespace {

const PackedConv2d kLayer = {1, 4, 4, 56, 56, 3, 3, 1, 1, 1, 1};
const PackedConv2dTiles kTiles = {8, 56, 1, 2, 2, 1};

std::vector<EpilogueStep> Epilogue() {
  using enum EpilogueStep::Operand;
  return {{AluOp::kAdd, kPerChannel, 0},
          {AluOp::kMax, kImmediate, 0},
          {AluOp::kShr, kImmediate, 8},
          {AluOp::kMin, kImmediate, 127},
          {AluOp::kMax, kImmediate, -127}};
}

void BM_BuildAndTime(benchmark::State& state) {
  const Design design = Design::Default("pynq");
  for (auto _ : state) {
    const auto stream = BuildPackedConv2d(design, kLayer, kTiles, Epilogue());
    const RunResult run = RunStream(design, stream->instructions, nullptr);
    benchmark::DoNotOptimize(
        Simulate(design, stream->instructions, run.pipeline, CycleModel::Pynq()));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_BuildAndTime);

const PackedConv2d kLayers[] = {
    {1, 4, 4, 56, 56, 3, 3, 1, 1, 1, 1},   {1, 4, 8, 56, 56, 1, 1, 2, 2, 0, 0},
    {1, 4, 8, 56, 56, 3, 3, 2, 2, 1, 1},   {1, 8, 8, 28, 28, 3, 3, 1, 1, 1, 1},
    {1, 8, 16, 28, 28, 1, 1, 2, 2, 0, 0},  {1, 8, 16, 28, 28, 3, 3, 2, 2, 1, 1},
    {1, 16, 16, 14, 14, 3, 3, 1, 1, 1, 1}, {1, 16, 32, 14, 14, 1, 1, 2, 2, 0, 0},
    {1, 16, 32, 14, 14, 3, 3, 2, 2, 1, 1}, {1, 32, 32, 7, 7, 3, 3, 1, 1, 1, 1}};
constexpr int kPlansOfLayer = 100;

/// Returns plans of a layer that can be built.
std::vector<SlotConv2dPlan> DrawPlans(const Design& design, const PackedConv2d& layer) {
  const std::vector<SlotConv2dPlan> all = SlotConv2dPlans(design, layer, Epilogue());
  std::vector<SlotConv2dPlan> drawn;
  Random random(1);
  while (drawn.size() < kPlansOfLayer) {
    const SlotConv2dPlan& plan = all[random.Below(all.size())];
    if (BuildSlotConv2d(design, layer, plan, Epilogue()).ok()) drawn.push_back(plan);
  }
  return drawn;
}

void BM_TimingOnlyTrials(benchmark::State& state) {
  const Design design = Design::Default("pynq");
  const PackedConv2d& layer = kLayers[state.range(0)];
  const std::vector<SlotConv2dPlan> plans = DrawPlans(design, layer);
  std::size_t next = 0;
  for (auto _ : state) {
    const auto stream = BuildSlotConv2d(design, layer, plans[next++ % plans.size()], Epilogue());
    const RunResult run = RunStream(design, stream->instructions, nullptr);
    benchmark::DoNotOptimize(
        Simulate(design, stream->instructions, run.pipeline, CycleModel::Pynq()));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_TimingOnlyTrials)->DenseRange(0, std::size(kLayers) - 1)->ArgName("layer");

void BM_Execute(benchmark::State& state) {
  const Design design = Design::Default("pynq");
  const auto stream = BuildPackedConv2d(design, kLayer, kTiles, Epilogue());
  Dram dram;
  const std::int64_t addresses[] = {
      dram.Allocate("data", 4 * 56 * 56 * 16, false), dram.Allocate("kernel", 16 * 9 * 256, false),
      dram.Allocate("output", 4 * 56 * 56 * 16, true), dram.Allocate("bias", 4 * 64, false)};
  const auto instructions = Place(design, *stream, dram, addresses);
  RunOptions options;
  options.check_hazards = state.range(0) != 0;
  for (auto _ : state) {
    const RunResult run = RunStream(design, *instructions, &dram, options);
    if (run.fault) state.SkipWithError(run.fault->message.c_str());
  }
  state.counters["MAC/s"] =
      benchmark::Counter(4.0 * 4 * 56 * 56 * 9 * 256 * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Execute)->Arg(0)->Arg(1)->ArgName("hazards")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilewright::vta

BENCHMARK_MAIN();
