// vta_check [PAIRS] [SEED]: random packed convolutions with random legal schedules, AutoTVM's and
// our own, on two designs, executed and compared bit for bit with plain loops; and each once more
// with a fault put into its instructions, which has to be noticed. Exit code 1 if anything is not
// as it should be.

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

std::int64_t DivisorOf(Random& random, std::int64_t extent) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= extent; ++d) {
    if (extent % d == 0) divisors.push_back(d);
  }
  return divisors[random.Below(divisors.size())];
}

PackedConv2dTiles RandomTiles(Random& random, const PackedConv2d& conv) {
  PackedConv2dTiles tiles;
  tiles.h = DivisorOf(random, conv.out_height());
  tiles.w = DivisorOf(random, conv.out_width());
  tiles.ci = DivisorOf(random, conv.ci);
  tiles.co = DivisorOf(random, conv.co);
  tiles.oc_threads = Between(random, 1, 2);
  tiles.h_threads = Between(random, 1, 2);
  return tiles;
}

const char* const kFaults[] = {"dropped token", "swapped tokens", "wrong stride",
                               "padding off by one"};

/// Puts fault `kind` into one instruction of `all` where it makes sense; false if nowhere.
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

struct Counts {
  int pairs = 0, refused = 0, wrong = 0;
  int injected[std::size(kFaults)] = {}, missed[std::size(kFaults)] = {};
};

/// One random pair, if it is legal.
void Try(const Design& design, Random& random, Counts& counts) {
  const PackedConv2d conv = RandomConv(random);
  const auto epilogue = RandomEpilogue(random, conv, design.block());
  // Half of them with AutoTVM's schedules, half with our own plans.
  const bool own = random.Below(2) == 1;
  const PackedConv2dTiles tiles = RandomTiles(random, conv);
  const auto stream = own ? BuildOwnConv2d(design, conv, RandomPlan(random, conv), epilogue)
                          : BuildPackedConv2d(design, conv, tiles, epilogue);
  if (!stream.ok()) {
    ++counts.refused;
    return;
  }
  ++counts.pairs;
  const ConvCase test = RandomCase(design, conv, epilogue, random.Next());
  const auto expected = Expected(test);
  RunOptions options;
  options.allow_tokens_left = !own && tiles.threads() == 1;
  const ConvRun run = RunCase(test, *stream, options);
  if (run.result.fault || run.output != expected) {
    ++counts.wrong;
    std::printf("wrong: %s\n", run.result.fault ? run.result.fault->message.c_str() : "result");
  }
  const int kind = static_cast<int>(random.Below(std::size(kFaults)));
  bool injected = false;
  const ConvRun faulty = RunCase(test, *stream, options, [&](std::vector<Instruction>& all) {
    injected = Inject(kind, random, all);
  });
  if (!injected) return;
  ++counts.injected[kind];
  // Only one thread may leave a token, and just that one.
  const auto& left = faulty.result.pipeline.tokens_left;
  const bool tokens_as_before = left == run.result.pipeline.tokens_left;
  if (faulty.result.fault || faulty.output != expected || !tokens_as_before) return;
  ++counts.missed[kind];
  std::printf("missed: %s, pair %d\n", kFaults[kind], counts.pairs);
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
  while (counts.pairs < pairs) Try(designs[random.Below(2)], random, counts);
  std::printf("seed %llu: %d pairs (%d more refused), %d wrong\n",
              static_cast<unsigned long long>(seed), counts.pairs, counts.refused, counts.wrong);
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
