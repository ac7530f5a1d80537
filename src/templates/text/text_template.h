#pragma once

#include "src/templates/registry.h"
#include "src/templates/text/schedule_text.h"

namespace tilewright {

/// The template that a text is. The text outlives it.
TemplateEntry EntryOfText(const ScheduleText& text);

/// Adds the template of a text; the registry and its copies keep it. One that is there already is
/// not added again.
/// Errors: kInvalidArgument for another text of the same key.
Status AddScheduleText(TemplateRegistry& templates, ScheduleText text);

/// A kernel as a text that gives it for the one workload: the primitives that were applied, with
/// names, ready to be edited. name: of the schedule, up to 22 letters, digits and '_'.
/// Errors: kUnsupported where it does what no text says (a library's call), or if what is read back
/// is not the same schedule.
Result<std::string> TextOfKernel(const Kernel& kernel, const Workload& workload,
                                 const Epilogue& epilogue, const Target& target,
                                 std::string_view name);

}  // namespace tilewright
