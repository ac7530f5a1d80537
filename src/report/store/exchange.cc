#include "src/report/store/exchange.h"

#include <algorithm>

#include "src/base/format_printable.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/session/format.h"
#include "src/session/text_table.h"

namespace tilewright::report {
namespace {

constexpr std::size_t kShownRefusals = 20;

Json LeftJson(const std::map<std::string, std::int64_t>& left) {
  Json json = Json::object();
  for (const auto& [reason, count] : left) json[reason] = count;
  return json;
}

std::string LeftText(const std::map<std::string, std::int64_t>& left, const char* noun) {
  std::string text;
  for (const auto& [reason, count] : left) {
    text += FormatPrintable("  {:>6} {} left out: {}\n", count, NounFor(count, noun), reason);
  }
  return text;
}

/// Returns the tasks whose best record cannot be exported.
std::string SkippedWinnersText(const std::vector<records::AutotvmSkippedWinner>& winners) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kShownRefusals, winners.size()); ++i) {
    const records::AutotvmSkippedWinner& winner = winners[i];
    auto workload = Workload::Parse(winner.workload_key);
    text += FormatPrintable(
        "not the best: {}: the best is left out ({}, {}); {}\n",
        workload.ok() ? session::ShortName(*workload) : Printable(winner.workload_key),
        session::ShortSeconds(winner.seconds), winner.reason,
        winner.written_seconds > 0
            ? fmt::format("written is the fastest that AutoTVM can take, {:.2f} times as slow",
                          winner.written_seconds / winner.seconds)
            : "nothing is written for this task");
  }
  if (winners.size() > kShownRefusals) {
    text += FormatPrintable(
        "and {}; --json lists them\n",
        Counted(static_cast<std::int64_t>(winners.size() - kShownRefusals), "more task"));
  }
  return text;
}

}  // namespace

Json ImportedFileJson(const records::ImportedFile& file) {
  Json refused = Json::array();
  for (const records::RefusedLine& line : file.refused) {
    refused.push_back({{"line", line.line}, {"reason", line.reason}});
  }
  Json agreement = Json::object();
  for (std::size_t i = 0; i < file.agreement.size(); ++i) {
    const auto kind = static_cast<records::AutotvmAgreement>(i);
    agreement[std::string(records::AutotvmAgreementName(kind))] = file.agreement[i];
  }
  Json flags = Json::object();
  for (std::size_t bit = 0; bit < file.flags.size(); ++bit) {
    for (std::string_view name : records::ImportedFlagNames(std::int64_t{1} << bit)) {
      flags[std::string(name)] = file.flags[bit];
    }
  }
  return {{"file", file.file},
          {"package", file.package},
          {"lines", file.lines},
          {"comments", file.comments},
          {"blank", file.blank},
          {"records", file.records},
          {"imported", file.imported},
          {"duplicates", file.duplicates},
          {"other_targets", file.other_targets},
          {"refused_count", file.refused_count},
          {"refused", std::move(refused)},
          {"index_agreement", std::move(agreement)},
          {"flags", std::move(flags)}};
}

std::string ImportedFileText(const records::ImportedFile& file, bool dry_run) {
  std::string text =
      session::WrapText(
          "",
          Printable(file.file) +
              fmt::format(": {}, {}: {} {}imported, {}{}, {} refused", Counted(file.lines, "line"),
                          Counted(file.records, "record"), file.imported,
                          dry_run ? "would be " : "", Counted(file.duplicates, "duplicate"),
                          file.other_targets > 0
                              ? fmt::format(", {} of other targets", file.other_targets)
                              : "",
                          file.refused_count)) +
      "\n";
  const auto add = [&](records::AutotvmAgreement kind, const char* what) {
    const auto count = file.agreement[static_cast<std::size_t>(kind)];
    if (count > 0) text += fmt::format("  {:>6} {}\n", count, what);
  };
  add(records::AutotvmAgreement::kEdited, "edited by hand: the values count, not the index");
  add(records::AutotvmAgreement::kOutside, "outside the template's space");
  add(records::AutotvmAgreement::kUnknown, "of templates whose space is not known");
  for (std::size_t bit = 0; bit < file.flags.size(); ++bit) {
    if (file.flags[bit] == 0) continue;
    for (std::string_view name : records::ImportedFlagNames(std::int64_t{1} << bit)) {
      text += FormatPrintable("  {:>6} {}: {}\n", file.flags[bit], name,
                              records::ImportedFlagText(name));
    }
  }
  return text;
}

