#include "tests/vta/conv_reference.h"

#include <algorithm>
#include <cmath>

#include "src/vta/own_conv2d.h"

namespace tilewright::vta {
namespace {

using Operand = EpilogueStep::Operand;

template <typename T>
std::vector<std::byte> Raw(const std::vector<T>& values) {
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  return {bytes, bytes + values.size() * sizeof(T)};
}

std::int64_t OutputTiles(const PackedConv2d& conv) {
  return conv.batch * conv.co * conv.out_height() * conv.out_width();
}

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

ConvCase RandomCase(const Design& design, const PackedConv2d& conv,
                    const std::vector<EpilogueStep>& epilogue, std::uint64_t seed) {
  Random random(seed);
  const std::int64_t lanes = std::int64_t{design.batch()} * design.block();
  ConvCase test{design, conv, epilogue, {}, {}, {}};
  test.data = RandomValues(random, conv.batch * conv.ci * conv.height * conv.width * lanes);
  test.kernel = RandomValues(
      random, conv.co * conv.ci * conv.kernel_h * conv.kernel_w * design.block() * design.block());
  for (const EpilogueStep& step : epilogue) {
    if (step.operand == Operand::kImmediate) continue;
    std::vector<std::int32_t> values(static_cast<std::size_t>(
        (step.operand == Operand::kPerChannel ? conv.co : OutputTiles(conv)) * lanes));
    const std::int64_t limit = step.operand == Operand::kTensorInt8 ? 1 << 7 : 1 << 16;
    for (auto& value : values) {
      value = static_cast<std::int32_t>(
          static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(2 * limit))) - limit);
    }
    test.operands.push_back(std::move(values));
  }
  return test;
}

std::vector<std::int8_t> Expected(const ConvCase& test) {
  const PackedConv2d& c = test.conv;
  const int batch = test.design.batch();
  const int block = test.design.block();
  std::vector<std::int8_t> result;
  std::int64_t tile = 0;
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t co = 0; co < c.co; ++co)
      for (std::int64_t y = 0; y < c.out_height(); ++y)
        for (std::int64_t x = 0; x < c.out_width(); ++x, ++tile)
          for (int b = 0; b < batch; ++b)
            for (int o = 0; o < block; ++o) {
              std::int32_t sum = 0;
              for (std::int64_t ci = 0; ci < c.ci; ++ci)
                for (std::int64_t ky = 0; ky < c.kernel_h; ++ky)
                  for (std::int64_t kx = 0; kx < c.kernel_w; ++kx) {
                    const std::int64_t iy = y * c.stride_h + ky - c.pad_h;
                    const std::int64_t ix = x * c.stride_w + kx - c.pad_w;
                    if (iy < 0 || iy >= c.height || ix < 0 || ix >= c.width) continue;
                    const std::int64_t at = ((n * c.ci + ci) * c.height + iy) * c.width + ix;
                    const std::int64_t filter =
                        ((co * c.ci + ci) * c.kernel_h + ky) * c.kernel_w + kx;
                    for (int i = 0; i < block; ++i) {
                      sum +=
                          test.data[static_cast<std::size_t>((at * batch + b) * block + i)] *
                          test.kernel[static_cast<std::size_t>((filter * block + o) * block + i)];
                    }
                  }
              std::size_t operand = 0;
              for (const EpilogueStep& step : test.epilogue) {
                std::int32_t value = step.immediate;
                if (step.operand != Operand::kImmediate) {
                  const std::int64_t at = step.operand == Operand::kPerChannel ? co : tile;
                  value = test.operands[operand++]
                                       [static_cast<std::size_t>((at * batch + b) * block + o)];
                }
                sum = Apply(step.op, sum, value);
              }
              result.push_back(static_cast<std::int8_t>(sum));
            }
  return result;
}

ConvRun RunCase(const ConvCase& test, const Stream& stream, const RunOptions& options,
                const Tamper& tamper) {
  Dram dram;
  std::vector<std::int64_t> addresses = {dram.Allocate("data", Raw(test.data), false),
                                         dram.Allocate("kernel", Raw(test.kernel), false)};
  const std::int64_t bytes = OutputTiles(test.conv) * test.design.ElementBytes(Memory::kOut);
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

std::vector<EpilogueStep> RandomEpilogue(Random& random, const PackedConv2d& conv, int block) {
  // Sums of n products of uniform int8 have a deviation of 5461 sqrt(n); this brings it to about
  // 64, so that results differ and few are clipped.
  const double terms = static_cast<double>(conv.ci * conv.kernel_h * conv.kernel_w * block);
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

OwnConv2dPlan RandomPlan(Random& random, const PackedConv2d& conv) {
  OwnConv2dPlan plan;
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

}  // namespace tilewright::vta
