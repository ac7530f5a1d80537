#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/vta/design.h"
#include "src/vta/fault.h"
#include "src/vta/isa.h"

namespace tilewright::vta {

/// One instruction's turn.
struct Issue {
  std::int32_t instruction = 0;
  Engine engine = Engine::kCompute;
  /// The instructions whose tokens it took; -1: none.
  std::int32_t prev_producer = -1;
  std::int32_t next_producer = -1;
  /// For each engine the last instruction that is certainly done when this one starts, whatever
  /// the timing; -1 for none.
  std::array<std::int32_t, kEngineCount> done = {-1, -1, -1};
};

/// Which instruction waits for which: what the tokens of a stream say, without any timing. Every
/// queue has one producer and one consumer that work in order, so there is just one answer.
struct Pipeline {
  std::vector<Issue> order;  ///< an order of execution that the tokens allow
  std::array<std::int64_t, kQueueCount> tokens_left = {};
};

/// Whether an engine can execute `instruction` at all: its token flags belong to queues, transfers
/// and micro-op ranges stay within the memories of `design`.
std::optional<Fault> CheckInstruction(const Design& design, const Instruction& instruction,
                                      std::int64_t place);

/// Plays the tokens of a stream; none are in the queues when it begins.
///
/// The stream ends with its only FINISH, which must come behind everything else by the tokens.
/// pipeline: what was played, as far as it went.
/// returns the first fault: kBadFinish, kTokenUnderflow or kDeadlock, with the blocked instruction
///         of every engine.
std::optional<Fault> ResolveTokens(std::span<const Instruction> instructions, Pipeline& pipeline);

/// "instruction 12 (gemm uops=0..4 ...)".
std::string Describe(std::int64_t place, const Instruction& instruction);

}  // namespace tilewright::vta
