// Runs of one ResNet-18 layer (64 x 56 x 56, 3x3, two virtual threads): building its stream, timing
// it without data, and executing it.

#include <benchmark/benchmark.h>

#include "src/vta/packed_conv2d.h"
#include "src/vta/simulator.h"
#include "src/vta/timing.h"

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
