#pragma once

#include <string>
#include <string_view>

namespace tilewright {

/// Name of this process among all of this machine and its containers since the start: host name,
/// process number and start time. A child of fork has another one.
std::string ProcessName();
/// Whether a process of this host with that name has ended. False for names of other hosts.
bool HasEnded(std::string_view process_name);

}  // namespace tilewright
