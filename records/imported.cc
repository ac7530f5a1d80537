#include "records/imported.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "records/autotvm/digest.h"
#include "records/autotvm/log_line.h"
#include "records/autotvm/task.h"
#include "records/sqlite.h"
#include "records/validation/digest.h"
#include "records/validation/row_validator.h"
#include "records/validation/rules.h"
#include "src/base/math.h"
#include "src/templates/registry.h"

namespace tilewright::records {

namespace {

struct FlagName {
  std::string_view name, text;
};
/// In the order of the bits.
constexpr std::array<FlagName, 9> kFlagNames = {{
    {"unreachable", "no compiler asks for a task with these arguments"},
    {"shared_result", "same times as a record of another workload"},
    {"copy", "copied from a record of another workload, not measured"},
    {"malformed_tensor", "a tensor argument is not a triple"},
    {"products_differ", "splits do not multiply to their axis; recomputed"},
    {"renamed_axes", "tile_rx and tile_ry are spelt as before 2019"},
    {"format_0.1", "converted from log format 0.1"},
    {"filtered", "the config breaks a condition of its template"},
    {"no_cost", "no finite time; never served"},
}};

}  // namespace

std::vector<std::string_view> ImportedFlagNames(std::int64_t flags) {
  std::vector<std::string_view> names;
  for (std::size_t bit = 0; bit < kFlagNames.size(); ++bit) {
    if ((flags >> bit & 1) != 0) names.push_back(kFlagNames[bit].name);
  }
  return names;
}

std::string_view ImportedFlagText(std::string_view name) {
  const auto* const flag = std::ranges::find(kFlagNames, name, &FlagName::name);
  return flag == kFlagNames.end() ? std::string_view() : flag->text;
}

bool ImportedRecord::trainable() const {
  const bool as_measured =
      agreement == AutotvmAgreement::kExact || agreement == AutotvmAgreement::kExactLegacy;
  return error == 0 && as_measured && (flags & (kImportedCopy | kImportedNoCost)) == 0;
}

std::string InvalidCostsReason(std::span<const double> costs, std::int64_t error, double least) {
  if (error != 0) return {};
  double sum = 0;
  for (const double cost : costs) {
    if (cost <= 0) return fmt::format("a cost of {:.3g} s, expected a positive one", cost);
    sum += cost;
  }
  const double mean = sum / static_cast<double>(std::max<std::size_t>(1, costs.size()));
  if (!(mean < least)) return {};
  return fmt::format("a cost of {:.3g} s, expected at least {:.3g} s: no device does it faster",
                     mean, least);
}

std::string InvalidImportReason(const ImportedRecord& record) {
  auto target = AutotvmTarget::Parse(record.target);
  if (!target.ok()) return target.status().message();
  if (target->canonical != record.canonical_target) return "its target is not spelt as it is";
  auto task = AutotvmTask::Parse(record.tuple);
  if (!task.ok()) return task.status().message();
  const std::string key = task->workload.has_value() ? task->workload->Key() : std::string();
  if (task->name != record.task || key != record.workload_key) {
    return "its task is not what its arguments say";
  }
  const double least =
      task->workload.has_value() ? MinSeconds(*task->workload, target->target) : kMinSeconds;
  if (std::string why = InvalidCostsReason(record.costs, record.error, least); !why.empty())
    return why;
  LogLine line;
  if (const Status read = ParseEntities(record.entities, line); !read.ok()) return read.message();
  line.costs = record.costs;
  line.error = record.error;
  line.timestamp = record.finished;
  const double cost = line.cost();
  if (record.cost != cost && !(std::isnan(cost) && std::isinf(record.cost))) {
    return "its cost is not the mean of its costs";
  }
  std::string same_config;
  line.AppendEntities(same_config, LogLine::Style::kSameConfig);
  // Infinity and NaN are stored as 0.
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const double all_cost :
       {record.all_cost, kInfinite, -kInfinite, std::numeric_limits<double>::quiet_NaN()}) {
    line.all_cost = all_cost;
    LineDigest digest;
    digest.Add(target->canonical);
    digest.AddRecord(task->tuple, same_config, line);
    if (HexText(digest.bytes()) == record.digest) return {};
    if (record.all_cost != 0) break;
  }
  return "its digest is not that of its values: it was changed";
}

Status ForEachInvalidImported(const Database& db, std::string_view schema,
                              const std::function<bool(std::int64_t, const std::string&)>& wrong) {
  const std::string at(schema);
  TW_ASSIGN_OR_RETURN(auto known, QueryInt(db, "SELECT count(*) FROM " + at +
                                                   ".sqlite_schema WHERE name = 'imported'"));
  if (known == 0) return {};  // store of the first version
  // typeof: text in a number column would be read as 0.
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(
          db,
          "SELECT " + std::string(ImportedColumns()) +
              ", typeof(digest) || typeof(line) || typeof(config_index) || typeof(entities) ||"
              " typeof(code_hash) || typeof(costs) || typeof(cost) || typeof(error) ||"
              " typeof(all_cost) || typeof(finished) || typeof(tvm_version) || typeof(agreement) ||"
              " typeof(flags) FROM " +
              at + ".imported JOIN " + at +
              ".imported_task ON imported_task.id = imported.task JOIN " + at +
              ".imported_target ON imported_target.id = imported.target JOIN " + at +
              ".imported_source ON imported_source.id = imported.source ORDER BY imported.id"));
  constexpr int kTypesColumn = kImportedColumnCount;
  constexpr std::string_view kTypes =
      "blobintegerintegertexttextblobrealintegerrealrealtextintegerinteger";
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return {};
    const std::string why = query.Text(kTypesColumn) == kTypes
                                ? InvalidImportReason(ReadImported(query))
                                : "a column has the wrong type";
    if (!why.empty() && !wrong(query.Int(0), why)) return {};
  }
}

