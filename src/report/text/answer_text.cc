#include "src/report/text/answer_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/format_printable.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/session/format.h"
#include "src/target/short_target.h"

namespace tilewright::report {
namespace {

/// Returns the value of an answer's record; "-" if it is of another workload or there is none.
std::string CostText(const records::CatalogAnswer& answer, const Workload* workload) {
  if (const auto& record = answer.answer.record; record.has_value()) {
    const bool same = workload != nullptr && record->trial.candidate.task.workload == *workload;
    return same ? session::ShortValue(record->trial.metric, record->trial.value) : "-";
  }
  const double seconds = answer.CostSeconds(workload);
  return std::isfinite(seconds) ? session::ShortSeconds(seconds) : "-";
}

/// Returns the origin of an imported record, without its line.
std::string ImportOriginText(const records::CatalogAnswer& answer) {
  const records::ImportedRecord& record = *answer.imported();
  std::string text = record.package.empty() ? record.file : "package " + record.package;
  text += " for '" + record.target + "', by " + answer.autotvm->matched_by;
  for (const std::string_view flag : records::ImportedFlagNames(record.flags)) {
    text += "; " + std::string(flag);
  }
  return text;
}

/// Returns the kind of an answer, marked if it is an imported record of another model.
std::string LevelText(const records::CatalogAnswer& answer) {
  std::string text(records::AnswerLevelName(answer.level));
  if (answer.imported() != nullptr && answer.autotvm->matched_by != "model") {
    const auto target = records::AutotvmTarget::Parse(answer.imported()->target);
    const auto cpu = std::ranges::find(answer.differences, "mcpu", &records::Difference::what);
    if (target.ok() && target->model() != "unknown") {
      text += " (" + Printable(target->model()) + ")";
    } else if (cpu != answer.differences.end() && !cpu->recorded.empty()) {
      text += " (" + Printable(cpu->recorded) + ")";
    }
  }
  return text;
}

/// Returns the line of one property of an answer; a longer value continues below itself.
std::string PropertyLine(std::string_view name, std::string_view value) {
  const std::string head = fmt::format("  {:<9} ", name);
  const std::string text =
      session::WrapText(head, Printable(value), session::TextWidth(), head.size());
  return FormatPrintable("{}\n", MultilineText{text});
}

/// Returns "tile_k=[1,64] unroll=true".
std::string KnobsText(const Config& config) {
  std::string text;
  for (const auto& [name, value] : config.values) {
    text += (text.empty() ? "" : " ") + name + "=" + value.ToString();
  }
  return text;
}

}  // namespace

AnswerTable::AnswerTable()
    : table_({{"#", true},
              {"task", false, 24},
              {"answer"},
              {"time", true},
              {"config", true},
              {"template", false, 8}}) {}

void AnswerTable::Add(const std::string& name, const Workload* workload,
                      const records::CatalogAnswer& answer) {
  const std::size_t number = count_++;
  ++counts_[answer.level];
  const Candidate* candidate = answer.candidate();
  table_.AddRow({std::to_string(number), Printable(name), LevelText(answer),
                 CostText(answer, workload),
                 candidate != nullptr ? fmt::format("#{}", candidate->config.index) : "-",
                 candidate != nullptr ? Printable(candidate->template_key) : "-"});
  if (answer.level != records::AnswerLevel::kHit) {
    misses_.Add(Printable(session::MissReasonText(answer.level, answer.answer.cause)), number);
  }
  if (answer.imported() != nullptr) imported_.Add(Printable(ImportOriginText(answer)), number);
  if (!answer.answer.skipped_record.empty()) {
    skipped_.Add(Printable(answer.answer.skipped_record), number);
  }
}

std::string AnswerTable::Text(const Target& target, int columns) {
  table_.set_width(columns);
  std::string text = table_.Take();
  std::string counts;
  for (const auto& [level, count] : counts_) {
    counts +=
        fmt::format("{} {} {}", counts.empty() ? "" : ",", count, records::AnswerLevelName(level));
  }
  text += FormatPrintable("{} for {}:{}\n", Counted(static_cast<std::int64_t>(count_), "task"),
                          ShortTargetText(target), counts);
  const auto add = [&text](const char* title, const session::TextGroups& groups) {
    if (groups.empty()) return;
    const std::string lines = groups.Lines();
    text += FormatPrintable("{}\n{}", title, MultilineText{lines});
  };
  add("tasks without a record of their own:", misses_);
  add("imported records, not verified here (--json tells file and line):", imported_);
  add("records passed over:", skipped_);
  return text;
}

std::string AnswerText(const std::string& name, const Workload* workload, const Target& target,
                       const records::CatalogAnswer& answer) {
  const auto& record = answer.answer.record;
  std::string text = FormatPrintable("{}: {}\n", name, LevelText(answer));
  text += PropertyLine("target", ShortTargetText(target));
  if (const Candidate* candidate = answer.candidate()) {
    text += PropertyLine("time", CostText(answer, workload));
    text +=
        PropertyLine("config", fmt::format("{} #{} {}", candidate->template_key,
                                           candidate->config.index, KnobsText(candidate->config)));
    text += PropertyLine("source", answer.source);
  }
  if (record.has_value()) {
    text += PropertyLine("record", record->id);
    text += PropertyLine("device", record->trial.device.model);
    text += PropertyLine("measured", records::UtcText(record->trial.finished_unix_seconds));
  }
  if (const records::ImportedRecord* imported = answer.imported(); imported != nullptr) {
    text += PropertyLine(
        "record", fmt::format("{}, line {}, not verified here", imported->file, imported->line));
    text += PropertyLine("measured", records::UtcText(imported->finished));
    for (const std::string_view flag : records::ImportedFlagNames(imported->flags)) {
      text += PropertyLine("flag", fmt::format("{}: {}", flag, records::ImportedFlagText(flag)));
    }
  }
  text += PropertyLine("why", answer.answer.explanation);
  return text;
}

}  // namespace tilewright::report
