#pragma once

#include "measure/message_fields.h"
#include "measure/messages.h"

// Kernels as parts of messages. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// Describes the members of a kernel in a message. A decoded kernel has no task yet: see
/// CompleteKernel.
void Describe(JsonWriter& fields, const KernelSpec& kernel);
void Describe(JsonReader& fields, KernelSpec& kernel);
Json ToJson(const KernelSpec& kernel);
/// Adds the task to a decoded kernel, and the members that depend on it. Errors: kCorrupt if the
/// table lacks the task; those of SignatureOf and of CheckKernel.
Status CompleteKernel(KernelSpec& kernel, const TaskTable& tasks);
/// Returns the task with this number. Errors: kCorrupt if the table lacks it.
Result<const TaskInfo*> TaskOf(std::uint64_t number, const TaskTable& tasks);
/// Returns the name of an artifact with these bytes: their hash and number.
std::string ArtifactName(std::string_view bytes);
/// Errors: kCorrupt if the file exists and its bytes are not those of the name.
Status CheckArtifact(const std::string& path, const std::string& name);

}  // namespace tilewright::measure
