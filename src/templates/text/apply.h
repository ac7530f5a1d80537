#pragma once

#include <optional>

#include "src/templates/auto/contraction.h"
#include "src/templates/registry.h"
#include "src/templates/text/evaluate.h"

namespace tilewright {

/// Applies a text with a config: layouts first, then primitives on the schedule of the computation.
class ScheduleApplier final : public ScheduleEvaluator {
 public:
  ScheduleApplier(const ScheduleText& text, const Workload& workload, const Epilogue& epilogue,
                  const Target& target)
      : ScheduleEvaluator(text, workload, target), epilogue_(epilogue) {}

  /// Returns the kernel.
  /// Errors: kInvalidArgument with the position in the text: a primitive that is rejected, a
  /// condition that does not hold.
  Result<Kernel> Run(const Config& config);
  /// Checks the conditions on the config that precede all primitives. Errors: as Run.
  Status Check(const Config& config);

 protected:
  std::vector<ScheduleTerm> Act(const ScheduleValue& call) override;

 private:
  using Terms = std::vector<ScheduleTerm>;

  void SetKnobs(const Config& config);
  /// Evaluates statements. all: also those that touch stages and loops.
  void Follow(const std::vector<ScheduleStatement>& statements, bool all);
  void FollowOne(const ScheduleStatement& statement, bool all);
  void Begin();

  void Form(const ScheduleValue& call);
  void Arrange(const ScheduleValue& call);
  void ArrangeOperand(const ScheduleValue& call);
  // One primitive each, grouped by arguments.
  bool Query(const ScheduleValue& call, Terms& out);
  bool OfLoops(const ScheduleValue& call, Terms& out);
  bool Annotate(const ScheduleValue& call);
  void OfStages(const ScheduleValue& call, Terms& out);
  void Inline(const ScheduleValue& call, StageId stage);

  StageId StageOf(const ScheduleValue& value);
  ScheduleLoop LoopOf(const ScheduleValue& value);
  Scope ScopeOf(const ScheduleValue& value);

  const Epilogue& epilogue_;
  KernelLayouts layouts_;
  std::optional<Compute> compute_;          // set when the first operand is arranged
  std::optional<Contraction> contraction_;  // of an expression
  std::vector<Buffer> arranged_;
  std::optional<Schedule> schedule_;
};

}  // namespace tilewright
