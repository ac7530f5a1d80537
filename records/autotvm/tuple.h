#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/target/target.h"
#include "src/tensor/workload.h"

namespace tilewright::records {

/// Python-style tuple of AutoTVM for the given task name (blocked NCHW layouts are written with
/// their unblocked shapes, as that program does), such as
/// "('conv2d_NCHWc.x86', ('TENSOR', (1, 3, 224, 224), 'float32'), …)".
/// Errors: kUnsupported if that template cannot express the workload, or the weights are said to be
/// narrow, which it cannot say: then what was measured of the one task is not of the other.
Result<std::string> AutotvmTuple(const Workload& workload, std::string_view task_name);
/// Whether AutotvmTuple knows the name.
bool IsAutotvmTask(std::string_view task_name);
/// Errors: kInvalidArgument if the text is no such tuple.
Result<Workload> ParseAutotvmTuple(std::string_view tuple);
/// The workload as far as AutoTVM has it: it knows nothing of weights, so that its records of a
/// layer serve it whether its weights are narrow or not.
Workload StripForAutotvm(Workload workload);
/// AutoTVM's task name for a target kind, e.g. "conv2d_NCHWc.x86"; empty if it has none.
std::string AutotvmName(const Workload& workload, const Target& target);

/// Workload, as of AutoTVM, to its tuple on the target; the tuple is empty where AutoTVM has no
/// such task.
std::function<std::string(const Workload&)> AutotvmTuplesOn(Target target);

}  // namespace tilewright::records
