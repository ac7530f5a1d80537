#include "src/report/store/maintenance.h"

#include "src/base/format_printable.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/report/store/record_tables.h"
#include "src/session/text_table.h"

namespace tilewright::report {

Json MergeJson(const std::string& into, std::span<const records::MergeReport> reports) {
  Json merged = Json::array();
  for (const records::MergeReport& report : reports) {
    merged.push_back({{"store", report.path},
                      {"store_id", report.store_id},
                      {"trials", report.trials},
                      {"added", report.added},
                      {"duplicates", report.trials - report.added},
                      {"refused", report.refused},
                      {"reasons", report.reasons},
                      {"log_entries_added", report.log_entries_added},
                      {"sha256", report.sha256}});
  }
  return {{"into", into}, {"merged", std::move(merged)}};
}

std::string MergeText(const std::string& into, const records::MergeReport& report) {
  return FormatPrintable(
      "{}: {}, {} added, {} known; all {} are in {}, SHA-256 {} of both{}\n", report.path,
      Counted(report.trials, "trial"), report.added, report.trials - report.added, report.trials,
      into, report.sha256.substr(0, 16),
      report.refused == 0 ? "" : "; " + Counted(report.refused, "row") + " refused");
}

std::string MergeRefusalsText(const records::MergeReport& report) {
  std::string text;
  for (const std::string& reason : report.reasons) {
    text += FormatPrintable("{}: refused: {}\n", report.path, reason);
  }
  if (const auto more = report.refused - std::ssize(report.reasons); more > 0) {
    text += FormatPrintable("{}: refused: {} more\n", report.path, more);
  }
  return text;
}

Json SplitJson(const std::string& by, const std::vector<records::SplitPart>& parts) {
  Json out = Json::array();
  for (const records::SplitPart& part : parts) {
    out.push_back({{"store", part.path},
                   {"value", part.value},
                   {"trials", part.trials},
                   {"imported", part.imported},
                   {"sha256", part.sha256}});
  }
  return {{"by", by}, {"parts", std::move(out)}};
}

std::string SplitText(const std::string& by, const std::vector<records::SplitPart>& parts,
                      const std::string& folder, int columns) {
  session::TextTable table(
      {{by, false, 16}, {"trials", true}, {"imported", true}, {"store", false, 34}}, columns);
  std::vector<std::string> names;
  for (const records::SplitPart& part : parts) names.push_back(part.value);
  if (by == "target") names = TargetNames(names);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const records::SplitPart& part = parts[i];
    table.AddRow({Printable(names[i]), std::to_string(part.trials), std::to_string(part.imported),
                  Printable(part.path.substr(part.path.rfind('/') + 1))});
  }
  return table.Take() + FormatPrintable("{} in {}\n", Counted(std::ssize(parts), "store"), folder);
}

Json PruneJson(const std::string& store, const records::PruneReport& report, bool dry_run) {
  return {{"store", store},
          {"dry_run", dry_run},
          {"trials", report.trials},
          {"removed", report.removed},
          {"kept_best", report.kept_best},
          {"kept_raced", report.kept_raced},
          {"kept_training", report.kept_training},
          {"kept_unfinished", report.kept_unfinished}};
}

std::string PruneText(const std::string& store, const records::PruneReport& report, bool dry_run) {
  std::string text = FormatPrintable(
      "{}: {} of {} {}removed; kept: {} best, {} of races, {} for training, {} of "
      "unfinished jobs (some are several of these)\n",
      store, report.removed, Counted(report.trials, "trial"), dry_run ? "would be " : "",
      report.kept_best, report.kept_raced, report.kept_training, report.kept_unfinished);
  if (!dry_run && report.removed > 0) {
    text += FormatPrintable("`tilewright records vacuum {}` releases the space\n", store);
  }
  return text;
}

}  // namespace tilewright::report
