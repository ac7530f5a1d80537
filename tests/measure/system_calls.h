#pragma once

#include <map>
#include <string_view>

namespace tilewright::measure {

/// Return the numbers of system calls by name from the system's headers: those of x86-64, and those
/// that all newer processors share (including 64-bit Arm).
std::map<std::string_view, int> X86SystemCalls();
std::map<std::string_view, int> GenericSystemCalls();

}  // namespace tilewright::measure
