#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// Returns the instruction sets that a compiler may use without being requested to, for an x86
/// processor named by HostCpuName(), in the spelling of -mattr. Empty for other processors.
std::vector<std::string_view> InstructionSetsOf(std::string_view cpu);

/// Returns the first of some comma-separated features ("avx2,f16c", in LLVM's spelling) that this
/// machine lacks; empty if it has all. Ignores names that enable no instructions of a compiler.
std::string MissingCpuFeature(std::string_view features);

}  // namespace tilewright
