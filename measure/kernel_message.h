#pragma once

#include "measure/message_fields.h"
#include "measure/messages.h"

// A kernel as it is part of messages. Included by .cc files of measure/ only.

namespace tilewright::measure {

Json ToJson(const KernelSpec& kernel);
/// outer: of the message; gets what is not as expected, also of CheckKernel.
KernelSpec KernelSpecFrom(const Json& json, Fields& outer, const TaskTable& tasks);
/// The name of an artifact with these bytes: their hash and number.
std::string ArtifactName(std::string_view bytes);
/// Errors: kCorrupt if the file is there and does not hold what the name says.
Status CheckArtifact(const std::string& path, const std::string& name);
/// The task that the field `task` names. Null, which `fields` knows of, if there is none.
const TaskInfo* TaskFrom(Fields& fields, const TaskTable& tasks, std::uint64_t* number);

}  // namespace tilewright::measure
