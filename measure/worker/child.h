#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/evaluate/kernel_evaluation.h"
#include "measure/evaluate/operand_cache.h"
#include "measure/interference_probe.h"
#include "measure/messages.h"
#include "measure/sandbox/read_allowlist.h"
#include "measure/worker/cold_weights.h"
#include "measure/worker/exchange.h"
#include "src/base/subprocess.h"

// One candidate runs in a process of its own, forked from the runner: whatever it overwrites,
// leaves running or takes with it is gone afterwards, and the runner keeps its tensors.

namespace tilewright::measure {

/// Memory shared by the runner and the child, so that a child that dies has told where.
struct CrashReport {
  // Written by the child's signal handler:
  std::atomic<int> signal{0};
  std::atomic<bool> writing{false};
  std::atomic<bool> near_stack{false};
  std::atomic<bool> out_of_address_space{false};  ///< the address space was used up
  std::atomic<int> parameter{-1};                 ///< the one the address belongs to; -1 if to none
  std::atomic<std::int64_t> offset{0};            ///< bytes from that parameter's start
  std::atomic<std::int64_t> bytes{0};             ///< of that parameter
  std::atomic<std::uint64_t> address{0};
  std::atomic<int> system_call{-1};  ///< SIGSYS: the number of the forbidden call
};

/// Stands for the kernel's workspace in CrashReport::parameter.
inline constexpr int kWorkspaceParameter = 1000;

/// What the process of one candidate is started with.
struct ChildParams {
  const RunOrder::Item* item = nullptr;
  const OperandCache::KernelOperands* kernel_operands = nullptr;
  /// Per input parameter, memory shared with the runner, which fills it with the data of the random
  /// and of the fresh set; null: both sets have what setup->inputs says.
  std::vector<GuardedMemory*> live;
  GuardedMemory* output = nullptr;            ///< shared with the runner
  const ColdWeights* cold_weights = nullptr;  ///< null: each call takes the same weight
  std::size_t weight = 0;                     ///< the parameter that comes from there
  std::int64_t real_window = -1;  ///< of ColdWeights, where the real weight lies; -1: nowhere there
  const ReadAllowlist* readable = nullptr;
  CrashReport* report = nullptr;
  Exchange* exchange = nullptr;
  std::int64_t memory_bytes = 0;  ///< it may allocate beyond what the runner has; 0 = no limit
  int runner_pid = -1;
  int answer_fd = -1;   ///< where it writes kStepDone
  int command_fd = -1;  ///< where steps come from
};

/// Loads the artifact and then does one step (StepKind) for each byte of command_fd, until that
/// ends. After loading and after each step it leaves the answer in the exchange and writes
/// kStepDone. Never returns; nor does anything thrown leave it, where the runner's own code would
/// go on in the child.
[[noreturn]] void RunChild(const ChildParams& work) noexcept;

/// One line on how a child ended that sent no answer, without what it was doing.
std::string CrashReason(const CrashReport& report, const ExitStatus& ended);

}  // namespace tilewright::measure