std::string ImportRefusalsText(const records::ImportedFile& file) {
  if (file.IsNoLog()) {
    return FormatPrintable(
        "{}: not an AutoTVM log: line {}: {}; expected lines {{\"input\": …, \"config\": …, "
        "\"result\": …}}\n",
        file.file, file.refused.front().line, file.refused.front().reason);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(kShownRefusals, file.refused.size()); ++i) {
    text += FormatPrintable("{}:{}: refused: {}\n", file.file, file.refused[i].line,
                            file.refused[i].reason);
  }
  const auto more = file.refused_count - static_cast<std::int64_t>(kShownRefusals);
  if (more > 0) {
    text += FormatPrintable("{}: {} refused; --json lists them\n", file.file,
                            Counted(more, "more line"));
  }
  return text;
}

std::string ImportFlagsText() {
  std::string text = "Words about imported records:\n";
  for (const std::string_view name : records::ImportedFlagNames(-1)) {
    text += fmt::format("  {:<17}{}\n", name, records::ImportedFlagText(name));
  }
  return text;
}

Json T4ImportJson(const std::string& file, const records::T4Import& import) {
  return {{"file", file},
          {"task", import.task},
          {"device", import.device},
          {"results", import.results},
          {"failed", import.failed},
          {"imported", import.imported}};
}

std::string T4ImportText(const std::string& file, const records::T4Import& import, bool dry_run) {
  const std::string text = Printable(file) + ": " + Counted(import.results, "result") + " of " +
                           import.name + " on " + Printable(import.device) +
                           fmt::format(", {} failed: {} {}imported", import.failed, import.imported,
                                       dry_run ? "would be " : "");
  return session::WrapText("", text) + "\n";
}

Json T4ExportJson(const records::T4Export& exported) {
  return {{"files", exported.spaces.size()},
          {"trials", exported.trials},
          {"reduced", exported.reduced},
          {"left_out", LeftJson(exported.left)}};
}

std::string T4ExportText(const records::T4Export& exported) {
  std::string text;
  if (exported.reduced > 0) {
    text += FormatPrintable(
        "  {:>6} {} without the further members of the file that it was imported from: the log "
        "of that import is not in this store\n",
        exported.reduced, NounFor(exported.reduced, "result"));
  }
  text += FormatPrintable("{} of {} written\n", Counted(exported.trials, "result"),
                          Counted(std::ssize(exported.spaces), "task"));
  return text + LeftText(exported.left, "trial");
}

Json AutotvmExportJson(const records::AutotvmExportReport& exported) {
  Json winners = Json::array();
  for (const records::AutotvmSkippedWinner& winner : exported.skipped_winners) {
    winners.push_back({{"workload", winner.workload_key},
                       {"target", winner.target},
                       {"template", winner.template_key},
                       {"seconds", winner.seconds},
                       {"reason", winner.reason},
                       {"written_seconds", winner.written_seconds}});
  }
  return {{"imported", exported.imported},
          {"trials", exported.trials},
          {"left_winners", std::move(winners)},
          {"left_out", LeftJson(exported.left)}};
}

std::string AutotvmLeftText(const records::AutotvmExportReport& exported, bool best) {
  return LeftText(exported.left, best ? "task" : "trial") +
         SkippedWinnersText(exported.skipped_winners);
}

}  // namespace tilewright::report
