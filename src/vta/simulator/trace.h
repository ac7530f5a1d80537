#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/vta/simulator/timing.h"

namespace tilewright::vta {

/// Writes timelines in the trace format of Chrome (chrome://tracing, Perfetto): a row for each
/// engine and one for the launches, one microsecond of the trace for each cycle, waits included.
class TraceWriter {
 public:
  TraceWriter();
  /// Appends a launch behind those there are. timing: with its timeline.
  void Add(std::string_view name, std::span<const Instruction> instructions, const Timing& timing);
  /// The whole file; the writer is then spent.
  std::string Finish() &&;

 private:
  void Append(const std::string& event);

  std::string text_;
  double cycles_ = 0;  // of the launches so far
};

}  // namespace tilewright::vta
