#pragma once

#include "src/templates/registry.h"
#include "src/templates/text/schedule_text.h"

namespace tilewright {

/// Returns the entry of the template that a text is. The text outlives it.
TemplateEntry EntryOfText(const ScheduleText& text);

/// Adds the template of a text; the registry and its copies keep the text. Does nothing if the same
/// text was added before.
/// Errors: kInvalidArgument for another text of the same key.
Status AddScheduleText(TemplateRegistry& templates, ScheduleText text);

/// Adds the template of a text as a worker needs it: under its present and its former key, because
/// orders name templates as records do. name: of the text in messages.
/// Errors: those of ParseScheduleText and AddScheduleText.
Status AddWorkerSchedule(TemplateRegistry& templates, std::string_view text,
                         const std::string& name);

/// Returns a text that gives the kernel for one workload: the primitives that were applied, with
/// names, ready to be edited.
/// name: of the schedule, up to 22 letters, digits and '_'.
/// Errors: kUnsupported if the kernel has steps that no text can express (a call of a library), or
/// if the text, parsed again, gives another schedule.
Result<std::string> TextOfKernel(const Kernel& kernel, const Workload& workload,
                                 const Epilogue& epilogue, const Target& target,
                                 std::string_view name);

}  // namespace tilewright
