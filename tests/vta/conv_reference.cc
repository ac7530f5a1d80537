#include "tests/vta/conv_reference.h"

#include <algorithm>
#include <cmath>

#include "src/base/divisors.h"

namespace tilewright::vta {
namespace {

using Operand = EpilogueStep::Operand;

template <typename T>
std::vector<std::byte> Raw(const std::vector<T>& values) {
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  return {bytes, bytes + values.size() * sizeof(T)};
}

std::int64_t OutputTiles(const PlainLoops& loops) {
  return loops.batch * loops.co * loops.height * loops.width;
}

bool Contains(std::int64_t extent, std::int64_t index) { return index >= 0 && index < extent; }

std::int32_t Apply(AluOp op, std::int32_t a, std::int32_t b) {
  const std::int64_t wide = op == AluOp::kAdd ? std::int64_t{a} + b : std::int64_t{a} * b;
  switch (op) {
    case AluOp::kMin:
      return a < b ? a : b;
    case AluOp::kMax:
      return a > b ? a : b;
    case AluOp::kShr:
      return a >> b;
    default:
      return static_cast<std::int32_t>(wide);
  }
}

}  // namespace

PlainLoops LoopsOf(const PackedConv2d& c) {
  PlainLoops loops;
  loops.data_tiles = c.batch * c.groups * c.ci * c.height * c.width;
  loops.kernel_tiles = c.co * c.ci * c.kernel_h * c.kernel_w;
  loops.batch = c.batch, loops.co = c.co;
  loops.height = c.out_height(), loops.width = c.out_width();
  loops.terms = c.ci * c.kernel_h * c.kernel_w;
  loops.products = [c](const ResultTile& tile, const PlainLoops::Add& add) {
    const std::int64_t group = tile.co / (c.co / c.groups);
    for (std::int64_t ci = 0; ci < c.ci; ++ci)
      for (std::int64_t ky = 0; ky < c.kernel_h; ++ky)
        for (std::int64_t kx = 0; kx < c.kernel_w; ++kx) {
          const std::int64_t y = tile.y * c.stride_h + ky - c.pad_h;
          const std::int64_t x = tile.x * c.stride_w + kx - c.pad_w;
          if (!Contains(c.height, y) || !Contains(c.width, x)) continue;
          const std::int64_t channel = (tile.batch * c.groups + group) * c.ci + ci;
          add((channel * c.height + y) * c.width + x,
              ((tile.co * c.ci + ci) * c.kernel_h + ky) * c.kernel_w + kx);
        }
  };
  return loops;
}

PlainLoops LoopsOf(const PackedConv2dTranspose& c) {
  PlainLoops loops;
  loops.data_tiles = c.batch * c.ci * c.height * c.width;
  loops.kernel_tiles = c.co * c.ci * c.kernel_h * c.kernel_w;
  loops.batch = c.batch, loops.co = c.co;
  loops.height = c.out_height, loops.width = c.out_width;
  loops.terms =
      std::max<std::int64_t>(1, c.ci * c.kernel_h * c.kernel_w / (c.stride_h * c.stride_w));
  // Adds every data element to the outputs of its window.
  loops.products = [c](const ResultTile& tile, const PlainLoops::Add& add) {
    for (std::int64_t ci = 0; ci < c.ci; ++ci)
      for (std::int64_t y = 0; y < c.height; ++y)
        for (std::int64_t x = 0; x < c.width; ++x) {
          const std::int64_t ky = tile.y + c.pad_h - y * c.stride_h;
          const std::int64_t kx = tile.x + c.pad_w - x * c.stride_w;
          if (!Contains(c.kernel_h, ky) || !Contains(c.kernel_w, kx)) continue;
          add(((tile.batch * c.ci + ci) * c.height + y) * c.width + x,
              ((tile.co * c.ci + ci) * c.kernel_h + ky) * c.kernel_w + kx);
        }
  };
  return loops;
}

PlainLoops LoopsOf(const PackedDense& d) {
  PlainLoops loops;
  loops.data_tiles = d.batch * d.ci;
  loops.kernel_tiles = d.co * d.ci;
  loops.batch = d.batch, loops.co = d.co;
  loops.terms = d.ci;
  loops.products = [d](const ResultTile& tile, const PlainLoops::Add& add) {
    for (std::int64_t ci = 0; ci < d.ci; ++ci) {
      add(tile.batch * d.ci + ci, tile.co * d.ci + ci);
    }
  };
  return loops;
}

ConvCase RandomCase(const Design& design, const PlainLoops& loops,
                    const std::vector<EpilogueStep>& epilogue, std::uint64_t seed) {
  Random random(seed);
  const std::int64_t lanes = std::int64_t{design.batch()} * design.block();
  ConvCase test{design, loops, epilogue, {}, {}, {}};
  test.data = RandomValues(random, loops.data_tiles * lanes);
  test.kernel =
      RandomValues(random, loops.kernel_tiles * std::int64_t{design.block()} * design.block());
  for (const EpilogueStep& step : epilogue) {
    if (step.operand == Operand::kImmediate) continue;
    std::vector<std::int32_t> values(static_cast<std::size_t>(
        (step.operand == Operand::kPerChannel ? loops.co : OutputTiles(loops)) * lanes));
    const std::int64_t limit = step.operand == Operand::kTensorInt8 ? 1 << 7 : 1 << 16;
    for (auto& value : values) {
      value = static_cast<std::int32_t>(
          static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(2 * limit))) - limit);
    }
    test.operands.push_back(std::move(values));
  }
  return test;
}

