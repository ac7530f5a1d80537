#pragma once

#include "measure/message_fields.h"
#include "measure/messages.h"

// Kernels as parts of messages. Included by .cc files of measure/ only.

namespace tilewright::measure {

/// Members of a kernel in a message. A kernel that is read has no task yet: see CompleteKernel.
void Describe(JsonWriter& fields, const KernelSpec& kernel);
void Describe(JsonReader& fields, KernelSpec& kernel);
Json ToJson(const KernelSpec& kernel);
/// Adds the task to a kernel that was read, and what follows from it.
/// Errors: kCorrupt if the table lacks the task; those of SignatureOf and of CheckKernel.
Status CompleteKernel(KernelSpec& kernel, const TaskTable& tasks);
/// The task of a number. Errors: kCorrupt if the table lacks it.
Result<const TaskInfo*> TaskOf(std::uint64_t number, const TaskTable& tasks);
/// The name of an artifact with these bytes: their hash and number.
std::string ArtifactName(std::string_view bytes);
/// Errors: kCorrupt if the file exists and its bytes are not those of the name.
Status CheckArtifact(const std::string& path, const std::string& name);

}  // namespace tilewright::measure
