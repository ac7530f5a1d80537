#include "src/vta/timing.h"

#include <algorithm>

#include "src/base/json.h"

namespace tilewright::vta {

Timing Simulate(const Design& design, std::span<const Instruction> instructions,
                const Pipeline& pipeline, const CycleModel& model, bool with_timeline) {
  Timing timing;
  std::vector<double> end(instructions.size(), 0);
  std::array<double, kEngineCount> free_at = {};
  const auto end_of = [&](std::int32_t place) {
    return place < 0 ? 0 : end[static_cast<std::size_t>(place)];
  };
  if (with_timeline) timing.timeline.reserve(pipeline.order.size());
  for (const Issue& issue : pipeline.order) {
    const auto engine = static_cast<std::size_t>(issue.engine);
    const auto place = static_cast<std::size_t>(issue.instruction);
    const double prev = end_of(issue.prev_producer);
    const double next = end_of(issue.next_producer);
    const double start = std::max({free_at[engine], prev, next});
    // The wait belongs to the token that came last.
    EngineTime& time = timing.engines[engine];
    (next > prev ? time.stalled : time.starved) += start - free_at[engine];
    const double duration = model.Duration(design, instructions[place]);
    time.busy += duration;
    end[place] = start + duration;
    if (with_timeline) {
      timing.timeline.push_back(
          {issue.instruction, issue.engine, free_at[engine], start, end[place]});
    }
    free_at[engine] = end[place];
  }
  const double last = std::max({free_at[0], free_at[1], free_at[2]});
  for (std::size_t e = 0; e < kEngineCount; ++e) timing.engines[e].idle = last - free_at[e];
  timing.cycles = model.launch_cycles + last;
  return timing;
}

std::string ChromeTrace(std::span<const Instruction> instructions, const Timing& timing) {
  Json events = Json::array();
  for (int e = 0; e < kEngineCount; ++e) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 0},
                      {"tid", e},
                      {"args", {{"name", EngineName(static_cast<Engine>(e))}}}});
  }
  for (const TimelineEvent& event : timing.timeline) {
    const int row = static_cast<int>(event.engine);
    if (event.start > event.waited_from) {
      events.push_back({{"name", "wait"},
                        {"cat", "wait"},
                        {"ph", "X"},
                        {"pid", 0},
                        {"tid", row},
                        {"ts", event.waited_from},
                        {"dur", event.start - event.waited_from},
                        {"cname", "grey"}});
    }
    const std::string text = ToString(instructions[static_cast<std::size_t>(event.instruction)]);
    events.push_back({{"name", text.substr(0, text.find(' '))},
                      {"cat", EngineName(event.engine)},
                      {"ph", "X"},
                      {"pid", 0},
                      {"tid", row},
                      {"ts", event.start},
                      {"dur", event.end - event.start},
                      {"args", {{"instruction", event.instruction}, {"text", text}}}});
  }
  Json trace;
  trace["displayTimeUnit"] = "ns";
  trace["otherData"] = {{"unit", "one microsecond of this trace is one cycle"},
                        {"cycles", timing.cycles}};
  trace["traceEvents"] = std::move(events);
  return trace.dump() + "\n";
}

}  // namespace tilewright::vta
