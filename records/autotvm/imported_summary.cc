#include "records/autotvm/imported_summary.h"

#include <array>
#include <string_view>
#include <utility>

#include "records/autotvm/task.h"
#include "records/sqlite.h"

namespace tilewright::records {

Result<std::vector<ImportedSummary>> SummarizeImported(const Store& store) {
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(
          Store::DatabaseOf(store),
          "SELECT imported_source.file, imported_source.package, imported_target.text, count(*),"
          " count(DISTINCT imported.task), sum(NOT (error = 0 AND cost > 0 AND cost < 1e300))" +
              std::string(ImportedTables()) + "GROUP BY 2, 1, 3 ORDER BY 2, 1, 3"));
  std::vector<ImportedSummary> summary;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return summary;
    summary.push_back({std::string(query.Text(0)), std::string(query.Text(1)),
                       std::string(query.Text(2)), query.Int(3), query.Int(4), query.Int(5)});
  }
}

Result<std::vector<ImportedRecord>> CheapestImported(const Store& store, std::int64_t top) {
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(
          Store::DatabaseOf(store),
          "SELECT " + std::string(ImportedColumns()) + std::string(ImportedTables()) +
              "WHERE error = 0 AND cost > 0 AND cost < 1e300 ORDER BY imported_source.package,"
              " imported_source.file, imported_target.text, imported_task.tuple, cost,"
              " imported.id"));
  std::vector<ImportedRecord> best;
  std::int64_t count = 0;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return best;
    ImportedRecord record = ReadImported(query);
    const bool same = !best.empty() && best.back().file == record.file &&
                      best.back().target == record.target && best.back().tuple == record.tuple;
    count = same ? count + 1 : 1;
    if (count <= top) best.push_back(std::move(record));
  }
}

std::string MatchedTargetText(const std::string& target) {
  const auto parsed = AutotvmTarget::Parse(target);
  if (!parsed.ok()) return target;
  const Target& whole = parsed->target;
  std::string text = whole.kind_name();
  for (const std::string_view option : {"device", "model", "keys"}) {
    const std::string value = whole.Option(option);
    // Keys say the same as the device does.
    const bool told = option == "keys" && !whole.Option("device").empty();
    if (!value.empty() && !told) text += " -" + std::string(option) + "=" + value;
  }
  return text;
}

std::string AutotvmErrorName(std::int64_t error) {
  constexpr std::array<std::string_view, 9> kNames = {
      "ok",           "invalid",       "build_failed", "build_failed", "run_failed",
      "wrong_result", "build_timeout", "run_timeout",  "unknown"};
  if (error < 0 || error >= std::ssize(kNames)) return "error_" + std::to_string(error);
  return std::string(kNames[static_cast<std::size_t>(error)]);
}

}  // namespace tilewright::records
