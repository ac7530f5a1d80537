// AutoTVM logs: arbitrary bytes as a log of several lines, through the line parser, the task and
// target parsers and the spaces, and tuples through the conversions in both directions. Accepted
// input must print to a text that parses to the same value.

#include <cstdint>
#include <string>
#include <string_view>

#include "records/autotvm/log_line.h"
#include "records/autotvm/space.h"
#include "records/autotvm/task.h"
#include "records/autotvm/value.h"
#include "src/base/status.h"

namespace {

using namespace tilewright;           // NOLINT: a test program of two functions
using namespace tilewright::records;  // NOLINT

void OneLine(std::string_view text) {
  LogLine line;
  if (!ParseLogLine(text, line).ok()) return;
  std::string entities;
  line.AppendEntities(entities, LogLine::Style::kCompact);
  LogLine again;
  const Status read = ParseEntities(entities, again);
  TW_CHECK(read.ok(), entities);
  std::string repeated;
  again.AppendEntities(repeated, LogLine::Style::kCompact);
  TW_CHECK(repeated == entities, entities);
  auto input = ParseAutotvmInput(line);
  if (!input.ok()) return;
  auto task = AutotvmTask::Parse(input->task.tuple);
  TW_CHECK(task.ok() && task->tuple == input->task.tuple, input->task.tuple);
  AutotvmTaskSpaces spaces(input->task.name, input->task.args, input->target.target);
  const AutotvmCheck check = spaces.Check(line);
  if (const AutotvmSpace* space = spaces.Space(check.edition); space != nullptr) {
    for (const AutotvmKnob& knob : space->knobs) (void)knob.At(knob.size() - 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto value = ParseAutotvmValue(text); value.ok()) {
    auto again = ParseAutotvmValue(PythonText(*value));
    TW_CHECK(again.ok() && PythonText(*again) == PythonText(*value), PythonText(*value));
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    OneLine(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 0;
}
