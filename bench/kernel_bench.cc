// Tilewright's kernels against the vendor libraries' best algorithms, layer by layer, in the same
// run and interleaved.
//
//   kernel_bench TASK... [--mode fp32|int8|avx2|int8avx2|int8avx2w64] [--threads N] [--rounds N]
//                [--only TEXT] [--json] [--shape ...] [--records STORE] [--accept default] ...
//
// A TASK is a model file, the name of a built-in model, or the key of a workload. Each layer gets
// the config that `compile` would choose: from --records, else the shipped cost model's or the
// default. int8avx2w64 uses reduced-range weights (within 64). Both sides have a bias and relu
// after the sums (batched matrix products have no epilogue), and int8 is requantized to uint8.
// Weights are packed beforehand. Both sides find data and weights where the previous call left
// them, in a cache if they fit; in a network, weights are cold. For layers with more weights than
// the caches hold, the time of a loop that reads as many bytes is printed too. The sums weight each
// layer by its count in the network. Layers without a peer are listed and excluded.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "bench/kernel_bench_layers.h"
#include "bench/kernel_bench_ours.h"
#include "src/runtime/roofline.h"
#include "src/runtime/thread_pool.h"
#include "src/session/record_sources.h"
#include "src/session/target.h"
#include "src/templates/products.h"
#include "src/tensor/work.h"
#include "tests/support/built_in.h"

namespace tilewright::bench {
namespace {

struct ModeTraits {
  Mode mode;
  const char* target;
  int widest_bits;
  bool reduced_range_weights = false;
};
const std::map<std::string, ModeTraits>& Modes() {
  static const std::map<std::string, ModeTraits> modes = {
      {"fp32", {Mode::kFloat32, "native", 512}},
      {"int8", {Mode::kInt8Vnni, "native", 512}},
      {"avx2", {Mode::kFloat32Avx2, "llvm -mcpu=core-avx2", 256}},
      {"int8avx2", {Mode::kInt8Avx2, "llvm -mcpu=core-avx2", 256}},
      {"int8avx2w64", {Mode::kInt8Avx2, "llvm -mcpu=core-avx2", 256, true}}};
  return modes;
}

struct Options {
  LayerArguments layers;
  std::string mode = "fp32";
  int threads = 1, rounds = 15;
  bool json = false;
  session::RecordSources records;

  void Declare(CLI::App& app) {
    layers.Declare(app);
    app.add_option("--mode", mode, "fp32, int8, avx2, int8avx2 or int8avx2w64");
    app.add_option("--threads", threads, "Of both sides")->check(CLI::PositiveNumber);
    app.add_option("--rounds", rounds, "Slices of time for each kernel")
        ->check(CLI::PositiveNumber);
    app.add_flag("--json", json, "A line of JSON per layer");
    records.accept = "default";
    app.add_option("--records", records.stores, "Record stores, asked in order");
    app.add_option("--accept", records.accept, "hit, near, model or default")
        ->capture_default_str();
    app.add_option("--model", records.model_file, "Cost model, or none");
  }
};

Result<std::vector<search::TuneTask>> LayersOf(const LayerArguments& arguments,
                                               const Target& target, const ModeTraits& mode) {
  return ReadLayers(arguments, target, [&mode](Workload& w) {
    if (IsInt8(mode.mode)) MakeInt8(w);
    w.reduced_range_weights |=
        mode.reduced_range_weights && (w.op == OpKind::kConv2d || w.op == OpKind::kDense);
  });
}

constexpr std::int64_t kFarBytes = std::int64_t{48} << 20;  // beyond the caches of most machines

/// Lower bound for a kernel with a weight larger than all caches: threads that only read as many
/// bytes, a part each.
class MemoryReader final : public Runnable {
 public:
  MemoryReader(std::int64_t bytes, const TwParallel* threads)
      : data_(static_cast<std::size_t>(bytes / 8), 1), threads_(threads) {}
  void Run() override {
    const auto body = [](void* reader, std::int64_t begin, std::int64_t end,
                         std::int32_t) -> std::int32_t {
      static_cast<MemoryReader*>(reader)->Read(begin, end);
      return 0;
    };
    TW_CHECK(threads_->launch(threads_->context, body, this, threads_->threads) == 0);
  }

