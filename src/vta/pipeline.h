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

/// Issue of one instruction.
struct Issue {
  std::int32_t instruction = 0;
  Engine engine = Engine::kCompute;
  /// Instructions that pushed the tokens it popped; -1: none.
  std::int32_t prev_producer = -1;
  std::int32_t next_producer = -1;
  /// Per engine the last instruction that has certainly finished when this one starts, independent
  /// of timing; -1 for none.
  std::array<std::int32_t, kEngineCount> done = {-1, -1, -1};
};

/// Dependences between instructions given by the tokens of a stream, without timing. Every queue
/// has one producer and one consumer that work in order, so the result is unique.
struct Pipeline {
  std::vector<Issue> order;  ///< an execution order that the tokens allow
  std::array<std::int64_t, kQueueCount> tokens_left = {};
};

/// Checks that an engine can execute `instruction`: its token flags have queues, and its transfers
/// and micro-op ranges are within the memories of `design`.
std::optional<Fault> CheckInstruction(const Design& design, const Instruction& instruction,
                                      std::int64_t place);

/// Simulates the tokens of a stream, starting with empty queues.
///
/// The stream must end with its only FINISH, which the tokens must order after all others.
/// pipeline: the simulated part, also after a fault.
/// returns the first fault: kBadFinish, kTokenUnderflow or kDeadlock, with the blocked instruction
///         of every engine.
std::optional<Fault> ResolveTokens(std::span<const Instruction> instructions, Pipeline& pipeline);

/// Returns "instruction 12 (gemm uops=0..4 ...)".
std::string Describe(std::int64_t place, const Instruction& instruction);

}  // namespace tilewright::vta
