#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// Returns LLVM 19's names of the processors of an architecture, in the spelling of
/// HostArchitecture: also those that no code is generated for. Empty for another architecture.
std::vector<std::string> KnownCpus(std::string_view architecture);

}  // namespace tilewright
