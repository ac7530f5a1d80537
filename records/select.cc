#include "records/select.h"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "records/front/front.h"
#include "records/row.h"
#include "records/validation/row_validator.h"
#include "records/validation/rules.h"
#include "src/space/pareto_front.h"

namespace tilewright::records {
namespace {

/// Candidate for a Pareto front.
struct FrontRow {
  std::string id;
  std::int64_t attempt = 0;
  double finished = 0;
  std::vector<double> values;  // values as Store::Front compares them
};
/// Rows of one task on one device with the same metrics: the last measurement of each config.
using FrontRows = std::map<std::string, FrontRow>;

Status InsertFront(const Database& db, const FrontRows& trials) {
  TW_ASSIGN_OR_RETURN(auto insert, Statement::Prepare(db, "INSERT INTO temp.front VALUES (?1)"));
  std::vector<const std::string*> ids;
  std::vector<std::vector<double>> rows;
  for (const auto& [config, row] : trials) {
    ids.push_back(&row.id);
    rows.push_back(row.values);
  }
  for (const std::size_t i : ParetoFront(rows)) {
    insert.Bind(1, *ids[i]);
    TW_RETURN_IF_ERROR(insert.Run());
  }
  return {};
}

/// Fills temp.front; needs temp.current.
Status FindFronts(const Database& db, std::string_view schema) {
  TW_RETURN_IF_ERROR(
      db.Execute("DROP TABLE IF EXISTS temp.front; CREATE TEMP TABLE front (id TEXT PRIMARY KEY)"
                 " WITHOUT ROWID"));
  const std::string table = std::string(schema) + ".trial";
  TW_ASSIGN_OR_RETURN(auto columns,
                      QueryInt(db, "SELECT count(*) FROM pragma_table_info('trial', '" +
                                       std::string(schema) + "') WHERE name = 'others'"));
  if (columns == 0) return {};  // schema of an earlier version
  TW_ASSIGN_OR_RETURN(
      auto list,
      Statement::Prepare(
          db,
          "SELECT workload || ' ' || target || ' ' || device || ' ' || metric, id, attempt, value,"
          " others, template || ' ' || config, finished, metric, noise FROM " +
              table + " WHERE outcome = 0 AND verified = 1 AND others <> '' AND " +
              std::string(kValidValueSql) + " AND NOT " + std::string(kNoisySql) +
              " AND id NOT IN (SELECT id FROM temp.refused)"
              " AND (template, template_version, codegen_version) IN (SELECT * FROM temp.current)"
              " ORDER BY 1, id"));
  std::map<std::string, FrontRows> tasks;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, list.Step());
    if (!row) break;
    const auto others = ParseExtraMetrics(list.Text(4));
    if (!others.ok()) continue;  // a forged row
    std::string task(list.Text(0));
    FrontRow one{std::string(list.Text(1)), list.Int(2), list.Real(6), {}};
    const auto compared = [&](std::string_view metric, double value) {
      return NoiseAdjustedValue(metric, value, one.attempt, list.Real(8));
    };
    one.values.push_back(compared(list.Text(7), list.Real(3)));
    for (const auto& [metric, value] : *others) {
      task += " " + metric;
      one.values.push_back(compared(metric, value));
    }
    const auto [place, added] = tasks[task].try_emplace(std::string(list.Text(5)), one);
    const FrontRow& other = place->second;
    if (!added && Supersedes(one.attempt, one.finished, other.attempt, other.finished)) {
      place->second = std::move(one);
    }
  }
  for (const auto& [task, rows] : tasks) TW_RETURN_IF_ERROR(InsertFront(db, rows));
  return {};
}

