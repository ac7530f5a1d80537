#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "records/package/catalog.h"
#include "src/session/query/questions.h"
#include "src/target/target.h"
#include "src/templates/registry.h"

// Answers of record sources to several questions, as `query` prints them.

namespace tilewright::report {

/// Returns the answers, an object of AnswerJson for each. target: text of the questions' target.
nlohmann::ordered_json AnswersJson(std::span<const session::Question> questions,
                                   std::span<const records::CatalogAnswer> answers,
                                   const std::string& target);
/// Adds the member "kernel" to an answer's object: layouts, schedule, loop nest and meaning of
/// knobs; null, with the reason in "no_kernel", if it has none.
void AddKernelJson(const session::Question& question, const records::CatalogAnswer& answer,
                   const TemplateRegistry& templates, const Target& target,
                   nlohmann::ordered_json& out);
/// Adds the members "sums" and, if a sum is partial, "sums_unknown".
void AddSumsJson(const session::MetricSums& sums, nlohmann::ordered_json& out);

/// Returns one answer with its properties, or several as a table. columns: maximum width of the
/// table; 0: no limit.
std::string AnswersText(std::span<const session::Question> questions,
                        std::span<const records::CatalogAnswer> answers, const Target& target,
                        int columns);
/// Returns a line; empty without sums.
std::string SumsText(const session::MetricSums& sums);

/// Pareto front of a task.
nlohmann::ordered_json FrontJson(const session::Question& question,
                                 const records::FrontByMetrics& front);
std::string FrontText(const session::Question& question, const records::FrontByMetrics& front,
                      int columns);

}  // namespace tilewright::report
