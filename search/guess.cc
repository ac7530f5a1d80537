#include "search/guess.h"

#include "search/annealing.h"
#include "search/space.h"

namespace tilewright::search {
namespace {

constexpr std::uint64_t kSeed = 1;

}  // namespace

Result<Candidate> GuessConfig(const Task& task, const Epilogue& epilogue,
                              const cost_model::CostModel& model) {
  if (task.target.kind() == TargetKind::kVta) {
    return Unsupported("shipped models judge loops, not VTA streams");
  }
  const Result<SearchSpace> space = MakeSearchSpace(task, epilogue);
  TW_RETURN_IF_ERROR(space);
  const TemplateInspector inspector(*space);
  FeatureCache features(inspector);
  Random random(kSeed);
  std::vector<Point> chains = DefaultPoints(*space);
  const Result<std::vector<ScoredPoint>> visited =
      Anneal(*space, model, AnnealingOptions(), features, random, chains);
  TW_RETURN_IF_ERROR(visited);
  if (visited->empty()) return Unsupported(task.workload.Key() + ": no legal config was found");
  return ToCandidate(*space, visited->front().point);
}

}  // namespace tilewright::search
