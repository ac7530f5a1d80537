// From the best answer down: a hit, a near hit, a config of the cost model, the default. Each level
// looks at every source before the next one is tried, and what was passed over is told.

#include "records/precedence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "records/imported.h"
#include "src/target/library.h"
#include "src/templates/registry.h"

namespace tilewright::records {
namespace {

constexpr std::array<std::pair<AnswerLevel, std::string_view>, 5> kLevels = {{
    {AnswerLevel::kHit, "hit"},
    {AnswerLevel::kNearHit, "near"},
    {AnswerLevel::kModel, "model"},
    {AnswerLevel::kDefault, "default"},
    {AnswerLevel::kMiss, "miss"},
}};

/// An imported record as something to build; where nothing can be built of it, its values all the
/// same, under version 0 of its template.
Status ChooseImported(const Question& question, CatalogAnswer& found) {
  const ImportedRecord& record = *found.autotvm->record;
  auto candidate = CandidateOfImported(*question.templates, record, *question.target);
  if (candidate.ok()) {
    found.chosen = *std::move(candidate);
    return {};
  }
  if (candidate.status().code() != StatusCode::kUnsupported) return candidate.status();
  TW_ASSIGN_OR_RETURN(auto config, ConfigOfImported(record));
  Task task;
  if (question.workload != nullptr) task.workload = *question.workload;
  task.target = *question.target;
  found.chosen = Candidate{std::move(task), {}, record.task, 0, std::move(config)};
  found.answer.explanation += "; no code can be made of it here: " + candidate.status().message();
  return {};
}

Status AskByAutotvm(const Store& store, const Question& question, CatalogAnswer& found) {
  const AutotvmQuestion& asked = *question.autotvm;
  std::optional<AutotvmTask> task;
  auto answer = asked.task.has_value()
                    ? QueryAutotvm(store, *asked.task, asked.target, asked.package)
                    : QueryAutotvm(store, *question.workload, asked.target, asked.package, task);
  const StatusCode code = answer.status().code();
  if (code == StatusCode::kUnsupported || code == StatusCode::kNotFound) {
    found.answer.explanation = "miss: " + answer.status().message();
    return {};
  }
  TW_RETURN_IF_ERROR(answer);
  found.answer.explanation = std::move(answer->explanation);
  found.differences = std::move(answer->differs);
  found.autotvm = *std::move(answer);
  if (found.imported() == nullptr) return {};
  found.level = AnswerLevel::kHit;
  found.answer.expected_slowdown = std::nan("");
  return ChooseImported(question, found);
}

/// What is preferred of the front that a store has of the workload; a miss if it has none.
Result<Answer> AskFront(const Store& store, const Question& question) {
  const std::vector<std::string> metrics = question.prefer->Metrics(*question.target);
  TW_ASSIGN_OR_RETURN(auto front,
                      store.Front(*question.templates, *question.workload, *question.target,
                                  *question.device, metrics, question.refuses_call));
  Answer answer;
  if (front.records.empty()) return answer;
  const double limit = question.prefer->LimitOf(question.workload->Key());
  answer.kind = AnswerKind::kHit;
  answer.record = ChooseFrom(front.records, *question.prefer, limit);
  answer.explanation = "hit: " + question.prefer->ToString(limit) + ", on a front of " +
                       std::to_string(front.records.size()) +
                       "; same workload, target, device model and features";
  const auto value = answer.record->trial.ValueOf(question.prefer->limited);
  if (value && *value > limit) answer.explanation += "; none is within the limit, the nearest one";
  answer.TellLeftOut(front.passed_over, front.not_loaded);
  return answer;
}

bool AsksForFront(const Question& question) {
  return question.prefer != nullptr && question.autotvm == nullptr &&
         question.prefer->AsksForFront(*question.target);
}

Result<Answer> AskStore(const Store& store, const Question& question) {
  auto answer = store.Query(*question.templates, *question.workload, *question.target,
                            *question.device, question.refuses_call);
  if (answer.ok() && AsksForFront(question) && answer->record.has_value()) {
    answer->explanation += "; no record that may be served says what --prefer asks for";
  }
  return answer;
}

Status AskByOwnRule(const Store& store, const Question& question, bool front,
                    CatalogAnswer& found) {
  TW_ASSIGN_OR_RETURN(found.answer, front ? AskFront(store, question) : AskStore(store, question));
  if (!found.answer.record.has_value()) return {};
  found.level = found.answer.kind == AnswerKind::kHit ? AnswerLevel::kHit : AnswerLevel::kNearHit;
  found.differences =
      DifferencesOf(*question.templates, found.answer.record->trial, *question.workload,
                    WithoutLibraries(*question.target), *question.device);
  return {};
}

/// The default config of the first template that has one; a miss if none has.
CatalogAnswer DefaultOf(const Question& question) {
  CatalogAnswer answer;
  answer.answer.expected_slowdown = std::nan("");
  for (const TemplateEntry* entry : question.templates->For(*question.workload, *question.target)) {
    auto config = entry->default_config(*question.workload, *question.target);
    if (!config.ok()) continue;
    answer.level = AnswerLevel::kDefault;
    answer.chosen = Candidate{{*question.workload, *question.target},
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
      "no template serves it on target '" + question.target->ToString() + "'";
  return answer;
}

/// The search through the levels; keeps what was passed over and why.
class Descent {
 public:
  explicit Descent(const Question& question) : question_(question) {}

  /// True once a hit ends the search. front: only what is preferred of several metrics.
  Result<bool> AskSource(AnswerSource& source, bool one_of_many, bool front);
  Result<CatalogAnswer> Finish(bool any_source, const ModelChooser* model);

 private:
  bool Accepts(AnswerLevel level) const { return (question_.accept & LevelBit(level)) != 0; }
  void PassOver(const std::string& why) {
    passed_over_ += (passed_over_.empty() ? "" : "; ") + why;
  }
  Result<std::optional<CatalogAnswer>> AskModel(const ModelChooser& model) const;
  /// Of the levels below records.
  Result<CatalogAnswer> Unmeasured(const ModelChooser* model) const;

  const Question& question_;
  std::optional<CatalogAnswer> best_;
  std::vector<std::string> nearest_;  // tasks with records, of the first source that missed
  std::string passed_over_;
};

Result<bool> Descent::AskSource(AnswerSource& source, bool one_of_many, bool front) {
  CatalogAnswer found;
  TW_ASSIGN_OR_RETURN(auto opened, source.With([&](const Store& store) {
    const Status asked = question_.autotvm != nullptr
                             ? AskByAutotvm(store, question_, found)
                             : AskByOwnRule(store, question_, front, found);
    return asked.ok() ? asked : asked.WithContext(source.name());
  }));
  if (!opened) return false;
  if (front && found.level == AnswerLevel::kMiss) return false;  // the hits are asked for next
  const std::string where = one_of_many ? source.name() + ": " : "";
  if (found.level == AnswerLevel::kMiss) {
    PassOver(where + found.answer.explanation);
    if (nearest_.empty() && found.autotvm.has_value()) nearest_ = found.autotvm->nearest;
    return false;
  }
  if (!Accepts(found.level)) {
    PassOver(where + "not accepted: " + found.answer.explanation);
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
  answer.answer.explanation = "model: " + choice->explanation + "; " + passed_over_;
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
  answer.answer.explanation = passed_over_;
  if (!Accepts(AnswerLevel::kDefault)) return answer;
  answer = DefaultOf(question_);
  const std::string why = std::move(answer.answer.explanation);
  answer.answer.explanation =
      answer.level == AnswerLevel::kDefault ? why + "; " + passed_over_ : passed_over_ + "; " + why;
  return answer;
}

Result<CatalogAnswer> Descent::Finish(bool any_source, const ModelChooser* model) {
  if (best_.has_value()) return *std::move(best_);
  if (!any_source) PassOver("miss: the catalog has no stores or packages");
  if (passed_over_.empty())
    PassOver("miss: none of the stores and packages can have records of it");
  CatalogAnswer answer;
  answer.answer.expected_slowdown = std::nan("");
  answer.answer.explanation = passed_over_;
  if (question_.workload != nullptr) {
    TW_ASSIGN_OR_RETURN(answer, Unmeasured(model));
  }
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

Result<std::vector<Record>> FrontInOrder(std::span<AnswerSource* const> sources,
                                         const Question& question,
                                         const std::vector<std::string>& metrics) {
  std::vector<Record> front;
  for (AnswerSource* source : sources) {
    if (!front.empty()) break;
    if (!source->MayServe(question)) continue;
    TW_RETURN_IF_ERROR(source->With([&](const Store& store) -> Status {
      auto found = store.Front(*question.templates, *question.workload, *question.target,
                               *question.device, metrics, question.refuses_call);
      if (!found.ok()) return found.status().WithContext(source->name());
      front = std::move(found->records);
      return {};
    }));
  }
  return front;
}

Result<CatalogAnswer> AnswerInOrder(std::span<AnswerSource* const> sources,
                                    const ModelChooser* model, const Question& question) {
  Descent descent(question);
  const bool many = sources.size() > 1;
  // A limit is shared out by the first front there is (FrontInOrder), so that one answers, also
  // where a source before it has a hit that knows one metric only.
  bool ended = false;
  for (const bool front : {true, false}) {
    if (ended || (front && !AsksForFront(question))) continue;
    for (AnswerSource* source : sources) {
      if (!source->MayServe(question)) continue;
      TW_ASSIGN_OR_RETURN(ended, descent.AskSource(*source, many, front));
      if (ended) break;
    }
  }
  return descent.Finish(!sources.empty(), model);
}

}  // namespace tilewright::records
