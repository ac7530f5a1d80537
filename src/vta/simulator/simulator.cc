#include "src/vta/simulator/simulator.h"

#include <fmt/format.h>

#include "src/vta/simulator/machine.h"

namespace tilewright::vta {

Status RunResult::status() const {
  if (!fault) return Status();
  return InvalidArgument(fmt::format("{}: {}", FaultKindName(fault->kind), fault->message));
}

RunResult RunStream(const Design& design, std::span<const Instruction> instructions, Dram* dram,
                    const RunOptions& options) {
  RunResult result;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    result.fault = CheckInstruction(design, instructions[i], static_cast<std::int64_t>(i));
    if (result.fault) return result;
  }
  result.summary = Summarize(design, instructions);
  result.fault = ResolveTokens(instructions, result.pipeline);
  // A deadlocked stream can contain an earlier race; the first fault in time is the useful one.
  if (dram != nullptr && !result.pipeline.order.empty()) {
    Machine machine(design, instructions, *dram, options);
    for (const Issue& issue : result.pipeline.order) {
      if (auto fault = machine.Execute(issue)) {
        result.fault = std::move(fault);
        return result;
      }
    }
  }
  if (result.fault || options.allow_tokens_left) return result;
  for (int q = 0; q < kQueueCount; ++q) {
    const std::int64_t left = result.pipeline.tokens_left[static_cast<std::size_t>(q)];
    if (left == 0) continue;
    result.fault = Fault{FaultKind::kTokensLeft, static_cast<std::int64_t>(instructions.size()) - 1,
                         fmt::format("{} tokens {} were pushed and never taken", left,
                                     QueueName(static_cast<Queue>(q)))};
    return result;
  }
  return result;
}

}  // namespace tilewright::vta
