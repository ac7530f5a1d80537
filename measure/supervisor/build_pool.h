#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "measure/supervisor/worker_pool.h"

namespace tilewright::measure {

/// Builders, and behind them the reference maker: the same program, which makes the expected
/// results of tasks. Included by .cc files of measure/ only.
class BuildPool final : public WorkerPool {
 public:
  /// transports: settings.builders to builders, then one to the reference maker.
  BuildPool(const PoolContext& context, std::vector<std::unique_ptr<Transport>> transports)
      : WorkerPool(context, std::move(transports), /*builds=*/true) {}

  /// Ends builds of what is no job any more.
  void EndCancelled();
  /// All of them stand still, or go on, and the guest of the runner's core.
  void Pause(bool all, bool opportunistic_builder);
  /// The guest has stood still for so long that the runner is to wait until it is done.
  bool OpportunisticBuilderIsStarved() const;
  /// A build, or a reference result, is under way.
  bool working() const;

 private:
  bool DispatchTo(Worker& worker) override;
  Status Handle(Worker& worker, const std::string& type, const Json& message) override;
  void HandleLoss(Worker& worker, const WorkerLoss& loss) override;

  bool DispatchBuild(Worker& worker);
  bool DispatchReference(Worker& worker);
  /// As many wait to be run, or will, as may.
  bool QueueIsFull() const;
  bool OpportunisticBuilderIsNeeded() const;
  Status HandleBuilt(Worker& worker, BuildReply reply);
  /// What the reference maker made of its task: or why not, and whether to try again.
  void EndReference(Worker& worker, bool made, const std::string& why, bool by_machine);
  bool IsReferenceBuilder(const Worker& worker) const { return &worker == &workers_.back(); }
  bool IsOpportunistic(const Worker& worker) const {
    return context_.settings.opportunistic_builder && worker.index() + 2 == workers_.size();
  }

  std::uint64_t reference_ = 0;  // the task whose results are under way
};

}  // namespace tilewright::measure
