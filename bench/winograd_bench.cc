// Winograd convolutions against Tilewright's direct ones, layer by layer, in the same run and
// interleaved, and the error of each tile size next to the direct kernel's.
//
//   winograd_bench TASK... [--int8] [--threads N] [--rounds N] [--only TEXT] [--shape ...]
//
// Of a TASK (as in kernel_bench), uses the layers that a Winograd template serves. Both sides have
// their default configs, bias and relu after the sums, and weights packed beforehand. Column
// "taken": the choice of `compile` without records. Errors are the root mean square of the
// difference from products summed in float64, relative to the root mean square of the results. Data
// and weights are uniform in [-1, 1); 8-bit integers must be exact on both sides.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench/kernel_bench_layers.h"
#include "bench/kernel_bench_ours.h"
#include "src/runtime/thread_pool.h"
#include "src/session/target.h"
#include "src/tensor/reference/reference.h"
#include "tests/support/built_in.h"
#include "tests/templates/kernel_runner.h"

namespace tilewright::bench {
namespace {

struct Options {
  LayerArguments layers;
  bool int8 = false;
  int threads = 1, rounds = 15;

  void Declare(CLI::App& app) {
    layers.Declare(app);
    app.add_flag("--int8", int8, "Layers of 8-bit integers");
    app.add_option("--threads", threads, "Of both sides")->check(CLI::PositiveNumber);
    app.add_option("--rounds", rounds, "Slices of time for each kernel")
        ->check(CLI::PositiveNumber);
  }
};

bool IsWinograd(const TemplateEntry& entry) {
  return entry.key == "conv2d_winograd.cpu" || entry.key == "conv2d_winograd_int8.cpu";
}

/// Error of the tiles of one size, or of the direct kernel (0).
struct TileError {
  std::int64_t tile = 0;
  double error = 0;  ///< relative to the root mean square
};

struct Comparison {
  std::string direct_key, taken;
  double winograd = 0, direct = 0;  ///< seconds
  int quiet_slices = 0;
  bool counts = false;  ///< a 3x3 kernel, 16 input channels or more, an image of 28x28 or larger
  std::vector<TileError> errors;

  double ratio() const { return winograd / direct; }
  bool takes_winograd() const { return taken != direct_key; }
};

class WinogradBench {
 public:
  WinogradBench(const Options& options, Target target, ThreadPool pool)
      : options_(options), target_(std::move(target)), pool_(std::move(pool)) {}

  /// Returns nullopt if no Winograd template serves the layer.
  Result<std::optional<Comparison>> Compare(const Workload& w) {
    const TemplateEntry *winograd = nullptr, *direct = nullptr;
    const auto entries = BuiltInTemplates().For(w, target_);
    for (const TemplateEntry* entry : entries) {
      const TemplateEntry*& side = IsWinograd(*entry) ? winograd : direct;
      if (side == nullptr) side = entry;
    }
    if (winograd == nullptr || direct == nullptr) return std::optional<Comparison>();
    Comparison result;
    result.direct_key = direct->key;
    result.taken = entries.front()->key;
    TW_ASSIGN_OR_RETURN(const auto shape, ConvShapeOf(w));
    result.counts = shape.r == 3 && shape.c >= 16 && shape.h >= 28 && shape.w >= 28;
    TW_RETURN_IF_ERROR(Time(w, *winograd, *direct, result));
    TW_RETURN_IF_ERROR(MeasureErrors(w, *winograd, *direct, result));
    return std::optional(std::move(result));
  }

 private:
  Status Time(const Workload& w, const TemplateEntry& winograd, const TemplateEntry& direct,
              Comparison& result) {
    TW_ASSIGN_OR_RETURN(auto epilogue, EpilogueOf(w, options_.int8));
    std::vector<std::unique_ptr<OurKernel>> kernels;
    for (const TemplateEntry* entry : {&winograd, &direct}) {
      TW_ASSIGN_OR_RETURN(auto config, entry->default_config(w, target_));
      TW_ASSIGN_OR_RETURN(auto kernel,
                          OurKernel::Make(*entry, w, epilogue, target_, config, pool_.parallel()));
      kernels.push_back(std::move(kernel));
    }
    const auto timings = timer_.Measure({[&] { kernels[0]->Run(); }, [&] { kernels[1]->Run(); }},
                                        options_.rounds, options_.threads);
    result.winograd = timings[0].seconds, result.direct = timings[1].seconds;
    result.quiet_slices = std::min(timings[0].quiet_slices, timings[1].quiet_slices);
    return {};
  }

