#pragma once

#include <cstdint>
#include <vector>

#include "measure/evaluate/guarded_memory.h"
#include "measure/worker/child.h"

namespace tilewright::measure {

/// Memory a fault address may belong to, in the order of the kernel's parameters (and set by set).
struct ParameterMemory {
  const GuardedMemory* memory = nullptr;
  int parameter = -1;
};

/// Catches the signals a broken kernel dies of, on a stack of their own; the handler notes in
/// `report` what it was and ends the process with kCrashExitCode. `known` and `report` must live
/// until then. address_space_limit: RLIMIT_AS, to tell spent memory from a wild pointer; 0 = none.
void InstallCrashHandler(CrashReport* report, const std::vector<ParameterMemory>* known,
                         std::int64_t address_space_limit);
inline constexpr int kCrashExitCode = 98;

/// "wrote out of bounds of parameter 2: 4 bytes before its start". distance: bytes before the start
/// (negative) or past the end. parameter: or kWorkspaceParameter.
std::string DescribeDamage(std::int64_t distance, int parameter);

/// Bytes of address space the process has now; 0 if unknown. Safe in a signal handler.
std::int64_t AddressSpaceBytes();

}  // namespace tilewright::measure
