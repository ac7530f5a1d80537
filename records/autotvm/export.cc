// Writes trials as lines of an AutoTVM log. A trial whose workload or config AutoTVM cannot express
// is counted by reason; with `best`, the fastest trial that it can express is written instead.

#include "records/autotvm/export.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "records/autotvm/log_line.h"
#include "records/autotvm/space.h"
#include "records/autotvm/task.h"
#include "records/autotvm/tuple.h"
#include "records/imported.h"
#include "records/row.h"
#include "records/sqlite.h"
#include "src/base/json.h"
#include "src/templates/registry.h"

namespace tilewright::records {
namespace {

using Write = std::function<Status(std::string_view)>;

/// Formats a number as Python's JSON writer does: the shortest digits that parse to the same value,
/// in positional notation from 1e-4 to 1e16, and always with a point or an exponent, so that Python
/// reads a float.
std::string JsonNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  const double size = std::abs(value);
  const bool positional = value == 0 || (size >= 1e-4 && size < 1e16);
  const auto format = positional ? std::chars_format::fixed : std::chars_format::scientific;
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value, format);
  TW_CHECK(error == std::errc());
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string JsonString(std::string_view text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// Contents of one line.
struct OutLine {
  std::string target, task;
  std::string args;  // JSON
  std::int64_t index = 0;
  std::string code_hash, entities;  // entities: JSON in AutoTVM's spelling
  std::vector<double> costs;
  std::int64_t error = 0;
  double all_cost = 0, finished = 0;
  std::string tvm_version;
};

std::string LineText(const OutLine& line) {
  std::string costs;
  for (double cost : line.costs) costs += (costs.empty() ? "" : ", ") + JsonNumber(cost);
  return "{\"input\": [" + JsonString(line.target) + ", " + JsonString(line.task) + ", " +
         line.args + ", {}], \"config\": {\"index\": " + std::to_string(line.index) +
         ", \"code_hash\": " + (line.code_hash.empty() ? "null" : JsonString(line.code_hash)) +
         ", \"entity\": " + line.entities + "}, \"result\": [[" + costs + "], " +
         std::to_string(line.error) + ", " + JsonNumber(line.all_cost) + ", " +
         JsonNumber(line.finished) +
         "], \"version\": 0.2, \"tvm_version\": " + JsonString(line.tvm_version) + "}";
}

// ---- Imported records

/// Model and keys of a stored target.
struct Matching {
  std::string model;
  std::vector<std::string> keys;
};

Result<std::map<std::int64_t, Matching>> MatchingOfTargets(const Database& db) {
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(db, "SELECT id, text FROM imported_target"));
  std::map<std::int64_t, Matching> all;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return all;
    auto target = AutotvmTarget::Parse(query.Text(1));
    if (!target.ok()) return Corrupt("imported target: " + target.status().message());
    all[query.Int(0)] = {target->model(), target->keys()};
  }
}

/// Returns the numbers of the records that pick-best keeps, ascending.
Result<std::vector<std::int64_t>> BestImported(const Database& db) {
  TW_ASSIGN_OR_RETURN(auto targets, MatchingOfTargets(db));
  TW_ASSIGN_OR_RETURN(
      auto query, Statement::Prepare(
                      db,
                      "SELECT imported.id, imported.task, imported.target, "
                      "imported_source.package, imported.cost"
                      " FROM imported JOIN imported_source ON imported_source.id = imported.source"
                      " WHERE error = 0 AND cost < 1e300 ORDER BY imported.task, imported.id"));
  std::vector<std::int64_t> kept;
  // Best records of the current task: the cheapest by package and model or key.
  std::map<std::pair<std::string, std::string>, std::pair<double, std::int64_t>> best;
  std::int64_t task = -1;
  const auto flush = [&] {
    for (const auto& [key, record] : best) kept.push_back(record.second);
    best.clear();
  };
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) break;
    if (query.Int(1) != task) flush();
    task = query.Int(1);
    const std::pair record(query.Real(4), query.Int(0));
    const std::string package(query.Text(3));
    const auto enter = [&](const std::string& key) {
      const auto [place, is_new] = best.try_emplace({package, key}, record);
      if (!is_new && record.first < place->second.first) place->second = record;
    };
    const Matching& matching = targets[query.Int(2)];
    if (matching.model != "unknown") enter("model " + matching.model);
    for (const std::string& key : matching.keys) enter("key " + key);
  }
  flush();
  std::ranges::sort(kept);
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

