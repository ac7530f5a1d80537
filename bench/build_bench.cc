// Time to build one candidate, from program to loadable shared object, on one core, over random
// legal configs of every task of resnet18_v1 (fp32). Counters: median, p90 and maximum in
// milliseconds, and the median of each part. Bar: median <= 25 ms.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/random.h"
#include "src/codegen/codegen.h"
#include "src/schedule/lower/lower.h"
#include "src/target/target.h"
#include "src/templates/registry.h"
#include "tests/support/built_in.h"

namespace tilewright {
namespace {

// resnet18_v1: input channels, output channels, image, kernel, stride.
struct Layer {
  int c, k, h, r, stride;
};
constexpr Layer kLayers[] = {{3, 64, 224, 7, 2},   {64, 64, 56, 3, 1},   {64, 128, 56, 3, 2},
                             {64, 128, 56, 1, 2},  {128, 128, 28, 3, 1}, {128, 256, 28, 3, 2},
                             {128, 256, 28, 1, 2}, {256, 256, 14, 3, 1}, {256, 512, 14, 3, 2},
                             {256, 512, 14, 1, 2}, {512, 512, 7, 3, 1}};
constexpr int kConfigsPerTask = 12;
constexpr int kTriesPerConfig = 50;  // most random configs of a large space are rejected at once

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<Program> Candidates(const Target& target) {
  std::vector<Program> programs;
  Random random(1);
  const Epilogue epilogue = *Epilogue::Parse("add(channel:float32);relu");
  for (const Layer& layer : kLayers) {
    const int pad = layer.r / 2;
    const std::string p = std::to_string(pad);
    const std::string h = std::to_string(layer.h);
    const std::string r = std::to_string(layer.r);
    const std::string c = std::to_string(layer.c);
    const std::string s = std::to_string(layer.stride);
    const Workload workload =
        *Workload::Parse("conv2d(float32[1," + c + "," + h + "," + h + "]NCHW,float32[" +
                         std::to_string(layer.k) + "," + c + "," + r + "," + r + "]OIHW,s" + s +
                         "x" + s + ",p" + p + "x" + p + "x" + p + "x" + p + ",d1x1,g1)->float32");
    for (const TemplateEntry* entry : BuiltInTemplates().For(workload, target)) {
      const auto space = entry->define_space(workload, target);
      if (!space.ok()) continue;
      int taken = 0;
      for (int i = 0; i < kConfigsPerTask * kTriesPerConfig && taken < kConfigsPerTask; ++i) {
        const auto index = random.Below(static_cast<std::uint64_t>(space->size()));
        auto kernel =
            entry->apply(workload, epilogue, target, space->At(static_cast<std::int64_t>(index)));
        if (!kernel.ok()) continue;
        auto program = Lower(kernel->schedule, "kernel");
        if (!program.ok()) continue;
        programs.push_back(std::move(*program));
        ++taken;
      }
    }
  }
  return programs;
}

double Percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

void BM_BuildCandidate(benchmark::State& state) {
  const Target target = *Target::Parse("native");
  const auto folder = ScopedTempDir::Create("tilewright-build-bench");
  const std::vector<Program> programs = Candidates(target);
  std::vector<double> total, ir, optimize, codegen, link;
  for (auto unused : state) {
    for (const Program& program : programs) {
      BuildTimes times;
      const double start = Now();
      auto object = Generate({program}, target, Emit::kObject, &times);
      if (!object.ok()) {
        state.SkipWithError(object.status().message().c_str());
        return;
      }
      const Status linked = LinkShared({*object}, {}, folder->path() + "/kernel.so", &times);
      if (!linked.ok()) {
        state.SkipWithError(linked.message().c_str());
        return;
      }
      total.push_back(1e3 * (Now() - start));
      ir.push_back(1e3 * times.ir_seconds);
      optimize.push_back(1e3 * times.optimize_seconds);
      codegen.push_back(1e3 * times.codegen_seconds);
      link.push_back(1e3 * times.link_seconds);
    }
  }
  state.counters["candidates"] = static_cast<double>(programs.size());
  state.counters["median_ms"] = Percentile(total, 0.5);
  state.counters["p90_ms"] = Percentile(total, 0.9);
  state.counters["max_ms"] = Percentile(total, 1);
  state.counters["ir_ms"] = Percentile(ir, 0.5);
  state.counters["optimize_ms"] = Percentile(optimize, 0.5);
  state.counters["codegen_ms"] = Percentile(codegen, 0.5);
  state.counters["link_ms"] = Percentile(link, 0.5);
}
BENCHMARK(BM_BuildCandidate)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilewright

BENCHMARK_MAIN();
