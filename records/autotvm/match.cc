// AutoTVM's "apply history best" on the imported records of a store.
//
// AutoTVM keeps two tables: by (model, workload) and by (key, workload), each with the record of
// lowest cost, the first of equals. Here an index returns the best record of each (workload,
// target), and the few targets of a workload are compared by model and key.

#include "records/autotvm/match.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "records/autotvm/tuple.h"
#include "records/sqlite.h"

namespace tilewright::records {
namespace {

constexpr std::size_t kNearest = 3;

/// Tasks that a compiler may request in addition to those with known spaces.
constexpr std::array<std::string_view, 10> kOtherTasks = {
    "batch_matmul.x86",       "conv2d_NCHWc_int8.cuda",
    "conv2d_NCHWc_int8.x86",  "conv2d_cudnn.cuda",
    "dense_int8.cuda",        "dense_large_batch.gpu",
    "dense_pack.x86",         "depthwise_conv2d_NCHWc.x86",
    "group_conv2d_nchw.cuda", "dense_small_batch.cuda",
};

/// Set of records that a query searches: one AutoTVM context.
struct Layer {
  std::string condition;  // SQL condition on imported_source
  std::string parameter;  // ?3 of the condition; may be empty
  std::string name;       // for the explanation
};

/// Returns the package for a name in a target (reference, section 10); usually the same name.
std::string_view PackageOfName(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kAliases = {
      {{"vtacpu", "vta"},
       {"vulkan", "opencl"},
       {"webgpu", "opencl"},
       {"metal", "opencl"},
       {"nvptx", "cuda"}}};
  for (const auto& [alias, package] : kAliases) {
    if (alias == name) return package;
  }
  return name;
}

Result<std::vector<std::string>> PackagesIn(const Database& db) {
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(db, "SELECT DISTINCT package FROM imported_source ORDER BY 1"));
  std::vector<std::string> packages;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return packages;
    packages.emplace_back(query.Text(0));
  }
}

Result<std::vector<Layer>> LayersOf(const Database& db, const AutotvmTarget& target,
                                    const std::string& package) {
  TW_ASSIGN_OR_RETURN(auto packages, PackagesIn(db));
  const auto has = [&packages](std::string_view name) {
    return std::ranges::count(packages, name) > 0;
  };
  const std::string one = "imported_source.package = ?3";
  if (!package.empty()) {
    if (has(package)) return std::vector<Layer>{{one, package, "package " + package}};
    std::string known;
    for (const std::string& name : packages) known += (name.empty() ? "" : " " + name);
    return NotFound("package '" + package + "': the store has no records of it, expected one of:" +
                    (known.empty() ? " (none)" : known));
  }
  std::vector<Layer> layers;
  if (has("")) layers.push_back({one, "", "imported logs"});
  std::vector<std::string> names = {target.device()};
  for (std::string& key : target.keys()) names.push_back(std::move(key));
  names.push_back(target.kind());
  for (const std::string& name : names) {
    const std::string_view found = PackageOfName(name);
    if (found.empty() || !has(found)) continue;
    layers.push_back({one, std::string(found), "package " + std::string(found)});
    return layers;
  }
  if (std::ranges::any_of(packages, [](const std::string& name) { return !name.empty(); })) {
    layers.push_back({"imported_source.package <> ?3", "", "all imported packages"});
  }
  return layers;
}

/// Best record of one target of a task.
struct Reading {
  ImportedRecord record;
  AutotvmTarget target;
};

Result<std::vector<Reading>> CandidatesOf(const Database& db, std::int64_t task,
                                          const Layer& layer) {
  TW_ASSIGN_OR_RETURN(
      auto targets,
      Statement::Prepare(db, "SELECT DISTINCT target FROM imported WHERE task = ?1 AND error = 0"));
  targets.Bind(1, task);
  constexpr std::string_view kFinite = " AND imported.cost > 0 AND imported.cost < 1e300";
  TW_ASSIGN_OR_RETURN(
      auto best,
      Statement::Prepare(
          db, "SELECT " + std::string(ImportedColumns()) + std::string(ImportedTables()) +
                  "WHERE imported.task = ?1 AND imported.target = ?2 AND imported.error = 0 AND " +
                  layer.condition + std::string(kFinite) + " ORDER BY imported.cost, imported.id"));
  std::vector<Reading> candidates;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, targets.Step());
    if (!row) return candidates;
    best.Bind(1, task).Bind(2, targets.Int(0)).Bind(3, layer.parameter);
    while (true) {
      TW_ASSIGN_OR_RETURN(auto found, best.Step());
      if (!found) break;
      ImportedRecord record = ReadImported(best);
      auto target = AutotvmTarget::Parse(record.target);
      if (!target.ok()) break;
      // Imported by an earlier version, or forged.
      if (!InvalidImportReason(record).empty()) continue;
      candidates.push_back({std::move(record), *std::move(target)});
      break;
    }
    best.Reset();
  }
}