namespace {

/// Returns the sums of one tile.
std::vector<std::int32_t> SumsOf(const ConvCase& test, const ResultTile& tile) {
  const int batch = test.design.batch();
  const int block = test.design.block();
  std::vector<std::int32_t> sums(static_cast<std::size_t>(batch * block));
  test.loops.products(tile, [&](std::int64_t data, std::int64_t kernel) {
    for (int b = 0; b < batch; ++b)
      for (int o = 0; o < block; ++o)
        for (int i = 0; i < block; ++i) {
          sums[static_cast<std::size_t>(b * block + o)] +=
              test.data[static_cast<std::size_t>((data * batch + b) * block + i)] *
              test.kernel[static_cast<std::size_t>((kernel * block + o) * block + i)];
        }
  });
  return sums;
}

}  // namespace

std::vector<std::int8_t> Expected(const ConvCase& test) {
  const PlainLoops& loops = test.loops;
  std::vector<std::int8_t> result;
  for (std::int64_t index = 0; index < OutputTiles(loops); ++index) {
    const std::int64_t plane = loops.height * loops.width;
    const ResultTile tile = {index / plane / loops.co, index / plane % loops.co,
                             index % plane / loops.width, index % loops.width};
    std::vector<std::int32_t> sums = SumsOf(test, tile);
    std::size_t operand = 0;
    for (const EpilogueStep& step : test.epilogue) {
      const std::int64_t at = step.operand == Operand::kPerChannel ? tile.co : index;
      const auto first = static_cast<std::size_t>(at) * sums.size();
      const bool immediate = step.operand == Operand::kImmediate;
      for (std::size_t lane = 0; lane < sums.size(); ++lane) {
        sums[lane] = Apply(step.op, sums[lane],
                           immediate ? step.immediate : test.operands[operand][first + lane]);
      }
      if (!immediate) ++operand;
    }
    for (const std::int32_t sum : sums) result.push_back(static_cast<std::int8_t>(sum));
  }
  return result;
}

