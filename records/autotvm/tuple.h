#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/target/target.h"
#include "src/tensor/workload.h"

namespace tilewright::records {

/// Returns AutoTVM's Python-style tuple for the task name, such as "('conv2d_NCHWc.x86', ('TENSOR',
/// (1, 3, 224, 224), 'float32'), …)". Blocked NCHW layouts are written with their unblocked shapes,
/// as AutoTVM does.
/// Errors: kUnsupported if the template cannot express the workload, or the workload requires
/// reduced-range weights. AutoTVM cannot express that range, and a measurement of one task does not
/// hold for the other.
Result<std::string> AutotvmTuple(const Workload& workload, std::string_view task_name);
/// Returns true if AutotvmTuple supports the name.
bool IsAutotvmTask(std::string_view task_name);
/// Parses such a tuple.
/// Errors: kInvalidArgument if the text is not one.
Result<Workload> ParseAutotvmTuple(std::string_view tuple);
/// Returns the workload without properties that AutoTVM lacks. AutoTVM has no range of weights, so
/// its records of a layer also serve workloads with reduced-range weights.
Workload StripForAutotvm(Workload workload);
/// Returns AutoTVM's task name for a target kind, e.g. "conv2d_NCHWc.x86"; empty if it has none.
std::string AutotvmName(const Workload& workload, const Target& target);

/// Returns a function from a workload (see StripForAutotvm) to its tuple on the target. The tuple
/// is empty if AutoTVM has no such task.
std::function<std::string(const Workload&)> AutotvmTuplesOn(Target target);

}  // namespace tilewright::records
