#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "src/base/clock.h"
#include "src/capi/answer_cache.h"
#include "src/capi/fork_gate.h"
#include "src/capi/knob_kinds.h"
#include "src/capi/schedule_texts.h"
#include "src/capi/source.h"
#include "src/templates/registry.h"

namespace tilewright::capi {

/// An ordered list of sources, and the cache of their answers. Thread-safe, adding included.
class Catalog final : public ConnectionOwner {
 public:
  static constexpr std::size_t kMaxSources = 64;
  /// How long a file may have been replaced before it is noticed.
  static constexpr double kFilePollSeconds = 0.1;

  /// clock: outlives the catalog.
  explicit Catalog(Clock& clock) : clock_(clock) {}

  /// Puts a source behind the others. Errors: kInvalidArgument if there are kMaxSources.
  Status Add(std::unique_ptr<Source> source);
  std::size_t source_count() const { return count_.load(std::memory_order_acquire); }
  const Source& source(std::size_t index) const { return *sources_[index]; }
  /// Puts every package that is installed in a folder behind the others, in their order; returns
  /// how many. Those that cannot be used are told in problem().
  /// Errors: as records::ListInstalled; kInvalidArgument if they are too many.
  Result<std::size_t> AddInstalled(const std::string& folder);
  /// What was left out and why; null if there is no such index. Valid as long as the catalog.
  const char* problem(std::size_t index) const;
  /// Errors: as search::LoadChooser; kInvalidArgument if the catalog has a model.
  Status SetModel(const std::string& path);
  bool has_model() const { return model_.load(std::memory_order_acquire) != nullptr; }
  void CloseConnections() override;
  /// Looks at every file now. Errors: the first one's; the others are looked at all the same.
  Status Refresh();

  /// Answers from the cache or else from the sources. `parse` makes the workload of the question's
  /// text (a Result<Asked>) and is called only for the latter.
  template <typename Parse>
  Result<AnswerPtr> Answer(const AnswerCache::LookupRequest& request, const tw_target& target,
                           Parse parse) {
    const CallScope call;
    TW_ASSIGN_OR_RETURN(auto generation, Generation());
    if (AnswerPtr known = cache_.Find(request, generation)) return known;
    TW_ASSIGN_OR_RETURN(ParsedQuery asked, parse());
    return QuerySources(request, target, std::move(asked), generation);
  }

 private:
  /// Grows whenever a source is added or changes.
  Result<std::uint64_t> Generation();
  Result<AnswerPtr> QuerySources(const AnswerCache::LookupRequest& request, const tw_target& target,
                                 ParsedQuery asked, std::uint64_t generation);

  Clock& clock_;
  std::mutex add_mutex_;  // of sources and of the model
  // Filled from the front and never changed: readers need no lock.
  std::array<std::unique_ptr<Source>, kMaxSources> sources_;
  std::atomic<std::size_t> count_{0};
  std::atomic<double> next_poll_{0};
  AnswerCache cache_;
  const TemplateRegistry templates_ = TemplateRegistry::BuiltIn();
  KnobKinds knob_kinds_{templates_};
  ScheduleTexts texts_;
  std::unique_ptr<const records::ModelChooser> owned_model_;
  std::atomic<const records::ModelChooser*> model_{nullptr};
  mutable std::mutex problems_mutex_;
  std::deque<std::string> problems_;  // only grows: its texts stay where they are
};

}  // namespace tilewright::capi