ConvRun RunCase(const ConvCase& test, const Stream& stream, const RunOptions& options,
                const Tamper& tamper) {
  Dram dram;
  std::vector<std::int64_t> addresses = {dram.Allocate("data", Raw(test.data), false),
                                         dram.Allocate("kernel", Raw(test.kernel), false)};
  const std::int64_t bytes = OutputTiles(test.loops) * test.design.ElementBytes(Memory::kOut);
  addresses.push_back(dram.Allocate("output", bytes, true));
  std::size_t operand = 0;
  for (const EpilogueStep& step : test.epilogue) {
    if (step.operand == Operand::kImmediate) continue;
    const auto& values = test.operands[operand++];
    const std::vector<std::int8_t> narrow(values.begin(), values.end());
    addresses.push_back(dram.Allocate(
        "operand", step.operand == Operand::kTensorInt8 ? Raw(narrow) : Raw(values), false));
  }
  auto instructions = Place(test.design, stream, dram, addresses);
  TW_CHECK(instructions.ok(), instructions.status().message());
  if (tamper) tamper(*instructions);
  ConvRun run;
  run.result = RunStream(test.design, *instructions, &dram, options);
  const auto output = dram.Bytes(addresses[2], bytes);
  std::ranges::transform(output, std::back_inserter(run.output),
                         [](std::byte b) { return static_cast<std::int8_t>(b); });
  return run;
}

std::vector<EpilogueStep> Requantize(bool bias, bool relu, int shift) {
  std::vector<EpilogueStep> steps;
  if (bias) steps.push_back({AluOp::kAdd, Operand::kPerChannel, 0});
  if (relu) steps.push_back({AluOp::kMax, Operand::kImmediate, 0});
  if (relu) {
    steps.push_back(
        {AluOp::kAdd, Operand::kImmediate, static_cast<std::int16_t>(1 << (shift - 1))});
  }
  steps.push_back({AluOp::kShr, Operand::kImmediate, static_cast<std::int16_t>(shift)});
  steps.push_back({AluOp::kMin, Operand::kImmediate, 127});
  steps.push_back({AluOp::kMax, Operand::kImmediate, -127});
  return steps;
}

std::int64_t Between(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(high - low + 1)));
}

PackedConv2d RandomConv(Random& random) {
  PackedConv2d conv;
  conv.batch = random.Below(4) == 0 ? 2 : 1;
  conv.ci = Between(random, 1, 4);
  conv.co = Between(random, 1, 4);
  const std::int64_t kernels[] = {1, 3, 3, 5};
  conv.kernel_h = kernels[random.Below(4)];
  conv.kernel_w = random.Below(4) == 0 ? kernels[random.Below(4)] : conv.kernel_h;
  conv.stride_h = conv.stride_w = Between(random, 1, 2);
  conv.pad_h = Between(random, 0, conv.kernel_h / 2);
  conv.pad_w = Between(random, 0, conv.kernel_w / 2);
  conv.height = Between(random, std::max<std::int64_t>(3, conv.kernel_h - 2 * conv.pad_h), 12);
  conv.width = Between(random, std::max<std::int64_t>(3, conv.kernel_w - 2 * conv.pad_w), 12);
  return conv;
}

PackedConv2d RandomGroupConv(Random& random) {
  PackedConv2d conv = RandomConv(random);
  conv.groups = Between(random, 2, 4);
  conv.ci = random.Below(2) == 0 ? 1 : Between(random, 1, 3);
  conv.co = conv.groups * (random.Below(2) == 0 ? 1 : Between(random, 1, 3));
  // Other trailing padding: none, or up to one additional row or column.
  conv.extra_pad_h = Between(random, -conv.pad_h, 1);
  conv.extra_pad_w = Between(random, -conv.pad_w, 1);
  conv.height = std::max(conv.height, conv.kernel_h);
  conv.width = std::max(conv.width, conv.kernel_w);
  return conv;
}

