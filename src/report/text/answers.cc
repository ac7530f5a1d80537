#include "src/report/text/answers.h"

#include <fmt/format.h>

#include "records/answer_json.h"
#include "src/base/format_printable.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/report/text/answer_text.h"
#include "src/session/format.h"
#include "src/session/text_table.h"
#include "src/templates/text/kernel_json.h"

namespace tilewright::report {

Json AnswersJson(std::span<const session::Question> questions,
                 std::span<const records::CatalogAnswer> answers, const std::string& target) {
  Json list = Json::array();
  for (std::size_t i = 0; i < questions.size(); ++i) {
    list.push_back(
        records::AnswerJson(answers[i], questions[i].operation(), questions[i].text, target));
  }
  return list;
}

void AddKernelJson(const session::Question& question, const records::CatalogAnswer& answer,
                   const TemplateRegistry& templates, const Target& target, Json& out) {
  const auto kernel = [&]() -> Result<Json> {
    const Candidate* candidate = answer.candidate();
    if (candidate == nullptr) return NotFound("a miss has no kernel");
    if (!question.workload) return Unsupported("no template builds the task");
    TW_ASSIGN_OR_RETURN(const TemplateEntry* entry, EntryToBuild(templates, *candidate));
    return KernelJson(*entry, *question.workload, question.epilogue, target, candidate->config);
  }();
  out["kernel"] = kernel.ok() ? *kernel : Json();
  if (!kernel.ok()) out["no_kernel"] = kernel.status().message();
}

void AddSumsJson(const session::MetricSums& sums, Json& out) {
  for (const auto& [metric, sum] : sums) {
    // A partial sum would look like a complete one.
    out["sums"][metric] = sum.unknown == 0 ? Json(sum.value) : Json();
    if (sum.unknown > 0) out["sums_unknown"][metric] = sum.unknown;
  }
}

std::string AnswersText(std::span<const session::Question> questions,
                        std::span<const records::CatalogAnswer> answers, const Target& target,
                        int columns) {
  if (questions.size() == 1) {
    return AnswerText(questions[0].name, questions[0].operation(), target, answers[0]);
  }
  AnswerTable table;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    table.Add(questions[i].name, questions[i].operation(), answers[i]);
  }
  return table.Text(target, columns);
}

std::string SumsText(const session::MetricSums& sums) {
  if (sums.empty()) return {};
  std::string text = "as often as they are used:";
  for (const auto& [metric, sum] : sums) {
    text += FormatPrintable(" {}", session::ShortValue(metric, sum.value));
    if (sum.unknown > 0) {
      text += FormatPrintable(" ({} of {} unknown)", metric, Counted(sum.unknown, "task"));
    }
  }
  return text + "\n";
}

Json FrontJson(const session::Question& question, const records::FrontByMetrics& front) {
  Json list = Json::array();
  for (const records::Record& record : front.records) {
    const Candidate& candidate = record.trial.candidate;
    Json values = Json::object();
    for (const std::string& metric : front.metrics) values[metric] = *record.trial.ValueOf(metric);
    list.push_back({{"id", record.id},
                    {"values", std::move(values)},
                    {"template", candidate.template_key},
                    {"config", *ParseJson(candidate.config.ToString())}});
  }
  return {{"workload", question.text},
          {"uses", question.uses},
          {"metrics", front.metrics},
          {"records", std::move(list)}};
}

std::string FrontText(const session::Question& question, const records::FrontByMetrics& front,
                      int columns) {
  std::string by;
  std::vector<session::TextTable::Column> titles;
  for (const std::string& metric : front.metrics) {
    by += (by.empty() ? " by " : ",") + metric;
    titles.push_back({"  " + metric, true});
  }
  titles.push_back({"config", true});
  titles.push_back({"template", false, 8});
  session::TextTable table(std::move(titles), columns);
  for (const records::Record& record : front.records) {
    std::vector<std::string> cells;
    for (const std::string& metric : front.metrics) {
      cells.push_back(session::ShortValue(metric, *record.trial.ValueOf(metric)));
    }
    cells.push_back(fmt::format("#{}", record.trial.candidate.config.index));
    cells.push_back(Printable(record.trial.candidate.template_key));
    table.AddRow(std::move(cells));
  }
  return FormatPrintable("{}: {}, {} on the front{}\n", question.name,
                         Counted(question.uses, "use"), front.records.size(), by) +
         table.Take();
}

}  // namespace tilewright::report