  Status MeasureErrors(const Workload& w, const TemplateEntry& winograd,
                       const TemplateEntry& direct, Comparison& result) const {
    const AnchorData data = MakeAnchorData(w, {}, 7);
    TW_ASSIGN_OR_RETURN(auto reference,
                        EvaluateAnchor(w, {}, data.data, data.weight, {}, options_.threads));
    const auto measure = [&](const TemplateEntry& entry, const Config& config,
                             std::int64_t tile) -> Status {
      TW_ASSIGN_OR_RETURN(auto kernel, entry.apply(w, {}, target_, config));
      TW_ASSIGN_OR_RETURN(auto made, RunKernel(w, {}, target_, kernel, data));
      result.errors.push_back({tile, ErrorOf(made, reference)});
      return {};
    };
    TW_ASSIGN_OR_RETURN(auto config, direct.default_config(w, target_));
    TW_RETURN_IF_ERROR(measure(direct, config, 0));
    TW_ASSIGN_OR_RETURN(auto space, winograd.define_space(w, target_));
    for (std::int64_t tile : {2, 4, 6}) {
      for (std::int64_t i = 0; i < space.size(); ++i) {  // the first one that can be built
        const Config of_tile = space.At(i);
        if (of_tile.Integer("tile") != tile || !winograd.apply(w, {}, target_, of_tile).ok()) {
          continue;
        }
        TW_RETURN_IF_ERROR(measure(winograd, of_tile, tile));
        break;
      }
    }
    return {};
  }

  static double ErrorOf(const Tensor& made, const Tensor& reference) {
    double squares = 0, differences = 0;
    for (std::int64_t i = 0; i < reference.elements(); ++i) {
      squares += reference.At(i) * reference.At(i);
      differences += (made.At(i) - reference.At(i)) * (made.At(i) - reference.At(i));
    }
    return squares > 0 ? std::sqrt(differences / squares) : 0;
  }

  const Options& options_;
  const Target target_;
  const ThreadPool pool_;
  QuietTimer timer_;
};

void Print(const search::TuneTask& layer, const Comparison& c) {
  std::string errors;
  for (const TileError& e : c.errors) {
    errors += e.tile == 0 ? fmt::format(" direct {:.1e}", e.error)
                          : fmt::format(", tiles of {} {:.1e}", e.tile, e.error);
  }
  const bool paid = c.winograd < c.direct;
  fmt::print("{:6.2f} {:9.1f} us {:9.1f} us quiet {:2} x{:<2} {} takes {}{}; error{}\n", c.ratio(),
             c.winograd * 1e6, c.direct * 1e6, c.quiet_slices, layer.occurrences,
             layer.task.workload.Key(), c.taken, paid == c.takes_winograd() ? "" : " (slower)",
             errors);
  std::fflush(stdout);
}

struct Means {
  double logs = 0, worst_taken = 0, best_left = 1e9;
  int counted = 0, taken = 0, left = 0;

  void Add(const Comparison& c) {
    if (c.counts) logs += std::log(c.ratio()), ++counted;
    if (c.takes_winograd()) {
      ++taken, worst_taken = std::max(worst_taken, c.ratio());
    } else {
      ++left, best_left = std::min(best_left, c.ratio());
    }
  }
  void Print(const Options& options) const {
    fmt::print("{} {} threads {}:", fmt::join(options.layers.tasks, " "),
               options.int8 ? "int8" : "fp32", options.threads);
    if (counted > 0) {
      fmt::print(" geometric mean {:.3f} of {} layers 3x3 of 16 channels and 28x28 or more;",
                 std::exp(logs / counted), counted);
    }
    if (taken > 0) fmt::print(" taken for {}, the slowest {:.2f};", taken, worst_taken);
    if (left > 0) fmt::print(" left for {}, the fastest {:.2f};", left, best_left);
    fmt::print("\n");
  }
};

Status Run(const Options& options) {
  TW_ASSIGN_OR_RETURN(auto target, session::ParseTarget("native", options.threads));
  TW_ASSIGN_OR_RETURN(auto layers, ReadLayers(options.layers, target, [&options](Workload& w) {
                        if (options.int8) MakeInt8(w);
                      }));
  TW_ASSIGN_OR_RETURN(auto pool, ThreadPool::Create(options.threads));
  WinogradBench bench(options, target, std::move(pool));
  Means means;
  for (const search::TuneTask& layer : layers) {
    if (layer.task.workload.op != OpKind::kConv2d) continue;
    auto compared = bench.Compare(layer.task.workload);
    if (!compared.ok()) return compared.status().WithContext(layer.task.workload.Key());
    if (!compared->has_value()) continue;
    Print(layer, **compared);
    means.Add(**compared);
  }
  means.Print(options);
  return {};
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  CLI::App app("Winograd convolutions against Tilewright's direct ones");
  tilewright::bench::Options options;
  options.Declare(app);
  CLI11_PARSE(app, argc, argv);
  const tilewright::Status status = tilewright::bench::Run(options);
  if (status.ok()) return 0;
  fmt::print(stderr, "winograd_bench: {}\n", status.message());
  return status.code() == tilewright::StatusCode::kInvalidArgument ? 2 : 1;
}