PackedConv2dTranspose RandomTranspose(Random& random) {
  PackedConv2dTranspose conv;
  conv.batch = random.Below(4) == 0 ? 2 : 1;
  conv.ci = Between(random, 1, 3);
  conv.co = Between(random, 1, 4);
  conv.stride_h = conv.stride_w = Between(random, 1, 3);
  conv.kernel_h = Between(random, conv.stride_h, 5);
  conv.kernel_w = random.Below(4) == 0 ? Between(random, conv.stride_w, 5)
                                       : std::max(conv.kernel_h, conv.stride_w);
  conv.pad_h = Between(random, 0, (conv.kernel_h - 1) / 2);
  conv.pad_w = Between(random, 0, (conv.kernel_w - 1) / 2);
  conv.height = Between(random, 2, 6);
  conv.width = Between(random, 2, 6);
  // The same trailing padding, and some additional rows and columns.
  const std::int64_t more = Between(random, 0, conv.stride_h - 1);
  conv.out_height = (conv.height - 1) * conv.stride_h - 2 * conv.pad_h + conv.kernel_h + more;
  conv.out_width = (conv.width - 1) * conv.stride_w - 2 * conv.pad_w + conv.kernel_w + more;
  return conv;
}

PackedDense RandomDense(Random& random) {
  return {Between(random, 1, 8), Between(random, 1, 12), Between(random, 1, 12)};
}

std::vector<EpilogueStep> RandomEpilogue(Random& random, const PlainLoops& loops, int block) {
  // Sums of n products of uniform int8 have a standard deviation of 5461 sqrt(n). This reduces it
  // to about 64, so that results differ and few are clipped.
  const auto terms = static_cast<double>(loops.terms * block);
  const int shift = static_cast<int>(std::lround(std::log2(5461 * std::sqrt(terms) / 64)));
  auto steps = Requantize(random.Below(2) == 1, random.Below(2) == 1, shift);
  if (random.Below(4) == 0) steps.insert(steps.begin(), {AluOp::kAdd, Operand::kTensor, 0});
  if (random.Below(3) == 0) {
    steps.push_back({AluOp::kAdd, Operand::kTensorInt8, 0});
    steps.push_back({AluOp::kMin, Operand::kImmediate, 127});
    steps.push_back({AluOp::kMax, Operand::kImmediate, -127});
  }
  return steps;
}

SlotConv2dPlan RandomPlan(Random& random, const PackedConv2d& conv) {
  SlotConv2dPlan plan;
  plan.h = Between(random, 1, conv.out_height());
  plan.w = Between(random, 1, conv.out_width());
  plan.ci = Between(random, 1, conv.ci);
  plan.co = Between(random, 1, conv.co);
  plan.inp_slots = Between(random, 1, 6);
  plan.wgt_slots = Between(random, 1, 6);
  plan.acc_slots = Between(random, 1, 3);
  plan.channels_outer = random.Below(2) == 1;
  plan.serpentine = random.Below(2) == 1;
  plan.gemm_adds = random.Below(2) == 1;
  plan.unrolled = static_cast<UnrolledLoop>(random.Below(3));
  return plan;
}

std::int64_t RandomDivisor(Random& random, std::int64_t extent) {
  const std::vector<std::int64_t> divisors = Divisors(extent);
  return divisors[random.Below(divisors.size())];
}

PackedConv2dTiles RandomTiles(Random& random, const PlainLoops& loops, std::int64_t ci) {
  PackedConv2dTiles tiles;
  tiles.h = RandomDivisor(random, loops.height);
  tiles.w = RandomDivisor(random, loops.width);
  tiles.ci = RandomDivisor(random, ci);
  tiles.co = RandomDivisor(random, loops.co);
  tiles.oc_threads = Between(random, 1, 2);
  tiles.h_threads = Between(random, 1, 2);
  return tiles;
}

PackedDenseTiles RandomTiles(Random& random, const PackedDense& dense) {
  return {RandomDivisor(random, dense.batch), RandomDivisor(random, dense.ci),
          RandomDivisor(random, dense.co), Between(random, 1, 2)};
}

}  // namespace tilewright::vta
