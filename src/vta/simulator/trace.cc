// Writes the text event by event: the residual additions of a network have hundreds of thousands of
// instructions, too many for a tree of JSON values.

#include "src/vta/simulator/trace.h"

#include <fmt/format.h>

#include "src/base/json.h"

namespace tilewright::vta {
namespace {

constexpr int kLaunchRow = kEngineCount;

}  // namespace

TraceWriter::TraceWriter() : text_(R"({"displayTimeUnit":"ns","traceEvents":[)") {
  for (int row = 0; row <= kLaunchRow; ++row) {
    const std::string_view name =
        row == kLaunchRow ? "launch" : EngineName(static_cast<Engine>(row));
    text_ += fmt::format(
        R"({}{{"name":"thread_name","ph":"M","pid":0,"tid":{},"args":{{"name":"{}"}}}})",
        row == 0 ? "" : ",", row, name);
  }
}

void TraceWriter::Append(const std::string& event) { text_ += ",\n" + event; }

void TraceWriter::Add(std::string_view name, std::span<const Instruction> instructions,
                      const Timing& timing) {
  Append(fmt::format(R"({{"name":{},"cat":"launch","ph":"X","pid":0,"tid":{},"ts":{},"dur":{}}})",
                     DumpJson(Json(name)), kLaunchRow, cycles_, timing.cycles));
  for (const TimelineEvent& event : timing.timeline) {
    const int row = static_cast<int>(event.engine);
    if (event.start > event.waited_from) {
      Append(fmt::format(
          R"({{"name":"wait","cat":"wait","ph":"X","pid":0,"tid":{},"ts":{},"dur":{},"cname":"grey"}})",
          row, cycles_ + event.waited_from, event.start - event.waited_from));
    }
    const std::string text = ToString(instructions[static_cast<std::size_t>(event.instruction)]);
    Append(fmt::format(
        R"({{"name":"{}","cat":"{}","ph":"X","pid":0,"tid":{},"ts":{},"dur":{},"args":{{"instruction":{},"text":"{}"}}}})",
        text.substr(0, text.find(' ')), EngineName(event.engine), row, cycles_ + event.start,
        event.end - event.start, event.instruction, text));
  }
  cycles_ += timing.cycles;
}

std::string TraceWriter::Finish() && {
  text_ += fmt::format(
      R"(],"otherData":{{"unit":"one microsecond of this trace is one cycle","cycles":{}}}}})",
      cycles_);
  return std::move(text_) + "\n";
}

}  // namespace tilewright::vta
