// Lookup from the best level down: hit, near match, config of the cost model, default config. Each
// level tries every source before the next one, and the explanation lists skipped levels and
// records.

#include "records/lookup.h"

#include <algorithm>
#include <array>
#include <utility>

#include "records/imported.h"
#include "src/target/library.h"
#include "src/target/short_target.h"
#include "src/templates/registry.h"

namespace tilewright::records {
namespace {

constexpr std::array<std::pair<AnswerLevel, std::string_view>, 5> kLevels = {{
    {AnswerLevel::kHit, "hit"},
    {AnswerLevel::kNearMatch, "near"},
    {AnswerLevel::kModel, "model"},
    {AnswerLevel::kDefault, "default"},
    {AnswerLevel::kMiss, "miss"},
}};

/// Converts an imported record to a candidate. If it cannot be built, returns its values under
/// version 0 of its template.
Status ChooseImported(const LookupRequest& request, CatalogAnswer& found) {
  const ImportedRecord& record = *found.autotvm->record;
  auto candidate = CandidateOfImported(*request.templates, record, *request.target);
  if (candidate.ok()) {
    found.chosen = *std::move(candidate);
    return {};
  }
  if (candidate.status().code() != StatusCode::kUnsupported) return candidate.status();
  TW_ASSIGN_OR_RETURN(auto config, ConfigOfImported(record));
  Task task;
  if (request.workload != nullptr) task.workload = *request.workload;
  task.target = *request.target;
  found.chosen = Candidate{std::move(task), {}, record.task, 0, std::move(config)};
  found.answer.explanation += "; no code can be made of it here: " + candidate.status().message();
  return {};
}

Status AskByAutotvm(const Store& store, const LookupRequest& request, CatalogAnswer& found) {
  const AutotvmLookup& asked = *request.autotvm;
  std::optional<AutotvmTask> task;
  auto answer = asked.task.has_value()
                    ? QueryAutotvm(store, *asked.task, asked.target, asked.package)
                    : QueryAutotvm(store, *request.workload, asked.target, asked.package, task);
  const StatusCode code = answer.status().code();
  if (code == StatusCode::kUnsupported || code == StatusCode::kNotFound) {
    found.answer.explanation = "miss: " + answer.status().message();
    found.answer.cause = {
        code == StatusCode::kUnsupported ? MissReason::kNoTemplate : MissReason::kNothingImported,
        ""};
    return {};
  }
  TW_RETURN_IF_ERROR(answer);
  found.answer.explanation = std::move(answer->explanation);
  found.differences = std::move(answer->differs);
  found.answer.cause = answer->cause;
  found.autotvm = *std::move(answer);
  if (found.imported() == nullptr) return {};
  found.level = AnswerLevel::kHit;
  found.answer.expected_slowdown = std::nan("");
  return ChooseImported(request, found);
}

/// Returns the preferred record on a store's Pareto front of the workload; a miss if the store has
/// no front.
Result<Answer> AskFront(const Store& store, const LookupRequest& request) {
  const std::vector<std::string> metrics = request.prefer->Metrics(*request.target);
  TW_ASSIGN_OR_RETURN(auto front,
                      store.Front(*request.templates, *request.workload, *request.target,
                                  *request.device, metrics, request.library_call_filter));
  Answer answer;
  if (front.records.empty()) return answer;
  const double limit = request.prefer->LimitFor(request.workload->Key());
  answer.kind = AnswerKind::kHit;
  answer.record = ChooseFrom(front.records, *request.prefer, limit);
  answer.explanation = "hit: " + request.prefer->ToString(limit) + ", on a front of " +
                       std::to_string(front.records.size()) +
                       "; same workload, target, device model and features";
  const auto value = answer.record->trial.ValueOf(request.prefer->limited);
  if (value && *value > limit) answer.explanation += "; none is within the limit, the nearest one";
  answer.ExplainSkipped(front.skipped_record, front.not_loaded);
  return answer;
}

bool AsksForFront(const LookupRequest& request) {
  return request.prefer != nullptr && request.autotvm == nullptr &&
         request.prefer->AsksForFront(*request.target);
}

Result<Answer> AskStore(const Store& store, const LookupRequest& request) {
  auto answer = store.Query(*request.templates, *request.workload, *request.target, *request.device,
                            request.library_call_filter, request.open);
  if (answer.ok() && AsksForFront(request) && answer->record.has_value()) {
    answer->explanation += "; no record that may be served says what --prefer asks for";
  }
  return answer;
}

Status AskByOwnRule(const Store& store, const LookupRequest& request, bool front,
                    CatalogAnswer& found) {
  TW_ASSIGN_OR_RETURN(found.answer, front ? AskFront(store, request) : AskStore(store, request));
  if (!found.answer.record.has_value()) return {};
  found.level = found.answer.kind == AnswerKind::kHit ? AnswerLevel::kHit : AnswerLevel::kNearMatch;
  found.differences =
      DifferencesOf(*request.templates, found.answer.record->trial, *request.workload,
                    WithoutLibraries(*request.target), *request.device);
  return {};
}

/// Returns the default config of the first template that has one; a miss if none has.
CatalogAnswer DefaultOf(const LookupRequest& request) {
  CatalogAnswer answer;
  answer.answer.expected_slowdown = std::nan("");
  for (const TemplateEntry* entry : request.templates->For(*request.workload, *request.target)) {
    auto config = entry->default_config(*request.workload, *request.target);
    if (!config.ok()) continue;
    answer.level = AnswerLevel::kDefault;
    answer.chosen = Candidate{{*request.workload, *request.target},
                              {},
                              std::string(entry->key),
                              entry->version,
                              *std::move(config)};
    answer.source = "default";
    answer.answer.explanation = "default config of " + answer.chosen->template_key + " v" +
                                std::to_string(entry->version) + ", which nobody measured";
    return answer;
  }
  answer.answer.explanation =
      "no template serves it on target '" + ShortTargetText(*request.target) + "'";
  return answer;
}

/// Search through the levels; records what was skipped and why.
class Descent {
 public:
  explicit Descent(const LookupRequest& request) : question_(request) {}

