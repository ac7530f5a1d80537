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

/// Columns that every reader of trials selects, in the order that ReadRow expects. For stores of an
/// older schema see TrialColumnsIn.
inline constexpr std::string_view kTrialColumns =
    "trial.id, trial.job, trial.workload, trial.target, trial.device, trial.epilogue,"
    " trial.template, trial.template_version, trial.codegen_version, trial.config, trial.outcome,"
    " trial.reason, trial.metric, trial.value, trial.noise, trial.samples, trial.verified,"
    " trial.max_abs_error, trial.build_seconds, trial.run_seconds, trial.attempt, trial.finished,"
    " trial.quiet, trial.predicted, trial.others";
/// Number of those columns; additional columns of a statement follow them.
inline constexpr int kTrialColumnCount = 25;
/// Returns kTrialColumns with substitutes for the columns that the attached database `schema`
/// lacks.
Result<std::string> TrialColumnsIn(const Database& db, std::string_view schema);

/// SQL: 1 for a trial for which Trial::noisy is true, else 0. A sample has eight bytes.
inline constexpr std::string_view kNoisySql =
    "(trial.quiet >= 0 AND trial.quiet * length(trial.samples) <"
    " min(32.0, length(trial.samples) / 2.0) - 1e-5)";

/// Returns true if a trial replaces a noisy one as result: it was measured later, is not noisy, and
/// is slower by at most a quarter.
bool ReplacesNoisy(const Trial& trial, const Trial& noisy);
/// Noise only adds time: a trial that is slower by more has a slower kernel.
inline constexpr double kMaxSlowerOfQuieter = 1.25;

/// Parsed texts of a store, by their number. Rows of one task share them, so that reading a row
/// parses only its config.
class TextCache {
 public:
  /// schema: of the attached database that contains the texts.
  explicit TextCache(std::string schema = "main") : schema_(std::move(schema)) {}
  Result<const Workload*> WorkloadOf(const Database& db, std::int64_t id);
  Result<const Target*> TargetOf(const Database& db, std::int64_t id);
  Result<const DeviceFingerprint*> DeviceOf(const Database& db, std::int64_t id);
  Result<const Epilogue*> EpilogueOf(const Database& db, std::int64_t id);

 private:
  std::string schema_;
  // std::unordered_map keeps its values in place: callers hold pointers to them.
  std::unordered_map<std::int64_t, Workload> workloads_;
  std::unordered_map<std::int64_t, Target> targets_;
  std::unordered_map<std::int64_t, DeviceFingerprint> devices_;
  std::unordered_map<std::int64_t, Epilogue> epilogues_;
};

/// Reads the record in the statement's current row, whose first columns are kTrialColumns.
/// Errors: kCorrupt if a text does not parse, or a column has the wrong type.
Result<Record> ReadRow(const Database& db, const Statement& row, TextCache& cache);

/// Returns the additional metrics of a trial as stored: JSON, empty if there are none.
std::string ExtraMetricsJson(const std::map<std::string, double>& others);
/// Parses that text.
/// Errors: kCorrupt for invalid text, or a value that is not positive.
Result<std::map<std::string, double>> ParseExtraMetrics(std::string_view text);

/// Returns true if today's template and code generator would build the same kernel.
bool VersionsAreCurrent(const TemplateRegistry& templates, std::string_view template_key,
                        std::int64_t template_version, std::int64_t codegen_version);

}  // namespace tilewright::records
