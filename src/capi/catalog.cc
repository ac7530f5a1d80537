#include "src/capi/catalog.h"

#include <utility>
#include <vector>

#include "src/capi/ask.h"

namespace tilewright::capi {

Status Catalog::Add(std::unique_ptr<Source> source) {
  const std::lock_guard lock(add_mutex_);
  const std::size_t count = source_count();
  if (count == kMostSources) {
    return InvalidArgument(source->path() + ": a catalog has at most " +
                           std::to_string(kMostSources) + " stores and packages");
  }
  sources_[count] = std::move(source);
  count_.store(count + 1, std::memory_order_release);
  return {};
}

Status Catalog::Refresh() {
  Status first;
  for (std::size_t i = 0; i < source_count(); ++i) {
    Status status = sources_[i]->LookAtFile();
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Result<std::uint64_t> Catalog::Generation() {
  // A look takes about a microsecond per file, so one of the threads looks for all of them.
  const double now = clock_.MonotonicSeconds();
  double due = next_look_.load(std::memory_order_relaxed);
  if (now >= due && next_look_.compare_exchange_strong(due, now + kFileLookSeconds)) {
    TW_RETURN_IF_ERROR(Refresh());
  }
  // No part ever shrinks, so an equal sum means that nothing has changed.
  const std::size_t count = source_count();
  std::uint64_t sum = count;
  for (std::size_t i = 0; i < count; ++i) {
    auto generation = sources_[i]->Generation();
    TW_RETURN_IF_ERROR(generation);
    sum += *generation;
  }
  return sum;
}

Result<AnswerPtr> Catalog::AskSources(const AnswerCache::Question& question,
                                      const tw_target& target, Workload workload,
                                      std::uint64_t generation) {
  std::vector<Source*> sources;
  for (std::size_t i = 0; i < source_count(); ++i) sources.push_back(sources_[i].get());
  auto reply = Ask(sources, {std::move(workload), &target, question.accept}, knob_kinds_);
  TW_RETURN_IF_ERROR(reply);
  AnswerPtr answer = MakeAnswer(*std::move(reply), target);
  cache_.Keep(question, generation, Share(answer));
  return answer;
}

}  // namespace tilewright::capi
