#include "records/select.h"

#include <vector>

#include "records/row.h"

namespace tilewright::records {

Status FindCurrent(const TemplateRegistry& templates, const Database& db, std::string_view schema) {
  TW_RETURN_IF_ERROR(
      db.Execute("DROP TABLE IF EXISTS temp.current; CREATE TEMP TABLE current (template TEXT,"
                 " template_version INTEGER, codegen_version INTEGER)"));
  auto list =
      Statement::Prepare(db, "SELECT DISTINCT template, template_version, codegen_version FROM " +
                                 std::string(schema) + ".trial");
  TW_RETURN_IF_ERROR(list);
  auto insert = Statement::Prepare(db, "INSERT INTO temp.current VALUES (?1, ?2, ?3)");
  TW_RETURN_IF_ERROR(insert);
  while (true) {
    auto row = list->Step();
    TW_RETURN_IF_ERROR(row);
    if (!*row) return {};
    if (!VersionsAreCurrent(templates, list->Text(0), list->Int(1), list->Int(2))) continue;
    insert->Bind(1, list->Text(0)).Bind(2, list->Int(1)).Bind(3, list->Int(2));
    TW_RETURN_IF_ERROR(insert->Run());
  }
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
      at +
      "trial WHERE outcome = 0 AND verified = 1 AND " + std::string(kValueIsFine) +
      " AND (template, template_version, codegen_version) IN (SELECT * FROM temp.current)";
  if (best <= 0) return "SELECT id FROM " + served;
  return "SELECT id FROM (SELECT id, rank() OVER (PARTITION BY workload, target, device ORDER BY"
         " " +
         std::string(kDisturbedSql) + ", value) AS place FROM " + served + ") WHERE place <= " + std::to_string(best) + " UNION SELECT id FROM " + served +
         " AND id IN (" + SelectRaced(schema) + ")";
}

}  // namespace tilewright::records
