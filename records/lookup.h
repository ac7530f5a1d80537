#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "records/autotvm/match.h"
#include "records/difference.h"
#include "records/front/front.h"
#include "records/store.h"
#include "src/space/trial.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

/// Kind of a lookup result, best first.
enum class AnswerLevel : std::uint8_t {
  kHit,        ///< measured for this workload, target and device class
  kNearMatch,  ///< measured for a similar workload or device, with an expected slowdown
  kModel,      ///< not measured: choice of a cost model
  kDefault,    ///< not measured: the template's default config
  kMiss,
};
/// Returns "hit", "near", "model", "default" or "miss".
std::string_view AnswerLevelName(AnswerLevel level);
Result<AnswerLevel> ParseAnswerLevel(std::string_view name);

/// Set of accepted levels, as bits.
using AnswerLevels = std::uint32_t;
constexpr AnswerLevels LevelBit(AnswerLevel level) { return 1U << static_cast<unsigned>(level); }
/// Returns all levels from kHit to this one.
constexpr AnswerLevels DownTo(AnswerLevel level) { return 2 * LevelBit(level) - 1; }

/// Query by AutoTVM's rule.
struct AutotvmLookup {
  AutotvmTarget target;
  std::optional<AutotvmTask> task;  ///< queried exactly; none: each template of the workload
  std::string package;              ///< only records of this TopHub package; empty: all
};

/// Query of a lookup. Borrows everything.
struct LookupRequest {
  /// Templates whose records may be served; never null.
  const TemplateRegistry* templates = nullptr;
  const Workload* workload = nullptr;  ///< null: an AutoTVM task without an operator in Tilewright
  const Target* target = nullptr;
  const DeviceFingerprint* device = nullptr;
  AnswerLevels accept = DownTo(AnswerLevel::kNearMatch);
  /// If not null: looks up imported, unverified records by AutoTVM's rule instead of Tilewright's.
  const AutotvmLookup* autotvm = nullptr;
  /// If not null: the preferred record on the Pareto front of the first source with these metrics
  /// for the workload is the hit. It precedes hits of sources without these metrics. The target's
  /// metric without a limit changes nothing.
  const Preference* prefer = nullptr;
  /// Filter for records that call a library: records that it rejects are skipped. Empty: accepts
  /// all.
  LibraryCallFilter library_call_filter = {};
  const OpenTask* open = nullptr;  ///< see Store::Query
};

/// Config that a cost model selects without measuring.
struct ModelChoice {
  Candidate candidate;
  double expected_slowdown = 1;  ///< against a tuned config, stated bound; NaN: unknown
  std::string explanation;       ///< the model and its training data
};

/// Cost model that selects configs without measuring. Thread-safe.
class ModelChooser {
 public:
  virtual ~ModelChooser() = default;
  /// Returns no value if the model does not cover the workload on the target.
  virtual Result<std::optional<ModelChoice>> Choose(const Workload& workload,
                                                    const Target& target) const = 0;
};

struct CatalogAnswer {
  AnswerLevel level = AnswerLevel::kMiss;
  /// The explanation is never empty, and the cause is kNone only for a hit. The record is one of
  /// Tilewright's trials.
  Answer answer;
  /// Result of AutoTVM's rule, with the imported record, if any.
  std::optional<AutotvmAnswer> autotvm;
  /// Candidate that is not a trial of Tilewright; see candidate(). template_version is 0 if no
  /// registered template can build it.
  std::optional<Candidate> chosen;
  std::vector<Difference> differences;
  std::string source;            ///< path of the store, "package NAME (digest)", "model", "default"
  const Store* store = nullptr;  ///< store with the record; null if it is not kept open

  /// Returns the candidate to build; null for a miss.
  const Candidate* candidate() const {
    if (answer.record.has_value()) return &answer.record->trial.candidate;
    return chosen.has_value() ? &*chosen : nullptr;
  }
  /// Returns the unverified record of another program that was served; null if none was.
  const ImportedRecord* imported() const {
    return autotvm.has_value() && autotvm->record.has_value() ? &*autotvm->record : nullptr;
  }
  /// Returns the measured seconds of this workload; NaN if the record is of another workload or not
  /// a time.
  double CostSeconds(const Workload* workload) const;
};

/// Place that a lookup reads records from.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  virtual const std::string& name() const = 0;
  /// Returns false if the source cannot serve the request, so that it need not be opened.
  virtual bool MayServe(const LookupRequest& request) const = 0;
  /// Calls `ask` with the store. Returns false if the source cannot be opened and was skipped.
  /// Errors: those of `ask`; an error if the file has been removed.
  virtual Result<bool> With(const std::function<Status(const Store&)>& ask) = 0;
  /// Returns the store that stays open; see CatalogAnswer::store.
  virtual const Store* kept() const { return nullptr; }
};

/// Returns the Pareto front of the first source that has one (Store::Front); empty if none has.
/// request: autotvm is null.
/// Errors: those of the sources, with the source's name.
Result<std::vector<Record>> LookUpFront(std::span<RecordSource* const> sources,
                                        const LookupRequest& request,
                                        const std::vector<std::string>& metrics);

/// Looks up the best result in this fixed order:
/// - the preferred record on a Pareto front (LookupRequest::prefer);
/// - hits, source by source;
/// - the near match with the least expected slowdown (the first of equal ones);
/// - the choice of the model;
/// - the default config of the first template that has one.
///
/// Levels that are not accepted are skipped, which the explanation states. model: may be null.
/// Errors: those of the sources, with the source's name, and of the model.
Result<CatalogAnswer> LookUpBest(std::span<RecordSource* const> sources, const ModelChooser* model,
                                 const LookupRequest& request);

}  // namespace tilewright::records
