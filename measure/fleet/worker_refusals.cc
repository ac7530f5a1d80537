// Reasons for which a worker refuses an order: permanently, because of the order's content
// (PermanentRefusalReason); because of a limit (OverLimitReason), with a message; or temporarily
// (RefusalReason), which is normal and not logged.

#include <algorithm>

#include "measure/fleet/worker_core.h"
#include "src/target/cpu.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/device.h"
#include "src/tensor/open_workload.h"
#include "src/tensor/work.h"

namespace tilewright::measure::fleet {
namespace {

// The worker computes the reference result of a task, at 1e9 multiply-adds a second or more, and
// holds its tensors in memory. Operators of networks stay far below.
constexpr double kMaxOperations = 4e12;
constexpr std::int64_t kMaxTensorBytes = std::int64_t{4} << 30;
constexpr int kMaxThreads = 1024;
constexpr double kMaxBestSeconds = 3600;

}  // namespace

bool WorkerCore::TracksJob(const JobName& name, bool builds) {
  const auto& jobs = builds ? build_jobs_ : jobs_;
  std::size_t of_user = 0;
  for (auto job = jobs.lower_bound({name.user, ""});
       job != jobs.end() && job->first.user == name.user; ++job) {
    ++of_user;
  }
  const bool many = jobs.size() >= settings_.max_jobs;
  if (!many && of_user < settings_.max_jobs_of_user) return true;
  log_.Limited("rejected a job of " + name.user + ": " +
               (many ? "this worker serves " + std::to_string(jobs.size()) + " jobs already"
                     : name.user + " has " + std::to_string(of_user) + " jobs here already"));
  return false;
}

std::string WorkerCore::PermanentRefusalReason(const Order& order, bool builds) const {
  const Candidate& candidate = order.candidates.front();
  const Target& target = candidate.task.target;
  const DeviceTraits& device = DeviceTraitsOf(target);
  if (!device.machine_code && !device.launches_grids && device.loops) {
    return "no code is made for its target, " + target.ToString();
  }
  if (builds && IsOpen(candidate.task.workload)) return "an open task is built where it runs";
  const Work work = WorkOf(candidate.task.workload);
  if (!(work.operations <= kMaxOperations) || work.bytes < 0 || work.bytes > kMaxTensorBytes) {
    return "its operator is too large: " + candidate.task.workload.Key();
  }
  if (target.num_threads() > kMaxThreads) {
    return "it asks for " + std::to_string(target.num_threads()) + " threads";
  }
  // The time limit of one call follows from it.
  if (MetricOf(target) == "seconds" && order.best_seconds > kMaxBestSeconds) {
    return "its best so far takes more than " + std::to_string(static_cast<int>(kMaxBestSeconds)) +
           " s";
  }
  if (builds) return {};
  if (!target_) return "nothing is measured here";
  if (&device != &DeviceTraitsOf(*target_) ||
      (device.machine_code && ArchitectureOf(target) != ArchitectureOf(*target_))) {
    return "it is for " + target.ToString() + ", and this worker measures on " +
           target_->ToString();
  }
  for (const std::string& library : LibrariesOf(target)) {
    if (UsesLibrary(*target_, library)) continue;
    return "it calls the library '" + library + "', which this worker's target does not name";
  }
  return {};
}

std::string WorkerCore::OverLimitReason(const Order& order, const Lane* lane) const {
  std::size_t direct = 0, of_job = 0;
  std::int64_t bytes = 0;
  for (const Built& built : order.built) bytes += built.size;
  for (const auto& [number, held] : held_) {
    if (held.lane == nullptr) {
      ++direct;
      of_job += held.order.job == order.job ? 1 : 0;
    }
    if (held.begun) continue;
    for (const Built& built : held.order.built) bytes += built.size;
  }
  if (lane == nullptr &&
      (direct >= settings_.max_direct || of_job >= settings_.max_direct_of_job)) {
    return "it has " + std::to_string(of_job) + " here that are in no queue";
  }
  if (!order.built.empty() && bytes > settings_.max_artifact_bytes) {
    return "artifacts that wait here would take " + std::to_string(bytes) + " bytes";
  }
  return {};
}

std::string WorkerCore::RefusalReason(const Order& order, const Lane* lane) const {
  const bool builds = lane != nullptr && lane->builds;
  const auto& jobs = builds ? build_jobs_ : jobs_;
  const auto found = jobs.find(order.job);
  if (found == jobs.end()) return "no such job has said that it is here";
  const Job& job = found->second;
  if (job.state.epoch != order.epoch) return "it is of an earlier life of its tuner";
  if (lane == nullptr) return {};
  if (order.sequence < job.state.floor) return "it is not wanted any more";
  if (builds != (order.stage == Stage::kBuild)) return "it is for others";
  if (job.excluded) return "the device is set aside";
  if (order.stage == Stage::kWhole && !settings_.announcement.builds) return kNoBuilder;
  return {};
}

void WorkerCore::Refuse(const Order& order, const Lease& lease, const std::string& why) {
  OrderResult result;
  result.epoch = order.epoch;
  result.instance = settings_.announcement.instance;
  result.lease = lease;
  result.refusal = why;
  (void)broker_.Publish(ResultSubject(order.job, settings_.name), Encode(result));
}

}  // namespace tilewright::measure::fleet