std::string_view ImportedColumns() {
  return "imported.id, imported_task.name, imported_task.tuple, imported_task.workload,"
         " imported_target.text, imported_target.canonical, imported_source.file,"
         " imported_source.package, imported.line, imported.config_index, imported.entities,"
         " imported.code_hash, imported.costs, imported.cost, imported.error, imported.all_cost,"
         " imported.finished, imported.tvm_version, imported.agreement, imported.flags,"
         " imported.digest";
}

std::string_view ImportedTables() {
  return " FROM imported JOIN imported_task ON imported_task.id = imported.task"
         " JOIN imported_target ON imported_target.id = imported.target"
         " JOIN imported_source ON imported_source.id = imported.source ";
}

ImportedRecord ReadImported(const Statement& row) {
  ImportedRecord record;
  record.id = row.Int(0);
  record.task = row.Text(1);
  record.tuple = row.Text(2);
  record.workload_key = row.Text(3);
  record.target = row.Text(4);
  record.canonical_target = row.Text(5);
  record.file = row.Text(6);
  record.package = row.Text(7);
  record.line = row.Int(8);
  record.index = row.Int(9);
  record.entities = row.Text(10);
  record.code_hash = row.Text(11);
  const std::string_view costs = row.Bytes(12);
  record.costs.resize(costs.size() / sizeof(double));
  if (!record.costs.empty()) {
    std::memcpy(record.costs.data(), costs.data(), record.costs.size() * sizeof(double));
  }
  record.cost = row.Real(13);
  record.error = row.Int(14);
  record.all_cost = row.Real(15);
  record.finished = row.Real(16);
  record.tvm_version = row.Text(17);
  const std::int64_t agreement = row.Int(18);
  const auto last = static_cast<std::int64_t>(AutotvmAgreement::kOutside);
  if (agreement >= 0 && agreement <= last) {
    record.agreement = static_cast<AutotvmAgreement>(agreement);
  }
  record.flags = row.Int(19);
  record.digest = HexText(row.Bytes(20));
  return record;
}

Status ForEachImported(const Store& store,
                       const std::function<Status(const ImportedRecord&)>& visit) {
  TW_ASSIGN_OR_RETURN(
      auto query, Statement::Prepare(Store::DatabaseOf(store),
                                     "SELECT " + std::string(ImportedColumns()) +
                                         std::string(ImportedTables()) + "ORDER BY imported.id"));
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return {};
    TW_RETURN_IF_ERROR(visit(ReadImported(query)));
  }
}

Result<Config> ConfigOfImported(const ImportedRecord& record) {
  LogLine line;
  if (const Status read = ParseEntities(record.entities, line); !read.ok()) {
    return Corrupt("imported record " + std::to_string(record.id) + ": " + read.message());
  }
  line.index = record.index;
  TW_ASSIGN_OR_RETURN(auto task, AutotvmTask::Parse(record.tuple));
  TW_ASSIGN_OR_RETURN(auto target, AutotvmTarget::Parse(record.target));
  AutotvmTaskSpaces spaces(task.name, task.args, target.target);
  const AutotvmCheck check = spaces.Check(line);
  const AutotvmSpace* space = spaces.Space(AutotvmEdition::kPackages);
  Config config;
  config.index = check.index;
  for (const LogEntity& entity : line.entities) {
    KnobValue value = KnobValueOf(line, entity);
    if (entity.kind == KnobKind::kSplit) {
      auto& factors = std::get<0>(value.value);
      std::int64_t inner = 1;
      bool sound = true;
      for (std::size_t i = 1; i < factors.size(); ++i) {
        sound = sound && factors[i] >= 1 && !__builtin_mul_overflow(inner, factors[i], &inner);
      }
      const AutotvmKnob* knob = space == nullptr ? nullptr : space->Find(entity.name);
      if (sound && knob != nullptr && knob->extent() > 0) {
        factors[0] = CeilDiv(knob->extent(), inner);
      }
    }
    config.values.emplace_back(std::string(entity.name), std::move(value));
  }
  return config;
}

Result<Candidate> CandidateOfImported(const TemplateRegistry& templates,
                                      const ImportedRecord& record, const Target& target) {
  const TemplateEntry* entry = templates.Find(record.task);
  if (entry == nullptr) return Unsupported("no template " + record.task + " to make code with");
  auto workload = Workload::Parse(record.workload_key);
  if (!workload.ok()) return Unsupported(record.tuple + ": no operator we know");
  if (!MakesCodeFor(*entry, target)) {
    return Unsupported(record.task + ": makes no code for '" + target.ToString() + "'");
  }
  if (std::string why = entry->refuses(*workload, target); !why.empty()) {
    return Unsupported(record.task + " does not serve " + record.workload_key + ": " + why);
  }
  TW_ASSIGN_OR_RETURN(auto values, ConfigOfImported(record));
  TW_ASSIGN_OR_RETURN(auto space, entry->define_space(*workload, target));
  auto config = space.Locate(values);
  if (!config.ok()) return Unsupported(record.task + ": " + config.status().message());
  return Candidate{
      Task{*std::move(workload), target}, {}, record.task, entry->version, *std::move(config)};
}

}  // namespace tilewright::records
