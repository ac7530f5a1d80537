#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/canary.h"
#include "measure/messages.h"
#include "measure/worker/course.h"
#include "measure/worker/far_weights.h"
#include "measure/worker/workbench.h"
#include "src/base/subprocess.h"

// One candidate runs in a process of its own, forked from the runner: whatever it overwrites,
// leaves running or takes with it is gone afterwards, and the runner keeps its tensors.

namespace tilewright::measure {

/// Memory shared by the runner and the child, so that a child that dies has told where.
struct ChildReport {
  std::atomic<Phase> phase{Phase::kLoading};
  std::atomic<double> call_started{0};  ///< monotonic seconds; 0 when no call is under way
  // Written by the child's signal handler:
  std::atomic<int> signal{0};
  std::atomic<bool> writing{false};
  std::atomic<bool> near_stack{false};
  std::atomic<bool> memory_spent{false};  ///< the address space was used up
  std::atomic<int> parameter{-1};         ///< the one the address belongs to; -1 if to none
  std::atomic<std::int64_t> offset{0};    ///< bytes from that parameter's start
  std::atomic<std::int64_t> bytes{0};     ///< of that parameter
  std::atomic<std::uint64_t> address{0};
  std::atomic<int> system_call{-1};  ///< SIGSYS: the number of the forbidden call
};

/// Stands for the kernel's workspace in ChildReport::parameter.
inline constexpr int kWorkspaceParameter = 1000;

struct ChildWork {
  const RunOrder::Item* item = nullptr;
  const Workbench::Setup* setup = nullptr;
  SamplingSettings sampling;
  QuietGate gate;
  Canary* canary = nullptr;
  MemoryCanary* memory_canary = nullptr;  ///< null: none
  int memory_level = 0;                   ///< of the kernel, see MemoryCanary
  std::optional<MemoryWatch> memory;      ///< of that level
  EnergyCounter* energy = nullptr;        ///< null: joules are not counted
  const FarWeights* far_weights = nullptr;  ///< null: each call takes the same weight
  std::size_t weight = 0;                   ///< the parameter that comes from there
  ChildReport* report = nullptr;
  std::int64_t memory_bytes = 0;  ///< it may allocate beyond what the runner has; 0 = no limit
  int runner_pid = -1;
  int result_fd = -1;   ///< where lines go
  int command_fd = -1;  ///< -1: takes samples until settled; else see ServeSlices
};

/// Loads, verifies, times and verifies again; writes a line with the RunReply. With a command_fd it
/// writes a line "1" after the first verification, then answers each byte 's' with a slice and a line
/// (its samples, in seconds, with blanks between them), and anything else (or the end) with the last
/// verification and the reply. Never returns; nor does anything thrown leave it, where the runner's
/// own code would go on in the child.
[[noreturn]] void RunChild(const ChildWork& work) noexcept;

/// One line on how a child ended that sent no reply.
std::string CrashReason(const ChildReport& report, const ExitStatus& ended);

}  // namespace tilewright::measure
