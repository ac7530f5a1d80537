#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// Instruction sets that a compiler may use on its own in code for an x86 processor that
/// HostCpuName() names, spelt as in -mattr. Empty for another processor.
std::vector<std::string_view> InstructionSetsOf(std::string_view cpu);

/// First of some comma-separated features ("avx2,f16c", as LLVM spells them) that this machine
/// lacks; empty if it lacks none. Names that stand for no instructions of a compiler are passed
/// over.
std::string MissingCpuFeature(std::string_view features);

}  // namespace tilewright
