#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "src/base/clock.h"
#include "src/capi/answer_cache.h"
#include "src/capi/source.h"

namespace tilewright::capi {

/// An ordered list of sources, and the cache of their answers. Thread-safe, adding included.
class Catalog {
 public:
  static constexpr std::size_t kMostSources = 64;
  /// How long a file may have been replaced before it is noticed.
  static constexpr double kFileLookSeconds = 0.1;

  /// clock: outlives the catalog.
  explicit Catalog(Clock& clock) : clock_(clock) {}

  /// Puts a source behind the others. Errors: kInvalidArgument if there are kMostSources.
  Status Add(std::unique_ptr<Source> source);
  std::size_t source_count() const { return count_.load(std::memory_order_acquire); }
  const Source& source(std::size_t index) const { return *sources_[index]; }
  /// Looks at every file now. Errors: the first one's; the others are looked at all the same.
  Status Refresh();

  /// Answers from the cache or else from the sources. `parse` makes the workload of the question's
  /// text and is called only for the latter.
  template <typename Parse>
  Result<AnswerPtr> Answer(const AnswerCache::Question& question, const tw_target& target,
                           Parse parse) {
    auto generation = Generation();
    TW_RETURN_IF_ERROR(generation);
    if (AnswerPtr known = cache_.Find(question, *generation)) return known;
    auto workload = parse();
    TW_RETURN_IF_ERROR(workload);
    return AskSources(question, target, *std::move(workload), *generation);
  }

 private:
  /// Grows whenever a source is added or changes.
  Result<std::uint64_t> Generation();
  Result<AnswerPtr> AskSources(const AnswerCache::Question& question, const tw_target& target,
                               Workload workload, std::uint64_t generation);

  Clock& clock_;
  std::mutex add_mutex_;
  // Filled from the front and never changed: readers need no lock.
  std::array<std::unique_ptr<Source>, kMostSources> sources_;
  std::atomic<std::size_t> count_{0};
  std::atomic<double> next_look_{0};
  AnswerCache cache_;
  KnobKinds knob_kinds_;
};

}  // namespace tilewright::capi
