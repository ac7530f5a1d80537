#include "measure/device/vta_candidate.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "measure/worker/inputs.h"
#include "measure/worker/race.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/templates/vta/alu_blocks.h"
#include "src/templates/vta/alu_epilogue.h"
#include "src/templates/vta/vta_target.h"
#include "src/vta/simulator/simulator.h"
#include "src/vta/simulator/timing.h"
#include "src/vta/stream_file.h"

namespace tilewright::measure {
namespace {

std::span<const std::byte> BytesOf(const Tensor& tensor) {
  return {tensor.data(), static_cast<std::size_t>(tensor.bytes())};
}

/// A tensor operand as accumulator tiles: constants merged into it, and a vector over channels
/// repeated for every row of a tile.
Tensor PlacedOperand(const vta::Design& design, const Tensor& operand, std::int32_t addend) {
  if (operand.dtype() != kInt32) return operand.Clone();
  const bool vector = operand.shape().size() == 1;
  const std::int64_t block = design.block();
  const std::int64_t rows = vector ? design.batch() : 1;
  Tensor placed(TensorType{{operand.elements() * rows}, kInt32});
  const auto from = operand.As<std::int32_t>();
  auto to = placed.As<std::int32_t>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto tile = static_cast<std::int64_t>(i) / (block * rows);
    const auto at = vector ? static_cast<std::size_t>(tile * block) + i % block : i;
    to[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(from[at]) +
                                      static_cast<std::uint32_t>(addend));
  }
  return placed;
}

/// One launch with data. expected: only its size is read. check_hazards: they do not depend on the
/// data, so once is enough.
/// Errors: the fault of the simulator.
Result<std::vector<std::byte>> Execute(const vta::StreamFile& file, const Workload& workload,
                                       const VtaEpilogue& epilogue, const AnchorInputs& inputs,
                                       const Tensor& expected, bool check_hazards) {
  vta::Dram dram;
  std::vector<std::int64_t> addresses = {dram.Allocate("data", BytesOf(inputs.data), false)};
  std::vector<const Tensor*> operands;
  if (IsAnchor(workload.op)) {
    addresses.push_back(dram.Allocate("kernel", BytesOf(inputs.weight), false));
  } else if (workload.has_weight()) {
    operands.push_back(&inputs.weight);
  }
  const std::int64_t result = dram.Allocate("output", expected.bytes(), true);
  addresses.push_back(result);
  for (const Tensor& operand : inputs.operands) operands.push_back(&operand);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Tensor placed = PlacedOperand(file.design, *operands[i], epilogue.operand_addends[i]);
    addresses.push_back(dram.Allocate("operand", BytesOf(placed), false));
  }
  auto instructions = vta::Place(file.design, file.stream, dram, addresses);
  TW_RETURN_IF_ERROR(instructions);
  vta::RunOptions options;
  options.allow_tokens_left = true;  // the original compiler's streams leave one
  options.check_hazards = check_hazards;
  TW_RETURN_IF_ERROR(vta::RunStream(file.design, *instructions, &dram, options).status());
  const auto output = dram.Bytes(result, expected.bytes());
  return std::vector<std::byte>(output.begin(), output.end());
}

/// Executes the stream with every set of inputs. Fills outcome, reason, verified and the error.
Status Verify(const RunOrder::Item& item, const vta::StreamFile& file, RunReply& reply) {
  const KernelSpec& kernel = item.kernel;
  const auto expected = ReadExpected(item.reference, kernel.workload, kernel.epilogue);
  TW_RETURN_IF_ERROR(expected);
  // Whether the design has what the epilogue needs was looked at when the stream was made.
  const auto epilogue = VtaStepsOf(file.design, kernel.workload, kernel.epilogue);
  TW_RETURN_IF_ERROR(epilogue);
  for (InputSet set : kInputSets) {
    const auto inputs = MakeAnchorInputs(kernel.workload, kernel.epilogue, set);
    TW_RETURN_IF_ERROR(inputs);
    const Tensor& wanted = (*expected)[static_cast<std::size_t>(set)];
    const bool first = set == kInputSets.front();
    const auto output = Execute(file, kernel.workload, *epilogue, *inputs, wanted, first);
    TW_RETURN_IF_ERROR(output);
    const auto [got, want] = std::ranges::mismatch(*output, BytesOf(wanted));
    if (got == output->end()) continue;
    reply.outcome = Outcome::kWrongResult;
    reply.reason = "element " + std::to_string(got - output->begin()) + ": " +
                   std::to_string(static_cast<std::int8_t>(*got)) + ", expected " +
                   std::to_string(static_cast<std::int8_t>(*want)) + " (" +
                   std::string(InputSetName(set)) + " inputs)";
    return {};
  }
  reply.verified = true;
  return {};
}

Result<vta::StreamFile> LoadArtifact(const KernelSpec& kernel, const vta::Design& design) {
  auto bytes = ReadFile(kernel.artifact);
  TW_RETURN_IF_ERROR(bytes);
  auto file = vta::ReadStreamFile(*bytes);
  if (!file.ok()) return file.status().WithContext(kernel.artifact);
  if (file->design != design) {
    return InvalidArgument(kernel.artifact + ": made for " + file->design.Model() + ", expected " +
                           design.Model());
  }
  return file;
}

Status Run(const RunOrder::Item& item, RunReply& reply) {
  const auto target = Target::Parse(item.kernel.vta_target);
  TW_RETURN_IF_ERROR(target);
  const auto vta = VtaTargetOf(*target);
  TW_RETURN_IF_ERROR(vta);
  const auto file = LoadArtifact(item.kernel, vta->design);
  TW_RETURN_IF_ERROR(file);
  vta::RunOptions options;
  options.allow_tokens_left = true;
  const auto& instructions = file->stream.instructions;
  const vta::RunResult run = vta::RunStream(vta->design, instructions, nullptr, options);
  TW_RETURN_IF_ERROR(run.status());
  reply.value = vta->metric == kVtaDramBytes
                    ? static_cast<double>(run.summary.dram_bytes)
                    : vta::Simulate(vta->design, instructions, run.pipeline, vta->cycles).cycles;
  reply.samples = {reply.value};
  const bool may_be_best = item.best_seconds <= 0 || reply.value <= item.best_seconds;
  return may_be_best ? Verify(item, *file, reply) : Status();
}

}  // namespace

RunReply RunVtaKernel(const RunOrder::Item& item) {
  SystemClock clock;
  const double start = clock.MonotonicSeconds();
  RunReply reply;
  reply.ticket = item.ticket;
  if (const Status status = Run(item, reply); !status.ok()) {
    reply = FailedWith(item, status);
    reply.blame = Blame::kUnclear;
  }
  reply.timing_seconds = clock.MonotonicSeconds() - start;
  return reply;
}

}  // namespace tilewright::measure
