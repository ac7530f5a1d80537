#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "src/vta/pipeline.h"
#include "src/vta/simulator/cycle_model.h"

namespace tilewright::vta {

/// Time of an engine during a launch, in cycles. The four parts add up to the time of the launch
/// after CycleModel::launch_cycles.
struct EngineTime {
  double busy = 0;     ///< executes
  double starved = 0;  ///< waits for data: a token of the previous engine
  double stalled = 0;  ///< waits for space: a token of the next engine
  double idle = 0;     ///< has finished all its instructions
};

/// Execution of one instruction, in cycles from the start of the launch.
struct TimelineEvent {
  std::int32_t instruction = 0;
  Engine engine = Engine::kCompute;
  double waited_from = 0;  ///< its engine was free
  double start = 0;
  double end = 0;
};

struct Timing {
  double cycles = 0;  ///< of the whole launch
  std::array<EngineTime, kEngineCount> engines;
  std::vector<TimelineEvent> timeline;  ///< unordered; empty unless requested
};

/// Simulates events: an instruction starts when its engine is free and its tokens are available,
/// and pushes its own tokens when it ends. With CycleModel::bus_bytes_per_cycle, transfers that
/// together exceed this rate slow each other down.
Timing Simulate(const Design& design, std::span<const Instruction> instructions,
                const Pipeline& pipeline, const CycleModel& model, bool with_timeline = false);

}  // namespace tilewright::vta
