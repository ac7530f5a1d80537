#pragma once

#include <string>
#include <string_view>

#include "src/tensor/workload.h"

// Workloads of open tasks: programs of users that are tuned as they are. Such a workload has only
// its key (Workload::open). OutputType fails, so no kernel can be made of it.

namespace tilewright {

/// Length of the name of an open task.
inline constexpr std::size_t kMaxOpenName = 18;

/// Whether a text is the name of an open task: 1 to kMaxOpenName letters, digits, '_' and '-'.
bool IsOpenName(std::string_view name);
/// Returns the workload with the key "open(NAME,HASH)". hash: hexadecimal digits.
Workload OpenWorkload(std::string_view name, std::string_view hash);
/// Parses such a key. Errors: kInvalidArgument.
Result<Workload> ParseOpenWorkload(std::string_view key);
/// Whether a key has that form.
bool IsOpenKey(std::string_view key);
bool IsOpen(const Workload& workload);
/// Returns the name of an open task. Requires IsOpen.
std::string OpenNameOf(const Workload& workload);

}  // namespace tilewright
