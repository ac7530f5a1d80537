// Texts of open tasks and of their spaces, command lines, and answers of programs: reading neither
// crashes nor accepts what it would not write.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "measure/program/answer.h"
#include "src/base/shell/split.h"
#include "src/templates/open/open_task.h"
#include "src/templates/open/space_text.h"
#include "src/tensor/open_workload.h"

using namespace tilewright;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)SplitCommandLine(text);
  if (const auto space = ParseSpaceText(text, "space"); space.ok()) {
    const auto again = OpenSpace::ParseT1(space->ToT1());
    TW_CHECK(again.ok() && again->parameters() == space->parameters() &&
                 again->conditions() == space->conditions(),
             "a space is not read back from T1 as it was");
  }
  const auto workload = ParseOpenWorkload(text);
  TW_CHECK(!workload.ok() || workload->Key() == text, "a key is not read back as it was");
  const auto answer = measure::FindAnswer(text, {"seconds", "size[B]"});
  if (answer.ok() && answer->has_value() && (*answer)->outcome == Outcome::kOk) {
    for (const auto& [metric, samples] : (*answer)->samples) {
      TW_CHECK(!samples.empty(), "a metric without samples");
    }
  }
  const auto task = ParseOpenTask(text, "text");
  if (!task.ok()) return 0;
  TW_CHECK(task->text == text, "a text is not the canonical one");
  const Config config = task->knobs.At(task->knobs.size() - 1);
  (void)ExpandWords(*task, task->command, config, "out");
  return 0;
}
