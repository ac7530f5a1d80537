#include "python_free_cli/record_sources.h"

#include <CLI/CLI.hpp>
#include <cmath>

#include "python_free_cli/print.h"
#include "src/session/format.h"

namespace tilewright::cli {

void DeclareTrust(CLI::App& app, session::TrustOptions& trust) {
  app.add_option("--key", trust.keys, "Public key file to trust as well (FILE.pub)");
  app.add_flag("--allow-unsigned", trust.allow_unsigned, "Take packages without a signature too");
}

void RecordArguments::Declare(CLI::App& app, const std::string& accept_default) {
  accept = accept_default;
  app.add_option("--records", stores,
                 "Record stores, asked in order (default: the user's own, if there is one)");
  app.add_option("--package", packages, "Package files, asked before the installed packages");
  app.add_flag("--no-packages", no_packages, "Do not ask the installed packages");
  app.add_option("--accept", accept, "How far down an answer may be")
      ->check(CLI::IsMember({"hit", "near", "model", "default"}))
      ->capture_default_str();
  app.add_option("--rule", rule, "How records are chosen: own, or autotvm for imported ones")
      ->check(CLI::IsMember({"own", "autotvm"}))
      ->capture_default_str();
  app.add_option("--tophub", tophub, "With --rule autotvm: only this TopHub package");
  app.add_option("--model", model_file,
                 "Cost model that chooses configs where no record serves, or none (default: the "
                 "shipped one)");
  app.add_option("--prefer", prefer,
                 "Of records that know several metrics take the least of one, such as dram_bytes, "
                 "or within a limit: cycles,dram_bytes<=15.3MB");
  DeclareTrust(app, trust);
}

void PrintAnswer(const Workload* workload, const std::string& name,
                 const records::CatalogAnswer& answer, bool whole) {
  const std::string_view kind = records::AnswerLevelName(answer.level);
  const std::string shown = workload != nullptr ? session::ShortName(*workload) : name;
  const auto& record = answer.answer.record;
  const double seconds = answer.CostSeconds(workload);
  if (const Candidate* candidate = answer.candidate()) {
    const std::string cost = record.has_value()
                                 ? session::ShortValue(record->trial.metric, record->trial.value)
                             : std::isfinite(seconds) ? session::ShortSeconds(seconds)
                                                      : "-";
    PrintOut("{:<38} {:<8} {:>10}  {} #{}\n", shown, kind, cost, candidate->template_key,
             candidate->config.index);
    if (whole) {
      PrintOut("  config    {}\n  source    {}\n", candidate->config.ToString(), answer.source);
    }
    if (whole && record.has_value()) {
      PrintOut("  record    {}\n  device    {}\n  measured  {}\n", record->id,
               record->trial.device.model, records::UtcText(record->trial.finished_unix_seconds));
    }
    if (const records::ImportedRecord* imported = answer.imported(); whole && imported != nullptr) {
      PrintOut("  record    {} line {}, not verified\n  measured  {}\n", imported->file,
               imported->line, records::UtcText(imported->finished));
    }
  } else {
    PrintOut("{:<38} {:<8}\n", shown, kind);
  }
  if (whole || answer.level != records::AnswerLevel::kHit || answer.imported() != nullptr ||
      !answer.answer.skipped_record.empty()) {
    PrintOut("  {}\n", answer.answer.explanation);
  }
}

}  // namespace tilewright::cli
