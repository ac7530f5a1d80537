#include "src/session/query/questions.h"

#include "records/devices/device_results.h"
#include "src/base/files/file.h"
#include "src/session/device_choice.h"
#include "src/session/format.h"
#include "src/session/names.h"
#include "src/templates/device.h"
#include "src/templates/open/environment.h"
#include "src/templates/open/open_template.h"
#include "src/tensor/open_workload.h"

namespace tilewright::session {

std::vector<Question> QuestionsOf(std::span<const search::TuneTask> tasks) {
  const std::vector<std::string> names = DistinctNames(tasks);
  std::vector<Question> questions;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const search::TuneTask& task = tasks[i];
    questions.push_back({task.task.workload.Key(),
                         names[i],
                         task.task.workload,
                         {},
                         task.occurrences,
                         task.epilogue});
  }
  return questions;
}

Result<Question> QuestionOfTuple(const std::string& tuple) {
  TW_ASSIGN_OR_RETURN(auto task, records::AutotvmTask::Parse(tuple));
  const std::string name = task.workload.has_value() ? ShortName(*task.workload) : task.tuple;
  return Question{task.tuple, name, task.workload, task};
}

Result<std::vector<records::CatalogAnswer>> AnswerAll(std::span<const Question> questions,
                                                      records::LookupRequest terms,
                                                      records::Catalog& catalog) {
  std::optional<records::AutotvmLookup> autotvm;
  if (terms.autotvm != nullptr) autotvm = *terms.autotvm;
  std::vector<records::CatalogAnswer> answers;
  for (const Question& question : questions) {
    terms.workload = question.operation();
    if (autotvm.has_value()) {
      autotvm->task = question.task;
      terms.autotvm = &*autotvm;
    }
    TW_ASSIGN_OR_RETURN(auto answer, catalog.Query(terms));
    answers.push_back(std::move(answer));
  }
  return answers;
}

Result<std::vector<records::FrontByMetrics>> FrontsOf(std::span<const Question> questions,
                                                      records::LookupRequest terms,
                                                      records::Catalog& catalog) {
  std::vector<records::FrontByMetrics> fronts;
  for (const Question& question : questions) {
    terms.workload = question.operation();
    TW_ASSIGN_OR_RETURN(auto front, catalog.TaskFront(terms));
    fronts.push_back(std::move(front));
  }
  return fronts;
}

MetricSums SumsOf(std::span<const Question> questions,
                  std::span<const records::CatalogAnswer> answers, const Target& target,
                  const records::Preference& prefer) {
  MetricSums sums;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const records::CatalogAnswer& answer = answers[i];
    for (const std::string& metric : MetricsOf(target)) {
      std::optional<double> value;
      if (answer.level == records::AnswerLevel::kHit && answer.answer.record.has_value()) {
        value = answer.answer.record->trial.ValueOf(metric);
      }
      MetricSum& sum = sums[metric];
      if (!value) ++sum.unknown;
      sum.value += static_cast<double>(questions[i].uses) * value.value_or(0);
    }
  }
  std::erase_if(sums, [&](const auto& one) {
    const bool asked_for = one.first == prefer.minimized || one.first == prefer.limited;
    return one.second.unknown == static_cast<int>(questions.size()) && !asked_for;
  });
  return sums;
}

Result<DeviceFingerprint> DeviceAsked(const std::string& environment, const Target& target) {
  if (!environment.empty()) return ParseEnvironment(environment);
  auto here = DeviceChoice().Fingerprint(target);
  return here.ok() ? here : DeviceFor(target);
}

Status CheckNoOpenTask(const TemplateRegistry& templates, const std::string& text) {
  if (text.find_first_of("(#?[") != std::string::npos || FileExists(text)) return {};
  std::string names;
  for (const TemplateEntry& entry : templates.all()) {
    if (entry.open == nullptr) continue;
    const std::string problem = ProblemText(entry.open->problem);
    names += "\n  " + entry.open->name + (problem.empty() ? "" : " " + problem);
  }
  if (names.empty()) return {};
  return InvalidArgument(
      "'" + text + "': no such task in the record stores, and no such file; they have:" + names);
}

Result<SizedResults> ResultsBySize(records::Catalog& catalog, const TemplateRegistry& templates,
                                   const std::string& pattern, const std::string& device,
                                   const std::function<Result<Target>()>& target) {
  TW_ASSIGN_OR_RETURN(const auto tasks, records::FindSizes(catalog, pattern));
  SizedResults sized;
  for (const records::SizedTask& task : tasks) {
    const OpenTask* open = tilewright::FindOpenTask(templates, task.workload);
    TW_ASSIGN_OR_RETURN(const Target for_target,
                        open != nullptr ? Result<Target>(open->target()) : target());
    sized.metric = MetricOf(for_target);
    TW_ASSIGN_OR_RETURN(const auto read, records::TaskResults::Read(catalog, templates,
                                                                    task.workload, sized.metric));
    auto on = read.On(device);
    if (!on.ok()) return on.status().WithContext(task.workload.Key());
    sized.results.push_back(*std::move(on));
    sized.results.back().name = std::to_string(task.size);
  }
  if (sized.results.empty()) {
    return NotFound("'" + pattern + "': no task with records matches");
  }
  return sized;
}

}  // namespace tilewright::session