 private:
  void Read(std::int64_t begin, std::int64_t end) {
    const std::size_t each = data_.size() / static_cast<std::size_t>(threads_->threads);
    sum_ += ReadAll(std::span(data_).subspan(static_cast<std::size_t>(begin) * each,
                                             static_cast<std::size_t>(end - begin) * each));
  }
  std::vector<std::int64_t> data_;
  const TwParallel* threads_;
  std::atomic<std::int64_t> sum_ = 0;
};

/// Times of a layer on each side.
struct Comparison {
  double ours = 0, peer = 0, roofline = 0;
  double product_share = 1;  ///< of Tilewright's kernel; see ProductShareOf
  double memory = 0;         ///< of MemoryReader; 0: the weight is smaller
  std::string peer_name, template_key, level;
  int quiet_slices = 0;
  double ratio() const { return ours / peer; }
};

class KernelBench {
 public:
  KernelBench(const Options& options, const ModeTraits& mode, Target target, ThreadPool pool,
              records::Catalog catalog, records::AnswerLevel accept)
      : options_(options),
        mode_(mode),
        target_(std::move(target)),
        pool_(std::move(pool)),
        catalog_(std::move(catalog)),
        accept_(accept),
        peaks_(MeasurePeaks(mode.widest_bits)) {}

  /// Returns nullopt if no library has the operator.
  Result<std::optional<Comparison>> Compare(const Workload& workload) {
    const std::vector<Peer> peers = MakePeers(workload, mode_.mode);
    if (peers.empty()) return std::optional<Comparison>();
    Comparison result;
    TW_ASSIGN_OR_RETURN(auto ours, MakeOurs(workload, result));
    std::vector<std::function<void()>> functions = {[&] { ours->Run(); }};
    for (const Peer& peer : peers) functions.emplace_back([&] { peer.runnable->Run(); });
    const std::int64_t weight_bytes = workload.weight.bytes();
    const bool far = weight_bytes >= kFarBytes;
    MemoryReader memory(far ? weight_bytes : 0, pool_.parallel());
    if (far) functions.emplace_back([&] { memory.Run(); });
    const auto timings = timer_.Measure(functions, options_.rounds, options_.threads);
    const auto first = timings.begin() + 1;
    const auto best = std::ranges::min_element(first, first + std::ssize(peers), {},
                                               &QuietTimer::Timing::seconds);
    result.ours = timings[0].seconds;
    result.peer = best->seconds;
    result.peer_name = peers[static_cast<std::size_t>(best - first)].name;
    result.quiet_slices = std::min(timings[0].quiet_slices, best->quiet_slices);
    if (far) result.memory = timings.back().seconds;
    result.roofline = RooflineOf(peaks_, workload.macs(), WorkOf(workload).bytes,
                                 IsInt8(mode_.mode), options_.threads)
                          .LowerBound(result.product_share);
    return std::optional(std::move(result));
  }

 private:
  Result<std::unique_ptr<OurKernel>> MakeOurs(const Workload& workload, Comparison& result) {
    TW_ASSIGN_OR_RETURN(auto epilogue, EpilogueOf(workload, IsInt8(mode_.mode)));
    records::LookupRequest request;
    request.templates = &BuiltInTemplates();
    request.workload = &workload;
    request.target = &target_;
    request.accept = records::DownTo(accept_);
    TW_ASSIGN_OR_RETURN(auto answer, catalog_.Query(request));
    const Candidate* candidate = answer.candidate();
    if (candidate == nullptr) return Unsupported("no template");
    result.template_key = candidate->template_key;
    result.level = records::AnswerLevelName(answer.level);
    const TemplateEntry& entry = *BuiltInTemplates().Find(candidate->template_key);
    result.product_share = ProductShareOf(entry, workload, epilogue, target_, candidate->config);
    return OurKernel::Make(entry, workload, epilogue, target_, candidate->config, pool_.parallel());
  }

