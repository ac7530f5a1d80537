// vta_check [PAIRS] [SEED]: random packed operators (plain, grouped and transposed convolutions,
// matrix products) with random legal schedules, AutoTVM's and for plain convolutions also
// slot-based ones, on two designs, executed and compared bit for bit with plain loops. Each runs
// once more with a fault injected into its instructions, which has to be detected. Exit code 1 if
// any check fails.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>
#include <vector>

#include "src/base/random.h"
#include "tests/vta/conv_reference.h"

namespace tilewright::vta {
namespace {

const char* const kFaults[] = {"dropped token", "swapped tokens", "wrong stride",
                               "padding off by one"};

/// Injects fault `kind` into one applicable instruction of `all`; returns false if there is none.
bool Inject(int kind, Random& random, std::vector<Instruction>& all) {
  const auto start = random.Below(all.size());
  for (std::size_t n = 0; n < all.size(); ++n) {
    Instruction& instruction = all[(start + n) % all.size()];
    Tokens& tokens = instruction.tokens;
    auto* transfer = std::get_if<Transfer>(&instruction.operation);
    switch (kind) {
      case 0:
        for (bool* flag :
             {&tokens.pop_prev, &tokens.pop_next, &tokens.push_prev, &tokens.push_next}) {
          if (!*flag) continue;
          *flag = false;
          return true;
        }
        break;
      case 1:
        if (tokens.push_prev != tokens.push_next) {
          std::swap(tokens.push_prev, tokens.push_next);
          return true;
        }
        break;
      case 2:
        if (transfer != nullptr && transfer->y_size > 1) {
          transfer->x_stride += random.Below(2) == 0 ? 1 : -1;
          return true;
        }
        break;
      default:
        if (transfer != nullptr && transfer->y_pad_0 > 0) {
          --transfer->y_pad_0;
          ++transfer->y_pad_1;
          return true;
        }
        if (transfer != nullptr && transfer->x_pad_0 > 0) {
          --transfer->x_pad_0;
          ++transfer->x_pad_1;
          return true;
        }
    }
  }
  return false;
}

/// Random operator with its epilogue, and its stream with a random schedule.
struct Pair {
  PlainLoops loops;
  std::vector<EpilogueStep> epilogue;
  Result<Stream> stream = InvalidArgument("none");
  bool one_thread = false;
};

Pair Scheduled(const Design& design, Random& random, const PlainLoops& loops,
               const Result<PackedOperator>& op) {
  Pair pair{loops, RandomEpilogue(random, loops, design.block())};
  if (!op.ok()) return pair;
  pair.stream = BuildPackedOperator(design, *op, pair.epilogue);
  pair.one_thread = op->tiles.threads() == 1;
  return pair;
}

Pair PairOf(const Design& design, Random& random, const PackedConv2d& conv) {
  const PlainLoops loops = LoopsOf(conv);
  const PackedConv2dTiles tiles = RandomTiles(random, loops, conv.ci);
  return Scheduled(design, random, loops, SchedulePackedConv2d(conv, tiles));
}

Pair PlainConvPair(const Design& design, Random& random) {
  return PairOf(design, random, RandomConv(random));
}

Pair OwnConvPair(const Design& design, Random& random) {
  const PackedConv2d conv = RandomConv(random);
  Pair pair{LoopsOf(conv), RandomEpilogue(random, conv, design.block())};
  pair.stream = BuildSlotConv2d(design, conv, RandomPlan(random, conv), pair.epilogue);
  return pair;
}

Pair GroupConvPair(const Design& design, Random& random) {
  return PairOf(design, random, RandomGroupConv(random));
}

Pair TransposePair(const Design& design, Random& random) {
  const PackedConv2dTranspose conv = RandomTranspose(random);
  const PlainLoops loops = LoopsOf(conv);
  const PackedConv2dTiles tiles = RandomTiles(random, loops, conv.ci);
  return Scheduled(design, random, loops, SchedulePackedConv2dTranspose(conv, tiles));
}

Pair DensePair(const Design& design, Random& random) {
  const PackedDense dense = RandomDense(random);
  const PackedDenseTiles tiles = RandomTiles(random, dense);
  return Scheduled(design, random, LoopsOf(dense), SchedulePackedDense(dense, tiles));
}

/// Checked combination of an operator and a way to write its stream.
struct Kind {
  const char* name;
  Pair (*make)(const Design& design, Random& random);
};
constexpr Kind kKinds[] = {{"convolutions, AutoTVM's schedules", &PlainConvPair},
                           {"convolutions, slot-based plans", &OwnConvPair},
                           {"grouped convolutions", &GroupConvPair},
                           {"transposed convolutions", &TransposePair},
                           {"matrix products", &DensePair}};

struct Counts {
  int pairs = 0, refused = 0, wrong = 0;
  int of_kind[std::size(kKinds)] = {};
  int injected[std::size(kFaults)] = {}, missed[std::size(kFaults)] = {};
};

/// Tries one random pair of a kind, if it is legal.
void Try(std::size_t kind, const Design& design, Random& random, Counts& counts) {
  const Pair pair = kKinds[kind].make(design, random);
  const Result<Stream>& stream = pair.stream;
  if (!stream.ok()) {
    ++counts.refused;
    return;
  }
  ++counts.pairs;
  ++counts.of_kind[kind];
  const ConvCase test = RandomCase(design, pair.loops, pair.epilogue, random.Next());
  const auto expected = Expected(test);
  RunOptions options;
  options.allow_tokens_left = pair.one_thread;
  const ConvRun run = RunCase(test, *stream, options);
  if (run.result.fault || run.output != expected) {
    ++counts.wrong;
    std::printf("wrong, %s: %s\n", kKinds[kind].name,
                run.result.fault ? run.result.fault->message.c_str() : "result");
  }
  const int fault = static_cast<int>(random.Below(std::size(kFaults)));
  bool injected = false;
  const ConvRun faulty = RunCase(test, *stream, options, [&](std::vector<Instruction>& all) {
    injected = Inject(fault, random, all);
  });
  if (!injected) return;
  ++counts.injected[fault];
  // Only one thread may leave a token, and only that one.
  const auto& left = faulty.result.pipeline.tokens_left;
  const bool tokens_as_before = left == run.result.pipeline.tokens_left;
  if (faulty.result.fault || faulty.output != expected || !tokens_as_before) return;
  ++counts.missed[fault];
  std::printf("missed: %s in %s, pair %d\n", kFaults[fault], kKinds[kind].name, counts.pairs);
}

int Main(int argc, char** argv) {
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 10000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  Random random(seed);
  const auto wide = Design::Parse(
      R"({"TARGET": "pynq", "HW_VER": "0.0.2", "LOG_INP_WIDTH": 3, "LOG_WGT_WIDTH": 3,
          "LOG_ACC_WIDTH": 5, "LOG_BATCH": 2, "LOG_BLOCK": 3, "LOG_UOP_BUFF_SIZE": 15,
          "LOG_INP_BUFF_SIZE": 16, "LOG_WGT_BUFF_SIZE": 16, "LOG_ACC_BUFF_SIZE": 18})",
      "4x8");
  TW_CHECK(wide.ok(), wide.status().message());
  const Design designs[] = {Design::Default("pynq"), *wide};
  Counts counts;
  while (counts.pairs < pairs) {
    Try(static_cast<std::size_t>(counts.pairs) % std::size(kKinds), designs[random.Below(2)],
        random, counts);
  }
  std::printf("seed %llu: %d pairs (%d more refused), %d wrong\n",
              static_cast<unsigned long long>(seed), counts.pairs, counts.refused, counts.wrong);
  for (std::size_t k = 0; k < std::size(kKinds); ++k) {
    std::printf("%s: %d\n", kKinds[k].name, counts.of_kind[k]);
  }
  int missed = 0;
  for (std::size_t k = 0; k < std::size(kFaults); ++k) {
    std::printf("%s: %d injected, %d missed\n", kFaults[k], counts.injected[k], counts.missed[k]);
    missed += counts.missed[k];
  }
  return counts.wrong + missed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tilewright::vta

int main(int argc, char** argv) { return tilewright::vta::Main(argc, argv); }
