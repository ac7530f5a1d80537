#include "measure/device/vta_candidate.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "measure/evaluate/inputs.h"
#include "measure/evaluate/race_rounds.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/templates/vta/alu_blocks.h"
#include "src/templates/vta/alu_epilogue.h"
#include "src/templates/vta/launch.h"
#include "src/templates/vta/vta_target.h"
#include "src/vta/stream_file.h"

namespace tilewright::measure {
namespace {

std::span<const std::byte> TensorBytes(const Tensor& tensor) {
  return {tensor.data(), static_cast<std::size_t>(tensor.bytes())};
}

/// What a kernel's stream takes of a set of inputs, in its order.
std::vector<const Tensor*> LoadsOf(const Workload& workload, const AnchorInputs& inputs) {
  std::vector<const Tensor*> loads = {&inputs.data};
  if (workload.has_weight()) loads.push_back(&inputs.weight);
  for (const Tensor& operand : inputs.operands) loads.push_back(&operand);
  return loads;
}

/// Executes the stream with every input set. Sets outcome, reason, verified and the error.
Status Verify(const RunOrder::Item& item, const vta::StreamFile& file, RunReply& reply) {
  const KernelSpec& kernel = item.kernel;
  TW_ASSIGN_OR_RETURN(const auto expected,
                      ReadExpected(item.reference, kernel.workload, kernel.epilogue));
  // The build of the stream has already checked that the design supports the epilogue.
  TW_ASSIGN_OR_RETURN(const auto epilogue,
                      VtaStepsOf(file.design, kernel.workload, kernel.epilogue));
  for (InputSet set : kInputSets) {
    TW_ASSIGN_OR_RETURN(const auto inputs, MakeAnchorInputs(kernel.workload, kernel.epilogue, set));
    const Tensor& wanted = expected[static_cast<std::size_t>(set)].value;
    const bool first = set == kInputSets.front();
    TW_ASSIGN_OR_RETURN(
        const auto launch,
        LaunchStream(file.design, file.stream, LoadsOf(kernel.workload, inputs),
                     epilogue.operand_addends, wanted.type(), /*check_hazards=*/first));
    const auto output = TensorBytes(launch.result);
    const auto [got, want] = std::ranges::mismatch(output, TensorBytes(wanted));
    if (got == output.end()) continue;
    reply.outcome = Outcome::kWrongResult;
    reply.reason = "element " + std::to_string(got - output.begin()) + ": " +
                   std::to_string(static_cast<std::int8_t>(*got)) + ", expected " +
                   std::to_string(static_cast<std::int8_t>(*want)) + " (" +
                   std::string(InputSetName(set)) + " inputs)";
    return {};
  }
  reply.verified = true;
  return {};
}

Result<vta::StreamFile> LoadArtifact(const KernelSpec& kernel, const vta::Design& design) {
  TW_ASSIGN_OR_RETURN(auto bytes, ReadFile(kernel.artifact));
  auto file = vta::ReadStreamFile(bytes);
  if (!file.ok()) return file.status().WithContext(kernel.artifact);
  if (file->design != design) {
    return InvalidArgument(kernel.artifact + ": made for " + file->design.Model() + ", expected " +
                           design.Model());
  }
  return file;
}

Status RunStreamOf(const RunOrder::Item& item, RunReply& reply) {
  TW_ASSIGN_OR_RETURN(const auto vta, VtaTargetOf(item.kernel.target));
  TW_ASSIGN_OR_RETURN(const auto file, LoadArtifact(item.kernel, vta.design));
  TW_ASSIGN_OR_RETURN(const auto cost, CostOfStream(vta, file.stream));
  reply.value = cost.Of(vta.metric);
  const std::string_view other = vta.metric == kVtaCycles ? kVtaDramBytes : kVtaCycles;
  reply.others[std::string(other)] = cost.Of(other);
  reply.samples = {reply.value};
  const bool may_be_best = item.best_seconds <= 0 || reply.value <= item.best_seconds;
  return may_be_best ? Verify(item, file, reply) : Status();
}

RunReply RunVtaKernel(const RunOrder::Item& item) {
  SystemClock clock;
  const double start = clock.MonotonicSeconds();
  RunReply reply;
  reply.ticket = item.ticket;
  if (const Status status = RunStreamOf(item, reply); !status.ok()) {
    reply = FailureReply(item, status);
    reply.fault_domain = FaultDomain::kUndetermined;
  }
  reply.timing_seconds = clock.MonotonicSeconds() - start;
  return reply;
}

}  // namespace

Result<std::vector<RunReply>> VtaRunner::Run(const RunOrder& order,
                                             OperandCache& /*operand_cache*/) {
  std::vector<RunReply> replies;
  for (const RunOrder::Item& item : order.items) replies.push_back(RunVtaKernel(item));
  return replies;
}

}  // namespace tilewright::measure