/// Fills temp.refused with the invalid ones among the servable trials; needs temp.current.
Result<RefusedRows> FindRefused(const TemplateRegistry& templates, const Database& db,
                                std::string_view schema) {
  TW_RETURN_IF_ERROR(
      db.Execute("DROP TABLE IF EXISTS temp.refused; CREATE TEMP TABLE refused (id TEXT PRIMARY"
                 " KEY) WITHOUT ROWID"));
  TW_ASSIGN_OR_RETURN(auto inspector, RowValidator::Create(templates, db, schema));
  RefusedRows rows;
  std::vector<std::string> ids;
  TW_RETURN_IF_ERROR(inspector.ForEachInvalid(
      "SELECT id FROM " + std::string(schema) +
          ".trial WHERE outcome = 0 AND verified = 1 AND (template, template_version,"
          " codegen_version) IN (SELECT * FROM temp.current)",
      [&](const std::string& id, const std::string& why) {
        if (rows.count++ == 0) rows.first = "trial " + id.substr(0, 40) + ": " + why;
        ids.push_back(id);
        return true;
      }));
  TW_ASSIGN_OR_RETURN(auto insert,
                      Statement::Prepare(db, "INSERT OR IGNORE INTO temp.refused VALUES (?1)"));
  for (const std::string& id : ids) {
    insert.Bind(1, id);
    TW_RETURN_IF_ERROR(insert.Run());
  }
  return rows;
}

}  // namespace

Result<RefusedRows> FindCurrent(const TemplateRegistry& templates, const Database& db,
                                std::string_view schema) {
  TW_RETURN_IF_ERROR(
      db.Execute("DROP TABLE IF EXISTS temp.current; CREATE TEMP TABLE current (template TEXT,"
                 " template_version INTEGER, codegen_version INTEGER)"));
  TW_ASSIGN_OR_RETURN(
      auto list,
      Statement::Prepare(db, "SELECT DISTINCT template, template_version, codegen_version FROM " +
                                 std::string(schema) + ".trial"));
  TW_ASSIGN_OR_RETURN(auto insert,
                      Statement::Prepare(db, "INSERT INTO temp.current VALUES (?1, ?2, ?3)"));
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, list.Step());
    if (!row) break;
    if (!VersionsAreCurrent(templates, list.Text(0), list.Int(1), list.Int(2))) continue;
    insert.Bind(1, list.Text(0)).Bind(2, list.Int(1)).Bind(3, list.Int(2));
    TW_RETURN_IF_ERROR(insert.Run());
  }
  TW_ASSIGN_OR_RETURN(auto refused, FindRefused(templates, db, schema));
  TW_RETURN_IF_ERROR(FindFronts(db, schema));
  return refused;
}

std::string SelectRaced(std::string_view schema) {
  const std::string at = std::string(schema) + ".";
  // ties is a list of config indices, "9,12".
  return "SELECT t.id FROM " + at + "best b JOIN " + at +
         "trial t ON t.workload = b.workload AND t.target = b.target AND t.device = b.device AND"
         " t.job = b.job WHERE t.id = b.trial OR instr(',' || b.ties || ',', ',' ||"
         " t.config_index || ',') > 0";
}

std::string SelectServed(std::string_view schema, std::int64_t best) {
  const std::string at = std::string(schema) + ".";
  const std::string served =
      at + "trial WHERE outcome = 0 AND verified = 1 AND " + std::string(kValidValueSql) +
      " AND (template, template_version, codegen_version) IN (SELECT * FROM temp.current)"
      " AND id NOT IN (SELECT id FROM temp.refused)";
  if (best <= 0) return "SELECT id FROM " + served;
  const std::string task = "(PARTITION BY workload, target, device ORDER BY ";
  const std::string noisy(kNoisySql);
  const std::string least = " OVER " + task + "value, config_index) AS least_";
  // The fastest trial is the result of a query even if it is noisy, except as ReplacesNoisy
  // specifies.
  const std::string compared = fmt::format(
      "SELECT *, {3} AS counted, first_value(value){0}value, first_value({3}){0}finished,"
      " first_value({1}){0}disturbed FROM {2}",
      least, noisy, served, EffectiveDateSql("finished"));
  const std::string answers = fmt::format(
      "SELECT id, rank() OVER {}value, config_index) AS place FROM ({}) AS trial WHERE"
      " value = least_value OR (least_disturbed AND NOT {} AND quiet >= 0 AND"
      " counted > least_finished AND value <= {} * least_value)",
      task, compared, noisy, kMaxSlowerOfQuieter);
  return "SELECT id FROM (SELECT id, rank() OVER " + task + noisy + ", value) AS place FROM " +
         served + ") WHERE place <= " + std::to_string(best) + " UNION SELECT id FROM (" + answers +
         ") WHERE place <= 2 UNION SELECT id FROM " + served + " AND id IN (" +
         SelectRaced(schema) + ") UNION SELECT id FROM temp.front";
}

}  // namespace tilewright::records
