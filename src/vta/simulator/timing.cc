#include "src/vta/simulator/timing.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tilewright::vta {
namespace {

/// Recorder of instruction times.
class Recorder {
 public:
  Recorder(const Pipeline& pipeline, std::size_t instructions, bool with_timeline)
      : with_timeline_(with_timeline), end_(instructions, 0) {
    if (with_timeline) timing_.timeline.reserve(pipeline.order.size());
  }

  /// Returns the time at which the engine and the tokens of `issue` are available. Their producers
  /// must have been added.
  double Ready(const Issue& issue) const {
    return std::max({free_at_[static_cast<std::size_t>(issue.engine)], EndOf(issue.prev_producer),
                     EndOf(issue.next_producer)});
  }

  void Add(const Issue& issue, double start, double end) {
    const auto engine = static_cast<std::size_t>(issue.engine);
    EngineTime& time = timing_.engines[engine];
    // The wait is attributed to the token that arrived last.
    const bool stalled = EndOf(issue.next_producer) > EndOf(issue.prev_producer);
    (stalled ? time.stalled : time.starved) += start - free_at_[engine];
    time.busy += end - start;
    if (with_timeline_) {
      timing_.timeline.push_back({issue.instruction, issue.engine, free_at_[engine], start, end});
    }
    end_[static_cast<std::size_t>(issue.instruction)] = end;
    free_at_[engine] = end;
  }

  Timing Finish(const CycleModel& model) && {
    const double last = std::ranges::max(free_at_);
    for (std::size_t e = 0; e < kEngineCount; ++e) timing_.engines[e].idle = last - free_at_[e];
    timing_.cycles = model.launch_cycles + last;
    return std::move(timing_);
  }

 private:
  double EndOf(std::int32_t place) const {
    return place < 0 ? 0 : end_[static_cast<std::size_t>(place)];
  }

  const bool with_timeline_;
  Timing timing_;
  std::vector<double> end_;
  std::array<double, kEngineCount> free_at_ = {};
};

/// Engines that share the bus: simulation from event to event. If the transfers together exceed the
/// bandwidth, all of them slow down in proportion.
class SharedBus {
 public:
  SharedBus(const Design& design, std::span<const Instruction> instructions,
            const Pipeline& pipeline, const CycleModel& model, Recorder& recorder)
      : design_(design),
        instructions_(instructions),
        model_(model),
        recorder_(recorder),
        done_(instructions.size(), false) {
    for (const Issue& issue : pipeline.order) {
      engines_[static_cast<std::size_t>(issue.engine)].work.push_back(issue);
    }
  }

  void Play() {
    while (StartAll()) {
      const double slowness = Slowness();
      double step = std::numeric_limits<double>::infinity();
      for (const EngineState& engine : engines_) {
        if (engine.running) step = std::min(step, engine.StepTime(slowness));
      }
      now_ += step;
      for (EngineState& engine : engines_) {
        if (engine.running) Advance(engine, step, slowness);
      }
    }
  }

 private:
  struct EngineState {
    std::vector<Issue> work;
    std::size_t next = 0;  // next instruction, or the one that runs
    bool running = false;
    double start = 0;
    CycleModel::Cost left;

    bool MovesData() const { return running && left.before_data == 0 && left.data > 0; }
    /// Returns the time until it has finished its present phase.
    double StepTime(double slowness) const {
      return MovesData() ? left.data * slowness : left.before_data;
    }
  };

  bool IsDone(std::int32_t place) const {
    return place < 0 || done_[static_cast<std::size_t>(place)];
  }

  /// Starts all instructions that can start. Returns true if any engine is running.
  bool StartAll() {
    bool any = false;
    for (EngineState& engine : engines_) {
      if (!engine.running && engine.next < engine.work.size()) {
        const Issue& issue = engine.work[engine.next];
        engine.running = IsDone(issue.prev_producer) && IsDone(issue.next_producer);
        engine.start = now_;
        engine.left =
            model_.CostOf(design_, instructions_[static_cast<std::size_t>(issue.instruction)]);
      }
      any = any || engine.running;
    }
    return any;
  }

  /// Returns the current slowdown factor of data transfers.
  double Slowness() const {
    double wanted = 0;
    for (const EngineState& engine : engines_) {
      if (engine.MovesData()) wanted += engine.left.bytes_per_cycle;
    }
    return std::max(1.0, wanted / model_.bus_bytes_per_cycle);
  }

  void Advance(EngineState& engine, double step, double slowness) {
    const bool moves_data = engine.MovesData();
    double& left = moves_data ? engine.left.data : engine.left.before_data;
    // Exactly zero for the one that ends the step; a rounding residue would become another step.
    left = engine.StepTime(slowness) <= step ? 0 : left - step / (moves_data ? slowness : 1);
    if (engine.left.before_data > 0 || engine.left.data > 0) return;
    const Issue& issue = engine.work[engine.next++];
    recorder_.Add(issue, engine.start, now_);
    done_[static_cast<std::size_t>(issue.instruction)] = true;
    engine.running = false;
  }

  const Design& design_;
  std::span<const Instruction> instructions_;
  const CycleModel& model_;
  Recorder& recorder_;
  std::vector<bool> done_;
  std::array<EngineState, kEngineCount> engines_;
  double now_ = 0;
};

}  // namespace

Timing Simulate(const Design& design, std::span<const Instruction> instructions,
                const Pipeline& pipeline, const CycleModel& model, bool with_timeline) {
  Recorder recorder(pipeline, instructions.size(), with_timeline);
  if (model.bus_bytes_per_cycle > 0) {
    SharedBus(design, instructions, pipeline, model, recorder).Play();
    return std::move(recorder).Finish(model);
  }
  for (const Issue& issue : pipeline.order) {
    const double start = recorder.Ready(issue);
    const auto cost =
        model.CostOf(design, instructions[static_cast<std::size_t>(issue.instruction)]);
    recorder.Add(issue, start, start + cost.cycles());
  }
  return std::move(recorder).Finish(model);
}

}  // namespace tilewright::vta