Result<OutLine> LineOf(const ImportedRecord& record) {
  const std::string what = "imported record " + std::to_string(record.id) + ": ";
  if (std::string why = InvalidImportReason(record); !why.empty()) return Corrupt(what + why);
  auto task = AutotvmTask::Parse(record.tuple);
  if (!task.ok()) return Corrupt(what + task.status().message());
  LogLine entities;
  if (const Status read = ParseEntities(record.entities, entities); !read.ok()) {
    return Corrupt(what + read.message());
  }
  OutLine line{record.target,   record.task,       JsonText(AutotvmValue::List(task->args)),
               record.index,    record.code_hash,  {},
               record.costs,    record.error,      record.all_cost,
               record.finished, record.tvm_version};
  entities.AppendEntities(line.entities, LogLine::Style::kSpaced);
  if (record.agreement == AutotvmAgreement::kEdited) {
    auto target = AutotvmTarget::Parse(record.target);
    if (!target.ok()) return Corrupt(what + target.status().message());
    entities.index = record.index;
    AutotvmTaskSpaces spaces(task->name, task->args, target->target);
    const AutotvmCheck check = spaces.Check(entities);
    if (check.index >= 0) line.index = check.index;
  }
  return line;
}

Status ExportImported(const Store& store, const AutotvmExportOptions& options, const Write& write,
                      AutotvmExportReport& exported) {
  const Database& db = Store::DatabaseOf(store);
  const auto put = [&](const ImportedRecord& record) -> Status {
    if (!options.selection.Includes(record)) return {};
    TW_ASSIGN_OR_RETURN(auto line, LineOf(record));
    ++exported.imported;
    return write(LineText(line));
  };
  if (!options.best) return ForEachImported(store, put);
  TW_ASSIGN_OR_RETURN(auto kept, BestImported(db));
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(db, "SELECT " + std::string(ImportedColumns()) +
                                 std::string(ImportedTables()) + "WHERE imported.id = ?1"));
  for (std::int64_t id : kept) {
    query.Bind(1, id);
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (row) TW_RETURN_IF_ERROR(put(ReadImported(query)));
    query.Reset();
  }
  return {};
}

// ---- Trials

/// Returns the target with only the options that TVM's parser supports; it rejects others.
std::string TvmTarget(const Target& target) {
  static constexpr std::array<std::string_view, 11> kKnown = {
      "keys",    "device", "model", "libs",       "tag",       "mcpu",
      "mtriple", "mattr",  "arch",  "mfloat-abi", "system-lib"};
  std::string text = target.kind_name();
  for (const auto& [name, value] : target.options()) {
    if (std::ranges::count(kKnown, name) > 0) text += " -" + name + "=" + value;
  }
  return text;
}

std::string_view KindText(KnobKind kind) {
  constexpr std::array<std::string_view, 4> kTexts = {"sp", "re", "an", "ot"};
  return kTexts[static_cast<std::size_t>(kind)];
}

