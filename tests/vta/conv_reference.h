#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/vta/own_conv2d.h"
#include "src/vta/simulator.h"
#include "tests/vta/vta_test_data.h"

namespace tilewright::vta {

/// A convolution with its tensors, made up; scalar by scalar in memory order.
struct ConvCase {
  Design design = Design::Default();
  PackedConv2d conv;
  std::vector<EpilogueStep> epilogue;
  std::vector<std::int8_t> data, kernel;
  std::vector<std::vector<std::int32_t>> operands;  // of the steps that have one
};

/// int8 operands are kept as int32 and narrowed when placed.
ConvCase RandomCase(const Design& design, const PackedConv2d& conv,
                    const std::vector<EpilogueStep>& epilogue, std::uint64_t seed);

/// The result by plain loops that share nothing with the code under test but AluResult's meaning.
std::vector<std::int8_t> Expected(const ConvCase& test);

/// Changes instructions that already have their addresses.
using Tamper = std::function<void(std::vector<Instruction>&)>;

struct ConvRun {
  RunResult result;
  std::vector<std::int8_t> output;
};
/// Places the tensors of `test` and runs `stream`, with
/// bound instructions changed by `tamper`.
ConvRun RunCase(const ConvCase& test, const Stream& stream, const RunOptions& options = {},
                const Tamper& tamper = nullptr);

/// bias, rounding constant, shift, clip: what requantization compiles to.
std::vector<EpilogueStep> Requantize(bool bias, bool relu, int shift);

/// Uniform in [low, high].
std::int64_t Between(Random& random, std::int64_t low, std::int64_t high);

/// Small convolutions, what may follow one, and ways to compute it that need not be legal.
PackedConv2d RandomConv(Random& random);
std::vector<EpilogueStep> RandomEpilogue(Random& random, const PackedConv2d& conv, int block);
OwnConv2dPlan RandomPlan(Random& random, const PackedConv2d& conv);

}  // namespace tilewright::vta
