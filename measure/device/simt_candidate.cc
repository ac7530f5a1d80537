#include "measure/device/simt_candidate.h"

#include <optional>
#include <utility>
#include <vector>

#include "measure/evaluate/kernel_evaluation.h"
#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/codegen/simt/simt.h"
#include "src/schedule/lower/lower.h"
#include "src/schedule/tolerance.h"
#include "src/templates/limits.h"
#include "src/templates/registry.h"

namespace tilewright::measure {
namespace {

SimtResult Ended(Outcome outcome, const Status& status) { return {outcome, status.message(), 0}; }

/// Runs the kernel on one input set. Returns nullopt if its result is correct.
std::optional<Failure> RunOn(InputSet set, const OperandCache::KernelOperands& kernel_operands,
                             SimtKernel& kernel, double* max_abs_error) {
  std::vector<void*> arguments;
  for (const GuardedMemory* memory : kernel_operands.inputs[static_cast<std::size_t>(set)]) {
    // Kernels take non-const pointers to data they do not write; the pages are read-only.
    arguments.push_back(const_cast<std::byte*>(memory->data()));
  }
  auto output = GuardedMemory::Create(kernel_operands.output.bytes());
  if (!output.ok()) return Failure{Outcome::kRunFailed, output.status().message()};
  const std::uint8_t poison = PoisonFor(kernel_operands.output.dtype, set);
  output->Poison(poison);
  arguments.push_back(output->data());
  if (const Status ran = kernel.Run(arguments); !ran.ok()) {
    return Failure{Outcome::kRunFailed, ran.message()};
  }
  return CheckResult(kernel_operands, set, output->data(), poison, max_abs_error);
}

/// Inputs and reference results of the kernel.
Result<OperandCache::KernelOperands> SetUp(const KernelSpec& kernel, OperandCache& operand_cache) {
  TW_ASSIGN_OR_RETURN(auto expected,
                      EvaluateExpected(kernel.workload, kernel.epilogue, /*threads=*/1));
  TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-simt"));
  const std::string path = folder.path() + "/reference";
  TW_RETURN_IF_ERROR(WriteExpected(path, kernel.workload, kernel.epilogue, expected));
  return operand_cache.Prepare(kernel, path);
}

}  // namespace

SimtResult VerifyInSimt(const TemplateRegistry& templates, const Candidate& candidate) {
  const Task& task = candidate.task;
  const TemplateEntry* entry = templates.Find(candidate.template_key);
  if (entry == nullptr) return {Outcome::kInvalid, "no template " + candidate.template_key, 0};
  auto applied =
      ApplyTemplate(*entry, task.workload, candidate.epilogue, task.target, candidate.config);
  if (!applied.ok()) return Ended(Outcome::kInvalid, applied.status());
  auto program = Lower(applied->schedule, "tw_candidate", LowerLimitsFor(task.target));
  if (!program.ok()) return Ended(Outcome::kInvalid, program.status());
  auto built = SimtKernel::Build(*program, task.target);
  if (!built.ok()) return Ended(Outcome::kBuildFailed, built.status());
  KernelSpec kernel;
  kernel.workload = task.workload;
  kernel.epilogue = candidate.epilogue;
  kernel.tolerance = ToleranceOf(*program);
  auto signature =
      SignatureOf(task.workload, candidate.epilogue, applied->layouts, program->parameters);
  if (!signature.ok()) return Ended(Outcome::kBuildFailed, signature.status());
  kernel.signature = *std::move(signature);
  OperandCache operand_cache(/*max_bytes=*/0);
  auto kernel_operands = SetUp(kernel, operand_cache);
  if (!kernel_operands.ok()) return Ended(Outcome::kRunFailed, kernel_operands.status());
  SimtResult verdict;
  for (const InputSet set : kInputSets) {
    auto failure = RunOn(set, *kernel_operands, *built, &verdict.max_abs_error);
    if (!failure) continue;
    verdict.outcome = failure->outcome;
    verdict.reason = failure->reason + " (" + std::string(InputSetName(set)) + " inputs)";
    return verdict;
  }
  return verdict;
}

}  // namespace tilewright::measure