  const Options& options_;
  const ModeTraits mode_;
  const Target target_;
  const ThreadPool pool_;
  records::Catalog catalog_;
  const records::AnswerLevel accept_;
  const MachinePeaks peaks_;
  QuietTimer timer_;
};

void Print(const search::TuneTask& layer, const Comparison& c, bool json) {
  if (json) {
    fmt::print(
        "{{\"layer\":\"{}\",\"count\":{},\"ours_seconds\":{:.4e},\"peer_seconds\":{:.4e},"
        "\"peer\":\"{}\",\"roofline_seconds\":{:.4e},\"memory_seconds\":{:.4e},"
        "\"quiet_slices\":{},\"template\":\"{}\",\"level\":\"{}\"}}\n",
        layer.task.workload.Key(), layer.occurrences, c.ours, c.peer, c.peer_name, c.roofline,
        c.memory, c.quiet_slices, c.template_key, c.level);
  } else {
    const double gigabytes = 1e-9 * static_cast<double>(layer.task.workload.weight.bytes());
    fmt::print(
        "{:6.2f} {:9.1f} us {:9.1f} us {:<13} roofline {:4.2f} quiet {:2} x{:<2} {} {} {}{}\n",
        c.ratio(), c.ours * 1e6, c.peer * 1e6, c.peer_name, c.roofline / c.ours, c.quiet_slices,
        layer.occurrences, layer.task.workload.Key(), c.template_key, c.level,
        c.memory > 0 ? fmt::format(", weight at {:.1f} GB/s, {:.2f} of a loop that reads",
                                   gigabytes / c.ours, c.memory / c.ours)
                     : "");
  }
  std::fflush(stdout);
}

struct Sums {
  double ours = 0, peer = 0, roofline = 0, worst = 0;

  void Add(const Comparison& c, double count) {
    ours += count * c.ours;
    peer += count * c.peer;
    roofline += count * c.roofline;
    worst = std::max(worst, c.ratio());
  }
  void Print(const Options& options) const {
    const std::string name = fmt::format("{}", fmt::join(options.layers.tasks, " "));
    if (options.json) {
      fmt::print(
          "{{\"tasks\":\"{}\",\"mode\":\"{}\",\"threads\":{},\"ours_seconds\":{:.4e},"
          "\"peer_seconds\":{:.4e},\"ratio\":{:.4f},\"worst\":{:.4f},\"roofline\":{:.4f}}}\n",
          name, options.mode, options.threads, ours, peer, ours / peer, worst, roofline / ours);
      return;
    }
    fmt::print(
        "{} {} threads {}: ours {:.3f} ms, best of the libraries {:.3f} ms, ratio {:.3f}, worst "
        "layer {:.2f}, of the roofline {:.2f}\n",
        name, options.mode, options.threads, ours * 1e3, peer * 1e3, ours / peer, worst,
        roofline / ours);
  }
};

Status Run(const Options& options) {
  const auto mode = Modes().find(options.mode);
  if (mode == Modes().end())
    return InvalidArgument("--mode: fp32, int8, avx2, int8avx2 or int8avx2w64");
  LimitPeers(mode->second.mode, options.threads);
  TW_ASSIGN_OR_RETURN(auto target, session::ParseTarget(mode->second.target, options.threads));
  TW_ASSIGN_OR_RETURN(auto layers, LayersOf(options.layers, target, mode->second));
  TW_ASSIGN_OR_RETURN(auto pool, ThreadPool::Create(options.threads));
  TW_ASSIGN_OR_RETURN(auto accept, options.records.Accept());
  TW_ASSIGN_OR_RETURN(auto catalog,
                      options.records.Open(BuiltInTemplates(), target, session::IgnoreNote));
  KernelBench bench(options, mode->second, target, std::move(pool), std::move(catalog), accept);
  Sums sums;
  for (const search::TuneTask& layer : layers) {
    auto compared = bench.Compare(layer.task.workload);
    if (!compared.ok()) return compared.status().WithContext(layer.task.workload.Key());
    if (!compared->has_value()) {
      fmt::print(stderr, "{}: no library has it; left out\n", layer.task.workload.Key());
      continue;
    }
    Print(layer, **compared, options.json);
    sums.Add(**compared, static_cast<double>(layer.occurrences));
  }
  sums.Print(options);
  return {};
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  CLI::App app("Kernels against vendor libraries' best algorithms");
  tilewright::bench::Options options;
  options.Declare(app);
  CLI11_PARSE(app, argc, argv);
  const tilewright::Status status = tilewright::bench::Run(options);
  if (status.ok()) return 0;
  fmt::print(stderr, "kernel_bench: {}\n", status.message());
  return status.code() == tilewright::StatusCode::kInvalidArgument ? 2 : 1;
}
