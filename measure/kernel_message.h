#pragma once

#include "measure/message_fields.h"
#include "measure/messages.h"

// A kernel as it is part of messages. Included by .cc files of measure/ only.

namespace tilewright::measure {

Json ToJson(const KernelSpec& kernel);
/// outer: of the message; gets what is not as expected.
KernelSpec KernelSpecFrom(const Json& json, Fields& outer, const TaskTable& tasks);
/// The task that the field `task` names. Null, which `fields` knows of, if there is none.
const TaskInfo* TaskFrom(Fields& fields, const TaskTable& tasks, std::uint64_t* number);

}  // namespace tilewright::measure
