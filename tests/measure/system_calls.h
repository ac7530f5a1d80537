#pragma once

#include <map>
#include <string_view>

namespace tilewright::measure {

/// Numbers of system calls by name as the headers of the system have them: those of x86-64, and
/// those that all newer processors share (64-bit Arm among them).
std::map<std::string_view, int> X86SystemCalls();
std::map<std::string_view, int> GenericSystemCalls();

}  // namespace tilewright::measure