/// Returns the cheapest candidate that `accepts`, the first imported among equals; null if there is
/// none.
template <typename Accepts>
const Reading* Cheapest(const std::vector<Reading>& candidates, Accepts accepts) {
  const Reading* best = nullptr;
  for (const Reading& candidate : candidates) {
    if (!accepts(candidate.target)) continue;
    const auto rank = [](const Reading& c) { return std::pair(c.record.cost, c.record.id); };
    if (best == nullptr || rank(candidate) < rank(*best)) best = &candidate;
  }
  return best;
}

struct Match {
  const Reading* candidate = nullptr;
  std::string by;
};

Match MatchOf(const std::vector<Reading>& candidates, const AutotvmTarget& target) {
  if (const std::string model = target.model(); model != "unknown") {
    const Reading* found =
        Cheapest(candidates, [&model](const AutotvmTarget& t) { return t.model() == model; });
    if (found != nullptr) return {found, "model"};
  }
  for (const std::string& key : target.keys()) {
    const Reading* found = Cheapest(candidates, [&key](const AutotvmTarget& t) {
      const std::vector<std::string> keys = t.keys();
      return std::ranges::count(keys, key) > 0;
    });
    if (found != nullptr) return {found, "key:" + key};
  }
  return {};
}

/// Returns the differing options of the record's target and the query's.
std::vector<Difference> Differences(const AutotvmTarget& record, const AutotvmTarget& query) {
  std::vector<Difference> differs;
  AddDifference("kind", record.kind(), query.kind(), differs);
  AddDifference("model", record.model(), query.model(), differs);
  for (const char* option : {"device", "mcpu", "mattr", "mtriple", "arch"}) {
    AddDifference(option, record.target.Option(option), query.target.Option(option), differs);
  }
  return differs;
}

/// Returns the sum of |log2| over the numbers of two argument trees; infinity if their kinds
/// differ.
double ValueDistance(const AutotvmValue& a, const AutotvmValue& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size() || a.text != b.text) return HUGE_VAL;
  if (a.is(AutotvmValue::Kind::kInt)) {
    const auto size = [](std::int64_t n) { return 1 + std::abs(static_cast<double>(n)); };
    return std::abs(std::log2(size(a.integer) / size(b.integer)));
  }
  double distance = 0;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    distance += ValueDistance(a.items[i], b.items[i]);
  return distance;
}

Result<std::vector<std::string>> NearestTasks(const Database& db, const AutotvmTask& task) {
  TW_ASSIGN_OR_RETURN(auto query,
                      Statement::Prepare(db, "SELECT tuple FROM imported_task WHERE name = ?1"));
  query.Bind(1, task.name);
  const AutotvmValue args = AutotvmValue::List(task.args);
  std::vector<std::pair<double, std::string>> found;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) break;
    auto other = AutotvmTask::Parse(query.Text(0));
    if (!other.ok()) return Corrupt("imported task: " + other.status().message());
    if (other->tuple == task.tuple) continue;
    const double distance = ValueDistance(args, AutotvmValue::List(other->args));
    if (distance < HUGE_VAL) found.emplace_back(distance, other->tuple);
  }
  std::ranges::sort(found);
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < std::min(kNearest, found.size()); ++i) {
    nearest.push_back(std::move(found[i].second));
  }
  return nearest;
}

/// Returns the targets of a task's records that have a cost, the one with most records first.
Result<ImportedTargets> TargetsOf(const Database& db, const std::string& condition,
                                  std::string_view parameter) {
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(
          db,
          "SELECT imported_target.text, count(*) FROM imported JOIN imported_target ON"
          " imported_target.id = imported.target JOIN imported_task ON imported_task.id ="
          " imported.task WHERE error = 0 AND cost > 0 AND cost < 1e300 AND " +
              condition + " = ?1 GROUP BY 1 ORDER BY 2 DESC, 1"));
  query.Bind(1, parameter);
  ImportedTargets found;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return found;
    found.targets.emplace_back(query.Text(0));
    found.records += query.Int(1);
  }
}

/// Returns "'a', 'b' and 3 more".
std::string ListOf(const std::vector<std::string>& texts) {
  constexpr std::size_t kShown = 3;
  std::string list;
  for (std::size_t i = 0; i < std::min(kShown, texts.size()); ++i) {
    list += (i == 0 ? "'" : ", '") + texts[i] + "'";
  }
  if (texts.size() > kShown) list += " and " + std::to_string(texts.size() - kShown) + " more";
  return list;
}

std::string Explain(const AutotvmAnswer& answer, const Layer& layer) {
  const ImportedRecord& record = *answer.record;
  std::string text = "rule autotvm, " + layer.name + ": lowest recorded cost by " +
                     (answer.matched_by == "model" ? "the target's model" : answer.matched_by) +
                     "; imported from " + record.file + " line " + std::to_string(record.line) +
                     ", measured for '" + record.target + "', not verified here";
  for (std::string_view flag : ImportedFlagNames(record.flags)) text += "; " + std::string(flag);
  if (record.agreement == AutotvmAgreement::kEdited) text += "; edited by hand after tuning";
  return text;
}

