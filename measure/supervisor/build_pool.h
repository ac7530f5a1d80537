#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "measure/supervisor/worker_pool.h"

namespace tilewright::measure {

/// Builders, followed by the reference maker: the same program, which computes the expected results
/// of tasks. Included by .cc files of measure/ only.
class BuildPool final : public WorkerPool {
 public:
  /// transports: settings.builders to builders, then one to the reference maker.
  BuildPool(const PoolContext& context, std::vector<std::unique_ptr<Transport>> transports)
      : WorkerPool(context, std::move(transports), /*builds=*/true) {}

  /// Ends builds of canceled jobs.
  void EndCancelled();
  /// Pauses or resumes all builders, and the opportunistic builder on the runner's core.
  void Pause(bool all, bool opportunistic_builder);
  /// Returns whether the opportunistic builder has been paused for too long: the runner waits until
  /// its build ends.
  bool OpportunisticBuilderIsStarved() const;
  /// Returns whether a build, or a reference result, is in progress.
  bool working() const;

 private:
  bool DispatchTo(Worker& worker) override;
  Status Handle(Worker& worker, const std::string& type, const Json& message) override;
  void HandleLoss(Worker& worker, const WorkerLoss& loss) override;

  bool DispatchBuild(Worker& worker);
  bool DispatchReference(Worker& worker);
  /// Returns whether the kernels that wait for a runner, builds in progress included, have reached
  /// the limit.
  bool QueueIsFull() const;
  bool OpportunisticBuilderIsNeeded() const;
  Status HandleBuilt(Worker& worker, BuildReply reply);
  /// Handles the end of a reference task: the result, or the reason of the failure and whether to
  /// retry.
  void EndReference(Worker& worker, bool made, const std::string& why, bool by_machine);
  bool IsReferenceBuilder(const Worker& worker) const { return &worker == &workers_.back(); }
  bool IsOpportunistic(const Worker& worker) const {
    return context_.settings.opportunistic_builder && worker.index() + 2 == workers_.size();
  }

  std::uint64_t reference_ = 0;  // the task whose results are in progress
};

}  // namespace tilewright::measure
