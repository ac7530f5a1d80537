#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/vta/simulator/timing.h"

namespace tilewright::vta {

/// Writer of timelines in the trace format of Chrome (chrome://tracing, Perfetto): a row for each
/// engine and one for the launches. One cycle is one microsecond of the trace. Includes waits.
class TraceWriter {
 public:
  TraceWriter();
  /// Appends a launch after the existing ones. timing: with its timeline.
  void Add(std::string_view name, std::span<const Instruction> instructions, const Timing& timing);
  /// Returns the whole file. The writer must not be used afterwards.
  std::string Finish() &&;

 private:
  void Append(const std::string& event);

  std::string text_;
  double cycles_ = 0;  // of the launches so far
};

}  // namespace tilewright::vta
