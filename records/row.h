#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "records/sqlite.h"
#include "records/store.h"
#include "records/validation/identity.h"

namespace tilewright {
class TemplateRegistry;
}

namespace tilewright::records {

/// Columns every reader of trials selects, in the order ReadRow expects. Of stores of an older
/// schema: TrialColumnsIn.
inline constexpr std::string_view kTrialColumns =
    "trial.id, trial.job, trial.workload, trial.target, trial.device, trial.epilogue,"
    " trial.template, trial.template_version, trial.codegen_version, trial.config, trial.outcome,"
    " trial.reason, trial.metric, trial.value, trial.noise, trial.samples, trial.verified,"
    " trial.max_abs_error, trial.build_seconds, trial.run_seconds, trial.attempt, trial.finished,"
    " trial.quiet, trial.predicted, trial.others";
/// How many they are: what a statement selects beside them comes after.
inline constexpr int kTrialColumnCount = 25;
/// kTrialColumns, with what stands for the columns that the attached database `schema` has not.
Result<std::string> TrialColumnsIn(const Database& db, std::string_view schema);

/// SQL: 1 for a trial that Trial::disturbed says of, else 0. A sample takes eight bytes.
inline constexpr std::string_view kNoisySql =
    "(trial.quiet >= 0 AND trial.quiet * length(trial.samples) <"
    " min(32.0, length(trial.samples) / 2.0) - 1e-5)";

/// Whether a trial answers instead of one that was measured in noise: it was measured later, in
/// quiet, and is not slower by more than a quarter.
bool ReplacesNoisy(const Trial& trial, const Trial& noisy);
/// Noise makes nothing faster: what is slower by more is a slower kernel.
inline constexpr double kMaxSlowerOfQuieter = 1.25;

/// Parsed forms of the texts kept once per store, by their number. Rows of one task share them, so
/// reading a row parses its config only.
class TextCache {
 public:
  /// schema: of the attached database whose texts they are.
  explicit TextCache(std::string schema = "main") : schema_(std::move(schema)) {}
  Result<const Workload*> WorkloadOf(const Database& db, std::int64_t id);
  Result<const Target*> TargetOf(const Database& db, std::int64_t id);
  Result<const DeviceFingerprint*> DeviceOf(const Database& db, std::int64_t id);
  Result<const Epilogue*> EpilogueOf(const Database& db, std::int64_t id);

 private:
  std::string schema_;
  // Their values stay where they are: pointers to them are handed out.
  std::unordered_map<std::int64_t, Workload> workloads_;
  std::unordered_map<std::int64_t, Target> targets_;
  std::unordered_map<std::int64_t, DeviceFingerprint> devices_;
  std::unordered_map<std::int64_t, Epilogue> epilogues_;
};

/// The record in the statement's current row, whose first columns are kTrialColumns.
/// Errors: kCorrupt if a text in it does not parse, or a column has the wrong type.
Result<Record> ReadRow(const Database& db, const Statement& row, TextCache& cache);

/// What else a run said, as it is stored: JSON, empty if there is nothing.
std::string ExtraMetricsJson(const std::map<std::string, double>& others);
/// Back from the text. Errors: kCorrupt for what is none, or a value that is not positive.
Result<std::map<std::string, double>> ParseExtraMetrics(std::string_view text);

/// True if a kernel of this template and these versions is what would be made today.
bool VersionsAreCurrent(const TemplateRegistry& templates, std::string_view template_key,
                        std::int64_t template_version, std::int64_t codegen_version);

}  // namespace tilewright::records
