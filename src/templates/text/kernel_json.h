#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "src/templates/registry.h"

namespace tilewright {

/// Returns the schedule text of a kernel as `tilewright lower --emit schedule` prints it, after a
/// comment with the template and the config.
/// Errors: as TextOfKernel.
Result<std::string> CommentedScheduleText(const TemplateEntry& entry, const Kernel& kernel,
                                          const Workload& workload, const Epilogue& epilogue,
                                          const Target& target, const Config& config);

/// Describes the kernel of a config completely, for compilers that generate its code themselves:
/// the member "kernel" of an answer of `tilewright query --json`, and the tree of tw_answer_kernel.
/// docs/c-abi.md describes the members. A VTA kernel has the listing of its stream instead of
/// loops. Errors: those of the template; kInvalidArgument if a limit of the lowering is exceeded.
Result<nlohmann::ordered_json> KernelJson(const TemplateEntry& entry, const Workload& workload,
                                          const Epilogue& epilogue, const Target& target,
                                          const Config& config);

}  // namespace tilewright
