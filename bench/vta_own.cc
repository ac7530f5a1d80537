// vta_own VTA_RESNET18.json [EPSILON]: Tilewright's slot-based convolutions on a VTA compared with
// a published set of schedules, on the convolutions and residual additions of ResNet-18.
//
// The file lists the layers with their published schedules. For every layer, all plans of the
// slot-based space are considered, except those whose lower bound shows a gain of at most EPSILON
// (0.002, a share of cycles and of bytes) over a known plan. The remaining plans are built and
// timed without data. From each layer's Pareto front in cycles and bytes, the program selects sets
// for the whole network: the fastest, the smallest in bytes, and the fastest within a number of
// bytes (exact, except that bytes are rounded up to units of 512).

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/vta/kernels/packed_alu.h"
#include "src/vta/kernels/slot_conv2d_space.h"
#include "src/vta/simulator/simulator.h"
#include "src/vta/simulator/timing.h"

namespace tilewright::vta {
namespace {

using Operand = EpilogueStep::Operand;

constexpr double kMegabyte = 1e6;
constexpr double kConvolutionBytes = 17.3 * kMegabyte;
constexpr double kNetworkBytes = 18.4 * kMegabyte;
constexpr double kNearlyLeanest = 1.02;
constexpr std::int64_t kByteUnit = 512;

/// Cost of a run.
struct Cost {
  double cycles = 0, shared_cycles = 0;
  std::int64_t bytes = 0, instructions = 0;
  Cost& operator+=(const Cost& other) { return Add(other, 1); }
  Cost& Add(const Cost& other, int times) {
    cycles += times * other.cycles;
    shared_cycles += times * other.shared_cycles;
    bytes += times * other.bytes;
    instructions += times * other.instructions;
    return *this;
  }
};

struct Candidate {
  SlotConv2dPlan plan;
  Cost cost;
};

/// Convolution with its number of occurrences in the network.
struct Layer {
  std::string name;
  PackedConv2d conv;
  PackedConv2dTiles published;
  bool relu = false;
  bool before_addition = false;
  int count = 0;
};
/// Residual addition with its number of occurrences.
struct Addition {
  ResultBlocks blocks;
  int count = 0;
};
struct Network {
  std::vector<Layer> layers;
  std::vector<Addition> additions;
};

std::vector<EpilogueStep> AddSteps() {
  return {{AluOp::kAdd, Operand::kTensorInt8, 0},
          {AluOp::kMax, Operand::kImmediate, 0},
          {AluOp::kMin, Operand::kImmediate, 127},
          {AluOp::kMax, Operand::kImmediate, -127}};
}

/// As published: with a relu, the rounding constant is a separate step.
std::vector<EpilogueStep> Steps(bool relu, bool add) {
  std::vector<EpilogueStep> steps = {{AluOp::kAdd, Operand::kPerChannel, 0}};
  if (relu) {
    steps.push_back({AluOp::kMax, Operand::kImmediate, 0});
    steps.push_back({AluOp::kAdd, Operand::kImmediate, 128});
  }
  steps.push_back({AluOp::kShr, Operand::kImmediate, 8});
  steps.push_back({AluOp::kMin, Operand::kImmediate, 127});
  steps.push_back({AluOp::kMax, Operand::kImmediate, -127});
  if (add) {
    const auto more = AddSteps();
    steps.insert(steps.end(), more.begin(), more.end());
  }
  return steps;
}

Network ReadNetwork(const Json& json) {
  Network network;
  for (const Json& row : json["layers"]) {
    const Json& w = row["workload"];
    if (row["kind"] != "conv") {
      const Json& shape = w["shape"];
      const ResultBlocks blocks = {shape[0], shape[1], shape[2], shape[3], 1, 1, 1};
      auto same = std::ranges::find_if(network.additions, [&](const Addition& a) {
        return a.blocks.co == blocks.co && a.blocks.height == blocks.height;
      });
      if (same == network.additions.end()) same = network.additions.insert(same, {blocks, 0});
      ++same->count;
      continue;
    }
    Layer layer;
    layer.conv = {1,
                  w["in_channels"].get<int>() / 16,
                  w["out_channels"].get<int>() / 16,
                  w["height"],
                  w["width"],
                  w["kernel"][0],
                  w["kernel"][1],
                  w["strides"][0],
                  w["strides"][1],
                  w["padding"][0],
                  w["padding"][1]};
    const Json& config = row["config"];
    layer.published = {config["tile_h"][1],  config["tile_w"][1],  config["tile_ci"][1],
                       config["tile_co"][1], config["oc_nthread"], config["h_nthread"]};
    layer.relu = row["epilogue"].size() == 6;
    // The second convolutions of the blocks: no relu, and not the 1x1 of a shortcut.
    layer.before_addition = !layer.relu && layer.conv.kernel_h > 1;
    layer.name = fmt::format("{}x{}x{} -> {} k{} s{}{}", layer.conv.ci * 16, layer.conv.height,
                             layer.conv.width, layer.conv.co * 16, layer.conv.kernel_h,
                             layer.conv.stride_h, layer.relu ? " relu" : "");
    auto same = std::ranges::find(network.layers, layer.name, &Layer::name);
    if (same == network.layers.end()) same = network.layers.insert(same, layer);
    ++same->count;
  }
  return network;
}

/// shared_bus: also times it with a shared bus.
Cost Measure(const Design& design, const Stream& stream, bool shared_bus = true,
             bool allow_tokens_left = false) {
  RunOptions options;
  options.allow_tokens_left = allow_tokens_left;
  const RunResult run = RunStream(design, stream.instructions, nullptr, options);
  TW_CHECK(run.status().ok(), run.status().message());
  Cost cost;
  CycleModel model = CycleModel::Pynq();
  cost.cycles = Simulate(design, stream.instructions, run.pipeline, model).cycles;
  model.bus_bytes_per_cycle = 8;  // configs/vta/cycles_pynq_shared_bus.json
  if (shared_bus) {
    cost.shared_cycles = Simulate(design, stream.instructions, run.pipeline, model).cycles;
  }
  cost.bytes = run.summary.dram_bytes;
  cost.instructions = run.summary.counts.Total();
  return cost;
}

/// Pareto front of plans in cycles and bytes, fastest first.
class Front {
 public:
  bool Beats(double cycles, double bytes) const {
    return std::ranges::any_of(plans_, [&](const Candidate& c) {
      return c.cost.cycles <= cycles && static_cast<double>(c.cost.bytes) <= bytes;
    });
  }
  void Insert(const Candidate& candidate) {
    const Cost& cost = candidate.cost;
    if (Beats(cost.cycles, static_cast<double>(cost.bytes))) return;
    std::erase_if(plans_, [&](const Candidate& c) {
      return c.cost.cycles >= cost.cycles && c.cost.bytes >= cost.bytes;
    });
    const auto at = std::ranges::lower_bound(plans_, cost.cycles, {},
                                             [](const Candidate& c) { return c.cost.cycles; });
    plans_.insert(at, candidate);
  }
  const std::vector<Candidate>& plans() const { return plans_; }

