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

/// How an answer came about, best first.
enum class AnswerLevel : std::uint8_t {
  kHit,        ///< measured for this workload, target and class of device
  kNearMatch,  ///< measured for something near, with an expected slowdown
  kModel,      ///< not measured: a cost model's choice
  kDefault,    ///< not measured: the template's default config
  kMiss,
};
/// "hit", "near", "model", "default", "miss".
std::string_view AnswerLevelName(AnswerLevel level);
Result<AnswerLevel> ParseAnswerLevel(std::string_view name);

/// The levels a caller takes, as bits.
using AnswerLevels = std::uint32_t;
constexpr AnswerLevels LevelBit(AnswerLevel level) { return 1U << static_cast<unsigned>(level); }
/// All levels from a hit down to this one.
constexpr AnswerLevels DownTo(AnswerLevel level) { return 2 * LevelBit(level) - 1; }

/// What AutoTVM's rule looks at.
struct AutotvmLookup {
  AutotvmTarget target;
  std::optional<AutotvmTask> task;  ///< asked for as it is; none: each template of the workload
  std::string package;              ///< only records of this TopHub package; empty: all
};

/// What is asked. Borrows everything.
struct LookupRequest {
  const TemplateRegistry* templates = nullptr;  ///< whose records may be served; never null
  const Workload* workload = nullptr;  ///< null: a task of AutoTVM's that we have no operator for
  const Target* target = nullptr;
  const DeviceFingerprint* device = nullptr;
  AnswerLevels accept = DownTo(AnswerLevel::kNearMatch);
  /// Not null: imported records, which nobody verified here, by AutoTVM's rule, instead of our own.
  const AutotvmLookup* autotvm = nullptr;
  /// Not null: what is preferred on the front of the first source that knows its metrics of the
  /// workload is the hit, before hits of sources that do not. The target's own metric without a
  /// limit changes nothing.
  const Preference* prefer = nullptr;
  /// Records that call a library and that this refuses are passed over. Empty: none is refused.
  LibraryCallFilter library_call_filter = {};
};

/// What a cost model proposes without measuring.
struct ModelChoice {
  Candidate candidate;
  double expected_slowdown = 1;  ///< against a tuned config, stated bound; NaN: nobody knows
  std::string explanation;       ///< which model, trained on what
};

/// A cost model that scores spaces without measuring. Thread-safe.
class ModelChooser {
 public:
  virtual ~ModelChooser() = default;
  /// None: it has nothing to say about the workload on the target.
  virtual Result<std::optional<ModelChoice>> Choose(const Workload& workload,
                                                    const Target& target) const = 0;
};

struct CatalogAnswer {
  AnswerLevel level = AnswerLevel::kMiss;
  Answer answer;                         ///< explanation never empty; a record for our own rule
  std::optional<AutotvmAnswer> autotvm;  ///< of AutoTVM's rule, with the imported record, if any
  /// What was chosen without a record of our own; see candidate(). Its template_version is 0 where
  /// no template here can make code of it.
  std::optional<Candidate> chosen;
  std::vector<Difference> differences;
  std::string source;            ///< path of the store, "package NAME (digest)", "model", "default"
  const Store* store = nullptr;  ///< that gave the record; null where it is not kept open

  /// What to build; null for a miss.
  const Candidate* candidate() const {
    if (answer.record.has_value()) return &answer.record->trial.candidate;
    return chosen.has_value() ? &*chosen : nullptr;
  }
  /// The record of another program that answered, which nobody verified here; null if none did.
  const ImportedRecord* imported() const {
    return autotvm.has_value() && autotvm->record.has_value() ? &*autotvm->record : nullptr;
  }
  /// Seconds of this very workload as measured; NaN where another one was, or something else.
  double CostSeconds(const Workload* workload) const;
};

/// A place where records come from.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  virtual const std::string& name() const = 0;
  /// False: nothing in it can be an answer, so it is not opened.
  virtual bool MayServe(const LookupRequest& request) const = 0;
  /// Calls `ask` with the store. False: it cannot be opened and was left out.
  /// Errors: those of `ask`, and of a file that is not there any more.
  virtual Result<bool> With(const std::function<Status(const Store&)>& ask) = 0;
  /// See CatalogAnswer::store.
  virtual const Store* kept() const { return nullptr; }
};

/// The front of the first source that has one (Store::Front); empty if none has.
/// question: autotvm is null. Errors: those of the sources, which are named.
Result<std::vector<Record>> LookUpFront(std::span<RecordSource* const> sources,
                                        const LookupRequest& request,
                                        const std::vector<std::string>& metrics);

/// The one order in which answers are looked for: what is preferred on a front (Question::prefer),
/// hits of the sources in turn, then the near hit
/// with the least expected slowdown (the first of equal ones), then the model's choice, then the
/// default config of the first template that has one. Levels that are not accepted are passed over,
/// which the explanation tells.
/// model: may be null.
/// Errors: those of the sources, which are named, and of the model.
Result<CatalogAnswer> LookUpBest(std::span<RecordSource* const> sources, const ModelChooser* model,
                                 const LookupRequest& request);

}  // namespace tilewright::records