/// Errors: kUnsupported with the reason why AutoTVM cannot express the trial.
Result<OutLine> LineOf(const TemplateRegistry& templates, const Trial& trial) {
  const Candidate& c = trial.candidate;
  const TemplateEntry* entry = templates.Find(c.template_key);
  if (entry == nullptr) return Unsupported("unknown template");
  auto tuple = AutotvmTuple(c.task.workload, c.template_key);
  if (!tuple.ok()) {
    return IsAutotvmTask(c.template_key)
               ? tuple.status()
               : Unsupported("template " + c.template_key + " is none of AutoTVM's");
  }
  TW_ASSIGN_OR_RETURN(auto task, AutotvmTask::Parse(*tuple));
  auto space = entry->define_space(c.task.workload, c.task.target);
  if (!space.ok()) return Unsupported("its space cannot be made again");
  std::string compact = "[";
  for (const Knob& knob : space->knobs()) {
    const KnobValue* value = c.config.Find(knob.name());
    if (value == nullptr) return Unsupported("its config lacks knob " + knob.name());
    compact += compact.size() > 1 ? "," : "";
    compact += "[\"" + knob.name() + "\",\"" + std::string(KindText(knob.kind())) + "\"," +
               value->ToString() + "]";
  }
  compact += "]";
  LogLine entities;
  TW_RETURN_IF_ERROR(ParseEntities(compact, entities));
  OutLine line{TvmTarget(c.task.target),
               task.name,
               JsonText(AutotvmValue::List(task.args)),
               c.config.index,
               {},
               {},
               {trial.value},
               0,
               trial.build_seconds + trial.run_seconds,
               trial.finished_unix_seconds,
               "tilewright"};
  entities.AppendEntities(line.entities, LogLine::Style::kSpaced);
  AutotvmTaskSpaces spaces(task.name, task.args, c.task.target);
  // The index counts as in TVM since 2020-04, if that edition differs.
  for (const AutotvmEdition edition : {AutotvmEdition::kPackages, AutotvmEdition::kVerbose}) {
    const std::int64_t index = spaces.IndexOf(entities, edition);
    if (index >= 0) line.index = index;
  }
  return line;
}

constexpr std::string_view kExported =
    "outcome = 0 AND verified = 1 AND metric = 'seconds' AND value > 0 AND value < 9e999";

Status ExportTrials(const TemplateRegistry& templates, const Store& store,
                    const Selection& selection, const Write& write, AutotvmExportReport& exported) {
  const Database& db = Store::DatabaseOf(store);
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(db, "SELECT " + std::string(kTrialColumns) + " FROM trial WHERE " +
                                 std::string(kExported) + " ORDER BY trial.rowid"));
  TextCache texts;
  Record record;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return {};
    const bool current = VersionsAreCurrent(templates, query.Text(6), query.Int(7), query.Int(8));
    if (current || !selection.all()) {
      TW_ASSIGN_OR_RETURN(record, ReadRow(db, query, texts));
      if (!selection.Includes(record.trial.candidate)) continue;
    }
    if (!current) {
      ++exported.left["made by another version of template or code generator"];
      continue;
    }
    auto line = LineOf(templates, record.trial);
    if (!line.ok()) {
      ++exported.left[line.status().message()];
      continue;
    }
    ++exported.trials;
    TW_RETURN_IF_ERROR(write(LineText(*line)));
  }
}

/// Returns the served trial of a workload and a target: the fastest over the devices of its
/// measurements. None: no trial is served.
Result<std::optional<Trial>> ServedFor(const TemplateRegistry& templates, const Store& store,
                                       const Workload& workload, const Target& target,
                                       const std::vector<DeviceFingerprint>& devices) {
  std::optional<Trial> served;
  for (const DeviceFingerprint& device : devices) {
    TW_ASSIGN_OR_RETURN(auto answer, store.Query(templates, workload, target, device));
    if (answer.kind != AnswerKind::kHit || !answer.record.has_value()) continue;
    const Trial& trial = answer.record->trial;
    if (!served.has_value() || trial.value < served->value) served = trial;
  }
  return served;
}

/// Writes the fastest trial of a task that AutoTVM can express; noisy trials are treated as in a
/// query. Returns its seconds, 0 if there is none. fastest_first: its two parameters are the
/// numbers of the workload and of the target.
Result<double> WriteFallback(const TemplateRegistry& templates, const Database& db,
                             Statement& fastest_first, std::int64_t workload, std::int64_t target,
                             const Write& write, TextCache& texts) {
  fastest_first.Bind(1, workload).Bind(2, target);
  std::optional<std::pair<Trial, OutLine>> chosen;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, fastest_first.Step());
    if (!row) break;
    if (!VersionsAreCurrent(templates, fastest_first.Text(6), fastest_first.Int(7),
                            fastest_first.Int(8))) {
      continue;
    }
    TW_ASSIGN_OR_RETURN(auto record, ReadRow(db, fastest_first, texts));
    if (chosen && !ReplacesNoisy(record.trial, chosen->first)) continue;
    auto line = LineOf(templates, record.trial);
    if (!line.ok()) continue;
    chosen.emplace(record.trial, *std::move(line));
    if (!chosen->first.noisy()) break;
  }
  fastest_first.Reset();
  if (!chosen) return 0.0;
  TW_RETURN_IF_ERROR(write(LineText(chosen->second)));
  return chosen->first.value;
}