  /// Returns true if a hit ends the search. front: only the preferred record of a Pareto front.
  Result<bool> AskSource(RecordSource& source, bool one_of_many, bool front);
  Result<CatalogAnswer> Finish(bool any_source, const ModelChooser* model);

 private:
  bool Accepts(AnswerLevel level) const { return (question_.accept & LevelBit(level)) != 0; }
  void PassOver(const std::string& why, MissCause cause) {
    skipped_ += (skipped_.empty() ? "" : "; ") + why;
    PreferCause(cause_, std::move(cause));
  }
  Result<std::optional<CatalogAnswer>> AskModel(const ModelChooser& model) const;
  /// Returns the result of the levels below records.
  Result<CatalogAnswer> Unmeasured(const ModelChooser* model) const;

  const LookupRequest& question_;
  std::optional<CatalogAnswer> best_;
  std::vector<std::string> nearest_;  // tasks with records, from the first source that missed
  std::string skipped_;
  MissCause cause_;
};

Result<bool> Descent::AskSource(RecordSource& source, bool one_of_many, bool front) {
  CatalogAnswer found;
  TW_ASSIGN_OR_RETURN(auto opened, source.With([&](const Store& store) {
    const Status asked = question_.autotvm != nullptr
                             ? AskByAutotvm(store, question_, found)
                             : AskByOwnRule(store, question_, front, found);
    return asked.ok() ? asked : asked.WithContext(source.name());
  }));
  if (!opened) return false;
  if (front && found.level == AnswerLevel::kMiss) return false;  // the next pass queries the hits
  const std::string where = one_of_many ? source.name() + ": " : "";
  if (found.level == AnswerLevel::kMiss) {
    PassOver(where + found.answer.explanation, std::move(found.answer.cause));
    if (nearest_.empty() && found.autotvm.has_value()) nearest_ = found.autotvm->nearest;
    return false;
  }
  if (!Accepts(found.level)) {
    PassOver(where + "not accepted: " + found.answer.explanation,
             {MissReason::kNotAccepted, std::string(AnswerLevelName(found.level))});
    return false;
  }
  const bool hit = found.level == AnswerLevel::kHit;
  if (!hit && best_.has_value() &&
      best_->answer.expected_slowdown <= found.answer.expected_slowdown) {
    return false;
  }
  found.source = source.name();
  found.store = source.kept();
  best_ = std::move(found);
  return hit;
}

Result<std::optional<CatalogAnswer>> Descent::AskModel(const ModelChooser& model) const {
  TW_ASSIGN_OR_RETURN(auto choice,
                      model.Choose(*question_.workload, WithoutLibraries(*question_.target)));
  if (!choice.has_value()) return std::optional<CatalogAnswer>();
  CatalogAnswer answer;
  answer.level = AnswerLevel::kModel;
  answer.chosen = std::move(choice->candidate);
  answer.answer.expected_slowdown = choice->expected_slowdown;
  answer.answer.explanation = "model: " + choice->explanation + "; " + skipped_;
  answer.source = "model";
  return std::optional<CatalogAnswer>(std::move(answer));
}

Result<CatalogAnswer> Descent::Unmeasured(const ModelChooser* model) const {
  if (Accepts(AnswerLevel::kModel) && model != nullptr) {
    TW_ASSIGN_OR_RETURN(auto chosen, AskModel(*model));
    if (chosen.has_value()) return *std::move(chosen);
  }
  CatalogAnswer answer;
  answer.answer.expected_slowdown = std::nan("");
  answer.answer.explanation = skipped_;
  if (!Accepts(AnswerLevel::kDefault)) return answer;
  answer = DefaultOf(question_);
  const std::string why = std::move(answer.answer.explanation);
  answer.answer.explanation =
      answer.level == AnswerLevel::kDefault ? why + "; " + skipped_ : skipped_ + "; " + why;
  return answer;
}

Result<CatalogAnswer> Descent::Finish(bool any_source, const ModelChooser* model) {
  if (best_.has_value()) return *std::move(best_);
  if (!any_source) {
    PassOver("miss: the catalog has no stores or packages", {MissReason::kNoSources, ""});
  }
  if (skipped_.empty()) {
    PassOver("miss: none of the stores and packages can have records of it",
             {MissReason::kNoRecords, ""});
  }
  CatalogAnswer answer;
  answer.answer.expected_slowdown = std::nan("");
  answer.answer.explanation = skipped_;
  if (question_.workload != nullptr) {
    TW_ASSIGN_OR_RETURN(answer, Unmeasured(model));
  }
  answer.answer.cause = cause_;
  if (question_.autotvm != nullptr) {
    answer.autotvm.emplace();
    answer.autotvm->nearest = std::move(nearest_);
  }
  return answer;
}

}  // namespace

std::string_view AnswerLevelName(AnswerLevel level) {
  return std::ranges::find(kLevels, level, &std::pair<AnswerLevel, std::string_view>::first)
      ->second;
}

Result<AnswerLevel> ParseAnswerLevel(std::string_view name) {
  for (const auto& [level, text] : kLevels) {
    if (text == name) return level;
  }
  return InvalidArgument("'" + std::string(name) + "': expected hit, near, model, default or miss");
}

double CatalogAnswer::CostSeconds(const Workload* workload) const {
  if (const ImportedRecord* record = imported()) return record->cost;
  if (!answer.record.has_value() || workload == nullptr) return std::nan("");
  const Trial& trial = answer.record->trial;
  const bool same = trial.candidate.task.workload == *workload;
  return same && trial.metric == "seconds" ? trial.value : std::nan("");
}

Result<std::vector<Record>> LookUpFront(std::span<RecordSource* const> sources,
                                        const LookupRequest& request,
                                        const std::vector<std::string>& metrics) {
  std::vector<Record> front;
  for (RecordSource* source : sources) {
    if (!front.empty()) break;
    if (!source->MayServe(request)) continue;
    TW_RETURN_IF_ERROR(source->With([&](const Store& store) -> Status {
      auto found = store.Front(*request.templates, *request.workload, *request.target,
                               *request.device, metrics, request.library_call_filter);
      if (!found.ok()) return found.status().WithContext(source->name());
      front = std::move(found->records);
      return {};
    }));
  }
  return front;
}

Result<CatalogAnswer> LookUpBest(std::span<RecordSource* const> sources, const ModelChooser* model,
                                 const LookupRequest& request) {
  Descent descent(request);
  const bool many = sources.size() > 1;
  // The limit is divided by the first front found (LookUpFront), so that front is used, even if an
  // earlier source has a hit with one metric only.
  bool ended = false;
  for (const bool front : {true, false}) {
    if (ended || (front && !AsksForFront(request))) continue;
    for (RecordSource* source : sources) {
      if (!source->MayServe(request)) continue;
      TW_ASSIGN_OR_RETURN(ended, descent.AskSource(*source, many, front));
      if (ended) break;
    }
  }
  return descent.Finish(!sources.empty(), model);
}

}  // namespace tilewright::records