 private:
  std::vector<Candidate> plans_;
};

struct SearchCount {
  std::int64_t plans = 0, timed = 0;
};

Front Search(const Design& design, const PackedConv2d& conv,
             const std::vector<EpilogueStep>& epilogue, double epsilon, SearchCount& count) {
  struct Open {
    SlotConv2dPlan plan;
    SlotConv2dBound bound;
  };
  std::vector<Open> open;
  const bool adds = std::ranges::any_of(
      epilogue, [](const auto& step) { return step.operand == Operand::kTensorInt8; });
  for (const SlotConv2dPlan& plan : SlotConv2dPlans(design, conv, epilogue)) {
    // The boards cannot load int8 data into the accumulator.
    if (plan.gemm_adds != adds) continue;
    const auto bound = LowerBound(design, conv, plan, epilogue, CycleModel::Pynq());
    if (bound.uops <= design.UsableUops()) open.push_back({plan, bound});
  }
  std::ranges::stable_sort(open, {}, [](const Open& o) { return o.bound.cycles; });
  count.plans += static_cast<std::int64_t>(open.size());
  Front front;
  for (const Open& next : open) {
    if (front.Beats(next.bound.cycles * (1 + epsilon),
                    static_cast<double>(next.bound.dram_bytes) * (1 + epsilon))) {
      continue;
    }
    const auto stream = BuildSlotConv2d(design, conv, next.plan, epilogue);
    ++count.timed;
    if (stream.ok()) front.Insert({next.plan, Measure(design, *stream, false)});
  }
  Front timed;
  for (const Candidate& candidate : front.plans()) {
    const auto stream = BuildSlotConv2d(design, conv, candidate.plan, epilogue);
    timed.Insert({candidate.plan, Measure(design, *stream)});
  }
  return timed;
}

/// Selects one plan of each front with the least total cycles within `bytes`. Returns indices into
/// the fronts; empty if no selection is small enough.
std::vector<std::size_t> Choose(const std::vector<Layer>& layers, const std::vector<Front>& fronts,
                                double bytes) {
  if (bytes < 0) return {};
  const auto room = static_cast<std::size_t>(bytes / static_cast<double>(kByteUnit));
  constexpr double kNever = std::numeric_limits<double>::infinity();
  // best[u]: cycles of the layers so far with at most u units; choice[layer][u]: the selection.
  std::vector<double> best(room + 1, 0);
  std::vector<std::vector<std::size_t>> choice;
  const auto units = [&](std::size_t layer, const Candidate& c) {
    return static_cast<std::size_t>((layers[layer].count * c.cost.bytes + kByteUnit - 1) /
                                    kByteUnit);
  };
  for (std::size_t n = 0; n < layers.size(); ++n) {
    std::vector<double> next(room + 1, kNever);
    choice.emplace_back(room + 1, 0);
    const auto& plans = fronts[n].plans();
    for (std::size_t p = 0; p < plans.size(); ++p) {
      const std::size_t size = units(n, plans[p]);
      for (std::size_t u = size; u <= room; ++u) {
        const double cycles = best[u - size] + layers[n].count * plans[p].cost.cycles;
        if (cycles >= next[u]) continue;
        next[u] = cycles;
        choice.back()[u] = p;
      }
    }
    best = std::move(next);
  }
  if (best[room] == kNever) return {};
  std::vector<std::size_t> chosen(layers.size());
  std::size_t left = room;
  for (std::size_t n = layers.size(); n-- > 0;) {
    chosen[n] = choice[n][left];
    left -= units(n, fronts[n].plans()[chosen[n]]);
  }
  return chosen;
}

std::string Describe(const SlotConv2dPlan& p) {
  constexpr const char* kUnrolled[] = {"rows", "in", "out"};
  return fmt::format("{}x{} ci {} co {}, slots {}/{}/{}, {} outer{}{}, unrolls {}", p.h, p.w, p.ci,
                     p.co, p.inp_slots, p.wgt_slots, p.acc_slots,
                     p.channels_outer ? "channels" : "positions",
                     p.serpentine ? ", serpentine" : "", p.gemm_adds ? ", adds by GEMM" : "",
                     kUnrolled[static_cast<int>(p.unrolled)]);
}

void PrintTotal(const std::string& name, const Cost& cost, const Cost& reference) {
  fmt::print("{:<44} {:>11.0f} {:>11.0f} {:>8.3f} {:>7}   {:.3f} {:.3f} {:.3f}\n", name,
             cost.cycles, cost.shared_cycles, static_cast<double>(cost.bytes) / kMegabyte,
             cost.instructions, cost.cycles / reference.cycles,
             cost.shared_cycles / reference.shared_cycles,
             static_cast<double>(cost.bytes) / static_cast<double>(reference.bytes));
}

void PrintHeader(const std::string& what) {
  fmt::print("\n{}\n{:<44} {:>11} {:>11} {:>8} {:>7}   {}\n", what, "", "pynq", "shared bus", "MB",
             "instr.", "over TopHub's: pynq, shared bus, MB");
}

/// Prints the sets of the network. reference: cost of the replaced parts; extra: additional cost of
/// the sets. Returns the selected plan of each layer within `bytes`; empty if there is no such set.
std::vector<Candidate> PrintSets(const std::vector<Layer>& layers, const std::vector<Front>& fronts,
                                 double bytes, const Cost& reference, const Cost& extra) {
  const auto print = [&](const std::string& name, const std::vector<Candidate>& set) {
    Cost cost = extra;
    for (std::size_t n = 0; n < set.size(); ++n) cost.Add(set[n].cost, layers[n].count);
    PrintTotal(name, cost, reference);
  };
  std::vector<Candidate> fastest, leanest;
  for (const Front& front : fronts) {
    fastest.push_back(front.plans().front());
    leanest.push_back(front.plans().back());
  }
  std::int64_t least = extra.bytes;
  for (std::size_t n = 0; n < layers.size(); ++n) {
    least += layers[n].count * leanest[n].cost.bytes;
  }
  const auto choose = [&](double limit) {
    std::vector<Candidate> set;
    for (const std::size_t n : Choose(layers, fronts, limit - static_cast<double>(extra.bytes))) {
      set.push_back(fronts[set.size()].plans()[n]);
    }
    return set;
  };
  PrintTotal("TopHub", reference, reference);
  print("fastest", fastest);
  print("leanest", leanest);
  print("fastest within 1.02 times the leanest",
        choose(kNearlyLeanest * static_cast<double>(least)));
  const std::vector<Candidate> within = choose(bytes);
  if (within.empty()) {
    fmt::print("within {:.1f} MB: none\n", bytes / kMegabyte);
  } else {
    print(fmt::format("fastest within {:.1f} MB", bytes / kMegabyte), within);
  }
  return within;
}

/// published: the convolution of each layer alone.
void PrintLayers(const std::vector<Layer>& layers, const std::vector<Candidate>& set,
                 const std::vector<Cost>& published) {
  for (std::size_t n = 0; n < set.size(); ++n) {
    const std::string name = fmt::format("{} x {}", layers[n].count, layers[n].name);
    PrintTotal(name + ", TopHub", published[n], published[n]);
    PrintTotal("    ours", set[n].cost, published[n]);
    fmt::print("    {}\n", Describe(set[n].plan));
  }
}

/// Returns the cost of a separate addition, in tiles of rows: the fastest that fits.
Cost TiledAddition(const Design& design, ResultBlocks blocks) {
  std::optional<Cost> best;
  blocks.block_w = blocks.width;
  for (blocks.block_co = 1; blocks.block_co <= blocks.co; ++blocks.block_co) {
    for (blocks.block_h = 1; blocks.block_h <= blocks.height; ++blocks.block_h) {
      const auto stream = BuildPackedAlu(design, blocks, true, AddSteps());
      if (!stream.ok()) continue;
      const Cost cost = Measure(design, *stream, true, true);
      if (!best || cost.cycles < best->cycles) best = cost;
    }
  }
  TW_CHECK(best.has_value());
  return *best;
}

int Main(const std::string& file, double epsilon) {
  const auto text = ReadFile(file);
  const auto json = text.ok() ? ParseJson(*text) : text.status();
  if (!json.ok()) {
    fmt::print(stderr, "{}: {}\n", file, json.status().message());
    return 2;
  }
  const Design design = Design::Default("pynq");
  const Network network = ReadNetwork(*json);

  std::vector<Cost> published;
  Cost convolutions, additions, tiled_additions;
  for (const Addition& addition : network.additions) {
    const auto stream = BuildPackedAlu(design, addition.blocks, true, AddSteps());
    TW_CHECK(stream.ok(), stream.status().message());
    additions.Add(Measure(design, *stream, true, true), addition.count);
    tiled_additions.Add(TiledAddition(design, addition.blocks), addition.count);
  }
  std::vector<Front> alone, fused;
  SearchCount count;
  for (const Layer& layer : network.layers) {
    const auto steps = Steps(layer.relu, false);
    const auto stream = BuildPackedConv2d(design, layer.conv, layer.published, steps);
    TW_CHECK(stream.ok(), stream.status().message());
    published.push_back(Measure(design, *stream));
    convolutions.Add(published.back(), layer.count);
    alone.push_back(Search(design, layer.conv, steps, epsilon, count));
    fused.push_back(layer.before_addition
                        ? Search(design, layer.conv, Steps(layer.relu, true), epsilon, count)
                        : alone.back());
  }
  fmt::print("{} plans, {} of them timed, {:.1f} s of CPU time\n", count.plans, count.timed,
             static_cast<double>(std::clock()) / CLOCKS_PER_SEC);

  PrintHeader("The 19 convolutions");
  const auto convolution_set =
      PrintSets(network.layers, alone, kConvolutionBytes, convolutions, {});
  Cost all = convolutions;
  all += additions;
  PrintHeader("With the 8 residual additions, fused into the convolution before");
  const auto fused_set = PrintSets(network.layers, fused, kNetworkBytes, all, {});
  PrintHeader("With the 8 residual additions by themselves, in tiles of rows");
  PrintSets(network.layers, alone, kNetworkBytes, all, tiled_additions);
  PrintHeader(fmt::format("The 19 convolutions within {:.1f} MB, one of each",
                          kConvolutionBytes / kMegabyte));
  PrintLayers(network.layers, convolution_set, published);
  PrintHeader("The same with fused additions (TopHub's rows: without additions)");
  PrintLayers(network.layers, fused_set, published);
  return 0;
}

}  // namespace
}  // namespace tilewright::vta

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: vta_own VTA_RESNET18.json [EPSILON]\n");
    return 2;
  }
  return tilewright::vta::Main(argv[1], argc > 2 ? std::atof(argv[2]) : 0.002);
}
