#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "records/devices/device_results.h"
#include "src/base/clock.h"
#include "src/capi/answer_cache.h"
#include "src/capi/fork_gate.h"
#include "src/capi/knob_kinds.h"
#include "src/capi/schedule_texts.h"
#include "src/capi/source.h"
#include "src/templates/registry.h"

namespace tilewright::capi {

/// Ordered list of sources and the cache of their answers. Thread-safe, including Add.
class Catalog final : public ConnectionOwner {
 public:
  static constexpr std::size_t kMaxSources = 64;
  /// Maximum delay until a replaced file is detected.
  static constexpr double kFilePollSeconds = 0.1;

  /// clock: must outlive the catalog.
  explicit Catalog(Clock& clock) : clock_(clock) {}

  /// Appends a source.
  /// Errors: kInvalidArgument if there are kMaxSources already.
  Status Add(std::unique_ptr<Source> source);
  std::size_t source_count() const { return count_.load(std::memory_order_acquire); }
  const Source& source(std::size_t index) const { return *sources_[index]; }
  /// Appends every package installed in a directory, in their order, and returns their number.
  /// problem() lists the unusable ones.
  /// Errors: as records::ListInstalled; kInvalidArgument if there are too many.
  Result<std::size_t> AddInstalled(const std::string& folder);
  /// Returns a skipped package and the reason; null if there is no such index. Valid as long as the
  /// catalog.
  const char* problem(std::size_t index) const;
  /// Loads the cost model.
  /// Errors: as search::LoadChooser; kInvalidArgument if the catalog has a model.
  Status SetModel(const std::string& path);
  bool has_model() const { return model_.load(std::memory_order_acquire) != nullptr; }
  /// Reads the results of a task on all devices from all sources.
  /// Errors: those of the sources.
  Result<records::TaskResults> ResultsOf(const tw_target& target, const Workload& workload);
  void CloseConnections() override;
  /// Polls every file now.
  /// Errors: the first error; the other files are polled all the same.
  Status Refresh();

  /// Returns the answer from the cache, or else from the sources. `parse` converts the query text
  /// to a Result<ParsedQuery> and is called only for the latter.
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
  /// Returns a number that grows whenever a source is added or changes.
  Result<std::uint64_t> Generation();
  /// Returns the sources as they are now, in the order in which they were added.
  std::vector<Source::View> CurrentViews();
  Result<AnswerPtr> QuerySources(const AnswerCache::LookupRequest& request, const tw_target& target,
                                 ParsedQuery asked, std::uint64_t generation);

  Clock& clock_;
  std::mutex add_mutex_;  // for adding sources and the model
  // Filled from the front, and elements never change: readers need no lock.
  std::array<std::unique_ptr<Source>, kMaxSources> sources_;
  std::atomic<std::size_t> count_{0};
  std::atomic<double> next_poll_{0};
  AnswerCache cache_;
  /// Shared with answers, whose kernels may be created after the catalog is freed.
  const std::shared_ptr<const TemplateRegistry> templates_ =
      std::make_shared<const TemplateRegistry>(TemplateRegistry::BuiltIn());
  KnobKinds knob_kinds_{*templates_};
  ScheduleTexts texts_;
  std::unique_ptr<const records::ModelChooser> owned_model_;
  std::atomic<const records::ModelChooser*> model_{nullptr};
  mutable std::mutex problems_mutex_;
  std::deque<std::string> problems_;  // only grows: its texts do not move
};

}  // namespace tilewright::capi

struct tw_catalog {
  tilewright::SystemClock clock;
  tilewright::capi::Catalog catalog{clock};
};
