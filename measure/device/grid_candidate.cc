#include "measure/device/grid_candidate.h"

#include <algorithm>
#include <utility>

#include "measure/device/grid_kernel.h"
#include "measure/evaluate/race_rounds.h"
#include "src/runtime/cuda_session.h"
#include "src/schedule/launch.h"

namespace tilewright::measure {
namespace {

/// Maximum wait for the device's lock. The system releases the lock of a crashed owner.
constexpr double kLockSeconds = 10;
/// Bytes that flush the L2 cache, as a multiple of its size. The cache is not plain LRU.
constexpr std::int64_t kFlushFactor = 2;
/// Shorter kernels run in batches of this length, with warm caches: an event's clock has a
/// resolution of 0.5 us.
constexpr double kFlushAboveSeconds = 50e-6;
constexpr double kBatchSeconds = 200e-6;

RunReply LostWithAnother(const RunOrder::Item& item) {
  RunReply reply;
  reply.ticket = item.ticket;
  reply.outcome = Outcome::kDeviceLost;
  reply.reason = "the device was lost by another candidate of the race";
  return reply;
}

/// One candidate.
struct Contestant {
  Contestant(const RunOrder::Item& item, GridDeviceState& device_state,
             const SamplingSettings& sampling)
      : kernel(item, device_state, CallLimitSeconds(item.best_seconds)),
        evaluation(kernel, item, sampling, device_state.gate, device_state.clock, {},
                   device_state.energy.has_value() ? &*device_state.energy : nullptr) {}
  GridKernel kernel;
  KernelEvaluation evaluation;
};

}  // namespace

void DescribeLaunches(const Program& program, KernelSpec* kernel) {
  const LaunchPlan plan = PlanLaunches(program);
  for (const Launch& launch : plan.launches) {
    kernel->launches.push_back(
        {launch.name, launch.grid, launch.block, launch.dynamic_shared_bytes(), {}});
    if (const LibraryCall* call = launch.library()) {
      kernel->launches.back().library = {call->file, call->operation, FieldsOf(call->shape),
                                         launch.operands};
    }
  }
  for (const Buffer& buffer : plan.workspace) kernel->workspace_bytes.push_back(buffer->bytes());
}

Result<std::unique_ptr<GridDeviceState>> CudaRunner::Open(SamplingSettings& sampling) {
  auto device_state = std::make_unique<GridDeviceState>();
  TW_ASSIGN_OR_RETURN(auto api, CudaApi::Open(settings_.library));
  TW_ASSIGN_OR_RETURN(auto found, DescribeCudaDevice(api, settings_.ordinal));
  // Runs before a context exists: creating one disturbs other measurements.
  TW_ASSIGN_OR_RETURN(device_state->lock, DeviceLock::Take(settings_.lock_folder,
                                                           "cuda-" + found.bus_id, kLockSeconds));
  TW_ASSIGN_OR_RETURN(auto session, CudaSession::Open(settings_.library, settings_.ordinal));
  const CudaDevice& device = session->device();
  auto watch = GpuMonitor::Open(settings_.nvml, device.bus_id);
  if (joules_ && !watch.ok()) return watch.status();
  if (watch.ok()) device_state->watch.emplace(*std::move(watch));
  if (joules_) device_state->energy.emplace(*device_state->watch);
  sampling.flush_bytes = kFlushFactor * device.l2_bytes;
  sampling.flush_above_seconds = kFlushAboveSeconds;
  sampling.batch_seconds = kBatchSeconds;
  device_state->session = std::move(session);
  return device_state;
}

Result<std::vector<RunReply>> GridRunner::Run(const RunOrder& order, OperandCache& operand_cache) {
  if (device_state_ == nullptr) {
    TW_ASSIGN_OR_RETURN(device_state_, Open(sampling_));
  }
  if (order.items.size() != 1) return Race(order, operand_cache);
  std::vector<RunReply> replies;
  replies.push_back(RunAlone(order.items[0], operand_cache));
  return replies;
}

bool GridRunner::broken() const {
  const GridSession& session = *device_state_->session;
  return session.fault() != GridFault::kNone || session.timed_out();
}

RunReply GridRunner::WithDeviceState(RunReply reply) const {
  reply.runner_ends = broken();
  return reply;
}

RunReply GridRunner::RunAlone(const RunOrder::Item& item, OperandCache& operand_cache) {
  auto kernel_operands = operand_cache.Prepare(item.kernel, item.reference);
  if (!kernel_operands.ok()) return FailureReply(item, kernel_operands.status());
  SamplingSettings sampling = sampling_;
  sampling.min_sampling_seconds = item.min_sampling_seconds;
  auto contestant = std::make_unique<Contestant>(item, *device_state_, sampling);
  contestant->kernel.Use(*kernel_operands);
  KernelEvaluation& evaluation = contestant->evaluation;
  evaluation.Load();
  evaluation.VerifyBeforeTiming(/*may_stop=*/true);
  if (evaluation.needs_timing()) evaluation.SampleUntilConverged();
  RunReply reply = WithDeviceState(evaluation.End());
  for (const double probe : reply.probe_times) {
    device_state_->gate.Add(device_state_->clock.UnixSeconds(), probe);
  }
  if (broken()) (void)contestant.release();  // the driver would wait for a kernel that never ends
  return reply;
}

std::vector<RunReply> GridRunner::Race(const RunOrder& order, OperandCache& operand_cache) {
  const std::vector<RunOrder::Item>& items = order.items;
  std::vector<RunReply> replies(items.size());
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (std::size_t i = 0; i < items.size(); ++i) {
    contestants.push_back(nullptr);
    if (broken()) {  // by an earlier candidate
      replies[i] = WithDeviceState(LostWithAnother(items[i]));
      continue;
    }
    auto kernel_operands = operand_cache.Prepare(items[i].kernel, items[i].reference);
    if (!kernel_operands.ok()) {
      replies[i] = FailureReply(items[i], kernel_operands.status());
      continue;
    }
    contestants[i] = std::make_unique<Contestant>(items[i], *device_state_, sampling_);
    contestants[i]->kernel.Use(*kernel_operands);
    contestants[i]->evaluation.Load();
    contestants[i]->evaluation.VerifyBeforeTiming(/*may_stop=*/false);
    contestants[i]->evaluation.BeginSlices();
  }
  const RaceJudge judge = RunRaceRounds(
      order, device_state_->clock,
      [&](std::size_t i) -> std::vector<double> {
        if (contestants[i] == nullptr || !contestants[i]->evaluation.needs_timing() || broken())
          return {};
        return contestants[i]->evaluation.CollectSlice();
      },
      [] { return RoundInterference(); });
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (contestants[i] == nullptr) continue;
    // The candidate that broke the device reports the cause; candidates that still need timing
    // report a lost device.
    if (broken() && contestants[i]->evaluation.needs_timing()) {
      replies[i] = WithDeviceState(LostWithAnother(items[i]));
      continue;
    }
    auto kernel_operands = operand_cache.Prepare(items[i].kernel, items[i].reference);
    if (kernel_operands.ok()) contestants[i]->kernel.Use(*kernel_operands);
    replies[i] = kernel_operands.ok() ? contestants[i]->evaluation.End()
                                      : FailureReply(items[i], kernel_operands.status());
    replies[i] = WithDeviceState(std::move(replies[i]));
  }
  ApplyRaceResults(judge, replies);
  for (auto& contestant : contestants) {
    if (broken()) (void)contestant.release();
  }
  return replies;
}

}  // namespace tilewright::measure