/// Workload and target with trials, and the devices of their measurements.
struct ExportedTask {
  std::int64_t workload, target;
  std::vector<std::int64_t> devices;
};

Result<std::vector<ExportedTask>> TasksWithTrials(const Database& db) {
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(db, "SELECT workload, target, device FROM trial WHERE " +
                                 std::string(kExported) +
                                 " GROUP BY workload, target, device ORDER BY min(rowid)"));
  std::vector<ExportedTask> tasks;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> places;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return tasks;
    const std::pair task(query.Int(0), query.Int(1));
    const auto [place, is_new] = places.try_emplace(task, tasks.size());
    if (is_new) tasks.push_back({task.first, task.second, {}});
    tasks[place->second].devices.push_back(query.Int(2));
  }
}

/// Writes one line for each workload and target: the served trial. If AutoTVM cannot express it,
/// reports the winner and writes the fastest trial that AutoTVM can express.
Status ExportBestTrials(const TemplateRegistry& templates, const Store& store,
                        const Selection& selection, const Write& write,
                        AutotvmExportReport& exported) {
  const Database& db = Store::DatabaseOf(store);
  TW_ASSIGN_OR_RETURN(auto tasks, TasksWithTrials(db));
  TW_ASSIGN_OR_RETURN(
      auto fastest_first,
      Statement::Prepare(
          db, "SELECT " + std::string(kTrialColumns) + " FROM trial WHERE " +
                  std::string(kExported) +
                  " AND trial.workload = ?1 AND trial.target = ?2 ORDER BY trial.id NOT IN (SELECT"
                  " best.trial FROM best), trial.value, trial.config_index"));
  TextCache texts;
  for (const ExportedTask& task : tasks) {
    TW_ASSIGN_OR_RETURN(auto workload, texts.WorkloadOf(db, task.workload));
    TW_ASSIGN_OR_RETURN(auto target, texts.TargetOf(db, task.target));
    std::vector<DeviceFingerprint> devices;
    for (const std::int64_t number : task.devices) {
      TW_ASSIGN_OR_RETURN(auto device, texts.DeviceOf(db, number));
      devices.push_back(*device);
    }
    TW_ASSIGN_OR_RETURN(auto served, ServedFor(templates, store, *workload, *target, devices));
    const Candidate asked{{*workload, *target}, {}, {}, 0, {}};
    if (!selection.Includes(served.has_value() ? served->candidate : asked)) continue;
    if (!served.has_value()) {
      ++exported.left["no trial of the task may be served today"];
      continue;
    }
    auto line = LineOf(templates, *served);
    if (line.ok()) {
      ++exported.trials;
      TW_RETURN_IF_ERROR(write(LineText(*line)));
      continue;
    }
    TW_ASSIGN_OR_RETURN(auto seconds, WriteFallback(templates, db, fastest_first, task.workload,
                                                    task.target, write, texts));
    exported.trials += seconds > 0 ? 1 : 0;
    exported.skipped_winners.push_back({workload->Key(), target->ToString(),
                                        served->candidate.template_key, served->value,
                                        line.status().message(), seconds});
  }
  return {};
}

}  // namespace

Result<AutotvmExportReport> ExportAutotvm(const TemplateRegistry& templates, const Store& store,
                                          const AutotvmExportOptions& options, const Write& write) {
  AutotvmExportReport exported;
  if (options.imported) {
    TW_RETURN_IF_ERROR(ExportImported(store, options, write, exported));
  }
  if (options.trials) {
    const auto export_trials = options.best ? &ExportBestTrials : &ExportTrials;
    TW_RETURN_IF_ERROR(export_trials(templates, store, options.selection, write, exported));
  }
  return exported;
}

}  // namespace tilewright::records
