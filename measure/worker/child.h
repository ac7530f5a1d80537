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
#include "src/base/process/subprocess.h"

// Process of one candidate, forked from the runner. It isolates overwritten memory, leftover
// threads and crashes of the candidate, and the runner keeps its tensors.

namespace tilewright::measure {

/// Memory shared by the runner and the child: it survives a crash and contains its location.
struct CrashReport {
  // Written by the child's signal handler:
  std::atomic<int> signal{0};
  std::atomic<bool> writing{false};
  std::atomic<bool> near_stack{false};
  std::atomic<bool> out_of_address_space{false};  ///< the address space was exhausted
  std::atomic<int> parameter{-1};       ///< the parameter that contains the address; -1: none
  std::atomic<std::int64_t> offset{0};  ///< bytes from that parameter's start
  std::atomic<std::int64_t> bytes{0};   ///< of that parameter
  std::atomic<std::uint64_t> address{0};
  std::atomic<int> system_call{-1};  ///< SIGSYS: the number of the forbidden call
};

/// Value of CrashReport::parameter for the kernel's workspace.
inline constexpr int kWorkspaceParameter = 1000;

/// Parameters of a candidate's process.
struct ChildParams {
  const RunOrder::Item* item = nullptr;
  const OperandCache::KernelOperands* kernel_operands = nullptr;
  /// Per input parameter, memory shared with the runner, which fills it with the data of the random
  /// and of the fresh set; null: both sets have the contents of setup->inputs.
  std::vector<GuardedMemory*> live;
  GuardedMemory* output = nullptr;            ///< shared with the runner
  const ColdWeights* cold_weights = nullptr;  ///< null: each call takes the same weight
  std::size_t weight = 0;                     ///< the parameter that takes cold weights
  std::int64_t real_window = -1;  ///< window of ColdWeights with the real weight; -1: none
  const ReadAllowlist* readable = nullptr;
  CrashReport* report = nullptr;
  Exchange* exchange = nullptr;
  std::int64_t memory_bytes = 0;  ///< maximum allocation of its own; 0 = no limit
  int runner_pid = -1;
  int answer_fd = -1;   ///< it writes kStepDone here
  int command_fd = -1;  ///< it reads steps from here
};

/// Loads the artifact and then does one step (StepKind) for each byte of command_fd, until its end.
/// After loading and after each step it writes the answer to the exchange and then kStepDone. Never
/// returns and never throws, because the runner's own code would continue in the child.
[[noreturn]] void RunChild(const ChildParams& work) noexcept;

/// Returns one line on how a child ended that sent no answer, without its phase.
std::string CrashReason(const CrashReport& report, const ExitStatus& ended);

}  // namespace tilewright::measure