Result<std::int64_t> TaskNumber(const Database& db, const AutotvmTask& task) {
  TW_ASSIGN_OR_RETURN(auto query,
                      Statement::Prepare(db, "SELECT id FROM imported_task WHERE tuple = ?1"));
  query.Bind(1, task.tuple);
  TW_ASSIGN_OR_RETURN(auto row, query.Step());
  return row ? query.Int(0) : std::int64_t{-1};
}

}  // namespace

Result<AutotvmAnswer> QueryAutotvm(const Store& store, const AutotvmTask& task,
                                   const AutotvmTarget& target, const std::string& package) {
  const Database& db = Store::DatabaseOf(store);
  TW_ASSIGN_OR_RETURN(auto layers, LayersOf(db, target, package));
  TW_ASSIGN_OR_RETURN(auto number, TaskNumber(db, task));
  AutotvmAnswer answer;
  std::string searched;
  for (const Layer& layer : layers) {
    searched += (searched.empty() ? "" : ", then ") + layer.name;
    if (number < 0) continue;
    TW_ASSIGN_OR_RETURN(auto candidates, CandidatesOf(db, number, layer));
    const Match match = MatchOf(candidates, target);
    if (match.candidate == nullptr) continue;
    answer.record = match.candidate->record;
    answer.matched_by = match.by;
    answer.differs = Differences(match.candidate->target, target);
    answer.explanation = Explain(answer, layer);
    return answer;
  }
  TW_ASSIGN_OR_RETURN(answer.nearest, NearestTasks(db, task));
  TW_ASSIGN_OR_RETURN(auto own, TargetsOf(db, "imported_task.tuple", task.tuple));
  answer.other_targets = std::move(own.targets);
  answer.cause.reason = layers.empty()                 ? MissReason::kNothingImported
                        : answer.other_targets.empty() ? MissReason::kNoRecords
                                                       : MissReason::kOtherTarget;
  answer.cause.detail = ListOf(answer.other_targets);
  answer.explanation =
      "rule autotvm: no imported record of this workload by the model or a key of '" + target.text +
      "'; looked through " + (searched.empty() ? "nothing, as nothing was imported" : searched);
  if (!answer.other_targets.empty()) {
    answer.explanation += "; its records are for " + answer.cause.detail;
  }
  for (std::size_t i = 0; i < answer.nearest.size(); ++i) {
    answer.explanation += (i == 0 ? "; nearest with records: " : ", ") + answer.nearest[i];
  }
  return answer;
}

Result<ImportedTargets> ImportedTargetsOf(const Store& store, const Workload& workload) {
  return TargetsOf(Store::DatabaseOf(store), "imported_task.workload",
                   StripForAutotvm(workload).Key());
}

std::vector<std::string> AutotvmTaskNames(const Workload& workload, const AutotvmTarget& target) {
  // Families of templates for the target's device or, if it has none, for its kind.
  const std::vector<std::string> keys = target.keys();
  const auto has = [&keys](std::string_view key) { return std::ranges::count(keys, key) > 0; };
  std::vector<std::string_view> families;
  if (has("vta")) families.push_back(".vta");
  if (has("arm_cpu")) families.push_back(".arm_cpu");
  if (has("mali")) families.push_back(".mali");
  if (has("intel_graphics")) families.push_back(".intel_graphics");
  if (has("adreno")) families.push_back(".image2d");
  if (has("gpu") && !has("mali")) families.insert(families.end(), {".cuda", ".gpu"});
  if (has("cpu") && !has("arm_cpu") && !has("vta")) families.push_back(".x86");
  std::vector<std::string_view> known = AutotvmTemplates();
  known.insert(known.end(), kOtherTasks.begin(), kOtherTasks.end());
  std::vector<std::string> names;
  for (std::string_view name : known) {
    const std::string_view family = name.substr(name.rfind('.'));
    const bool offered = std::ranges::count(families, family) > 0;
    if (offered && AutotvmTuple(StripForAutotvm(workload), name).ok()) names.emplace_back(name);
  }
  return names;
}

Result<AutotvmAnswer> QueryAutotvm(const Store& store, const Workload& workload,
                                   const AutotvmTarget& target, const std::string& package,
                                   std::optional<AutotvmTask>& task) {
  std::optional<AutotvmAnswer> best;
  task.reset();
  for (const std::string& name : AutotvmTaskNames(workload, target)) {
    TW_ASSIGN_OR_RETURN(auto tuple, AutotvmTuple(StripForAutotvm(workload), name));
    TW_ASSIGN_OR_RETURN(auto asked, AutotvmTask::Parse(tuple));
    TW_ASSIGN_OR_RETURN(auto answer, QueryAutotvm(store, asked, target, package));
    const bool better =
        !best.has_value() ||
        (answer.record.has_value()
             ? !best->record.has_value() || answer.record->cost < best->record->cost
             : !best->record.has_value() && answer.cause.reason < best->cause.reason);
    if (!better) continue;
    best = std::move(answer);
    task = std::move(asked);
  }
  if (!best.has_value()) {
    return Unsupported("AutoTVM has no template for " + workload.Key() + " on '" + target.text +
                       "'");
  }
  return *std::move(best);
}

}  // namespace tilewright::records
