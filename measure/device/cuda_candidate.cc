#include "measure/device/cuda_candidate.h"

#include <algorithm>
#include <utility>

#include "measure/device/cuda_kernel.h"
#include "measure/worker/race.h"
#include "src/schedule/lower/launch.h"

namespace tilewright::measure {
namespace {

/// A crashed owner's device is free once the system has cleared it away.
constexpr double kLockSeconds = 10;
/// The second-level cache is emptied with twice its size: it is no plain LRU.
constexpr std::int64_t kFlushFactor = 2;
/// Shorter kernels are replayed in batches of that length, with warm caches: an event's clock ticks
/// in 0.5 us.
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
  Contestant(const RunOrder::Item& item, CudaOwned& owned, const SamplingSettings& sampling)
      : kernel(item, owned, CallLimitSeconds(item.best_seconds)),
        course(kernel, item, sampling, owned.gate, owned.clock, {},
               owned.energy.has_value() ? &*owned.energy : nullptr) {}
  CudaKernel kernel;
  Course course;
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

Status CudaRunner::Open() {
  if (owned_ != nullptr) return {};
  auto owned = std::make_unique<CudaOwned>();
  TW_ASSIGN_OR_RETURN(auto api, CudaApi::Open(settings_.library));
  TW_ASSIGN_OR_RETURN(auto found, DescribeCudaDevice(api, settings_.ordinal));
  // Before there is a context: making one disturbs whoever measures.
  TW_ASSIGN_OR_RETURN(
      owned->lock, DeviceLock::Take(settings_.lock_folder, "cuda-" + found.bus_id, kLockSeconds));
  TW_ASSIGN_OR_RETURN(owned->session, CudaSession::Open(settings_.library, settings_.ordinal));
  const CudaDevice& device = owned->session->device();
  auto watch = GpuMonitor::Open(settings_.nvml, device.bus_id);
  if (joules_ && !watch.ok()) return watch.status();
  if (watch.ok()) owned->watch.emplace(*std::move(watch));
  if (joules_) owned->energy.emplace(*owned->watch);
  sampling_.flush_bytes = kFlushFactor * device.l2_bytes;
  sampling_.flush_above_seconds = kFlushAboveSeconds;
  sampling_.batch_seconds = kBatchSeconds;
  owned_ = std::move(owned);
  return {};
}

Result<std::vector<RunReply>> CudaRunner::Run(const RunOrder& order, Workbench& workbench) {
  TW_RETURN_IF_ERROR(Open());
  if (order.items.size() != 1) return Race(order, workbench);
  std::vector<RunReply> replies;
  replies.push_back(RunAlone(order.items[0], workbench));
  return replies;
}

bool CudaRunner::broken() const {
  const CudaSession& session = *owned_->session;
  return session.fault() != CudaFault::kNone || session.timed_out();
}

RunReply CudaRunner::Judged(RunReply reply) const {
  reply.runner_ends = broken();
  return reply;
}

RunReply CudaRunner::RunAlone(const RunOrder::Item& item, Workbench& workbench) {
  auto setup = workbench.Prepare(item.kernel, item.reference);
  if (!setup.ok()) return FailedWith(item, setup.status());
  SamplingSettings sampling = sampling_;
  sampling.patience_seconds = item.patience_seconds;
  auto contestant = std::make_unique<Contestant>(item, *owned_, sampling);
  contestant->kernel.Use(*setup);
  Course& course = contestant->course;
  course.Load();
  course.Prove(/*may_stop=*/true);
  if (course.alive()) course.TakeAll();
  RunReply reply = Judged(course.End());
  for (const double canary : reply.canaries) {
    owned_->gate.Add(owned_->clock.UnixSeconds(), canary);
  }
  if (broken()) (void)contestant.release();  // the driver would wait for a kernel that never ends
  return reply;
}

std::vector<RunReply> CudaRunner::Race(const RunOrder& order, Workbench& workbench) {
  const std::vector<RunOrder::Item>& items = order.items;
  std::vector<RunReply> replies(items.size());
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (std::size_t i = 0; i < items.size(); ++i) {
    contestants.push_back(nullptr);
    if (broken()) {  // by one before it
      replies[i] = Judged(LostWithAnother(items[i]));
      continue;
    }
    auto setup = workbench.Prepare(items[i].kernel, items[i].reference);
    if (!setup.ok()) {
      replies[i] = FailedWith(items[i], setup.status());
      continue;
    }
    contestants[i] = std::make_unique<Contestant>(items[i], *owned_, sampling_);
    contestants[i]->kernel.Use(*setup);
    contestants[i]->course.Load();
    contestants[i]->course.Prove(/*may_stop=*/false);
    contestants[i]->course.BeginSlices();
  }
  const RaceJudge judge = RaceInTurns(
      order, owned_->clock,
      [&](std::size_t i) -> std::vector<double> {
        if (contestants[i] == nullptr || !contestants[i]->course.alive() || broken()) return {};
        return contestants[i]->course.TakeSlice();
      },
      [] { return RoundCanaries(); });
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (contestants[i] == nullptr) continue;
    // The first reply of a contestant that was cut off says why; the others' device is gone.
    if (broken() && contestants[i]->course.alive()) {
      replies[i] = Judged(LostWithAnother(items[i]));
      continue;
    }
    auto setup = workbench.Prepare(items[i].kernel, items[i].reference);
    if (setup.ok()) contestants[i]->kernel.Use(*setup);
    replies[i] = setup.ok() ? contestants[i]->course.End() : FailedWith(items[i], setup.status());
    replies[i] = Judged(std::move(replies[i]));
  }
  JudgeReplies(judge, replies);
  for (auto& contestant : contestants) {
    if (broken()) (void)contestant.release();
  }
  return replies;
}

}  // namespace tilewright::measure
