#include "records/tables.h"

#include <algorithm>
#include <utility>

namespace tilewright::records {
namespace {

Result<std::vector<std::string>> Texts(const Database& db, const std::string& sql,
                                       std::string_view parameter, std::string_view schema) {
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(db, sql));
  query.Bind(1, parameter).Bind(2, schema);
  std::vector<std::string> texts;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) return texts;
    texts.emplace_back(query.Text(0));
  }
}

/// Reads the columns, and the column that is unique by itself (besides the primary key).
Status ReadColumns(const Database& db, std::string_view schema, Table& table) {
  TW_ASSIGN_OR_RETURN(
      table.columns,
      Texts(db, "SELECT name FROM pragma_table_info(?1, ?2) ORDER BY cid", table.name, schema));
  TW_ASSIGN_OR_RETURN(
      auto unique,
      Texts(db,
            "SELECT i.name FROM pragma_index_list(?1, ?2) l, pragma_index_info(l.name, ?2)"
            " i WHERE l.\"unique\" AND l.origin = 'u' AND l.partial = 0 AND"
            " (SELECT count(*) FROM pragma_index_info(l.name, ?2)) = 1",
            table.name, schema));
  if (unique.size() == 1) {
    table.key = std::move(unique);
  } else if (table.columns.front() == "id") {
    table.key.assign(table.columns.begin() + 1, table.columns.end());
  }
  return {};
}

Result<TableRole> RoleOf(const Database& db, std::string_view schema, Table& table) {
  if (table.name == "fact") return TableRole::kFact;
  if (table.name == "trial") return TableRole::kTrial;
  if (table.name == "log") return TableRole::kLog;
  if (table.name == "job") return TableRole::kJob;
  TW_ASSIGN_OR_RETURN(auto trial,
                      Texts(db,
                            "SELECT \"from\" FROM pragma_foreign_key_list(?1, ?2) WHERE \"table\" ="
                            " 'trial'",
                            table.name, schema));
  if (trial.empty() && table.columns.front() == "id" && !table.key.empty()) {
    return TableRole::kText;
  }
  if (trial.size() != 1) {
    return Internal("record store: the table '" + table.name + "' has an unknown role");
  }
  table.trial_column = trial.front();
  return TableRole::kTrialDetail;
}

}  // namespace

Result<std::vector<Table>> ReadTables(const Database& db, std::string_view schema) {
  TW_ASSIGN_OR_RETURN(auto names,
                      Texts(db,
                            "SELECT name FROM " + std::string(schema) +
                                ".sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
                                " ORDER BY name",
                            "", schema));
  std::vector<Table> tables;
  for (std::string& name : names) {
    Table table;
    table.name = std::move(name);
    TW_RETURN_IF_ERROR(ReadColumns(db, schema, table));
    TW_ASSIGN_OR_RETURN(table.role, RoleOf(db, schema, table));
    tables.push_back(std::move(table));
  }
  const auto is_text = [&](const std::string& name) {
    const Table* table = FindTable(tables, name);
    return table != nullptr && (table->role == TableRole::kText || table->role == TableRole::kJob);
  };
  // A column refers to a numbered table by a foreign key, or by its name and type.
  for (Table& table : tables) {
    TW_ASSIGN_OR_RETURN(
        auto keys, Texts(db,
                         "SELECT \"from\" || ' ' || \"table\" FROM pragma_foreign_key_list(?1, ?2)"
                         " ORDER BY 1",
                         table.name, schema));
    TW_ASSIGN_OR_RETURN(auto numbers,
                        Texts(db,
                              "SELECT name || ' ' || name FROM pragma_table_info(?1, ?2)"
                              " WHERE upper(type) = 'INTEGER' ORDER BY cid",
                              table.name, schema));
    keys.insert(keys.end(), numbers.begin(), numbers.end());
    for (const std::string& key : keys) {
      const std::size_t blank = key.find(' ');
      Reference reference{key.substr(0, blank), key.substr(blank + 1)};
      const bool known = std::ranges::find(table.references, reference.column,
                                           &Reference::column) != table.references.end();
      if (is_text(reference.table) && !known) table.references.push_back(std::move(reference));
    }
  }
  for (const Table& table : tables) {
    const bool numbered = table.key.size() > 1 && table.role == TableRole::kText;
    if (numbered && !table.references.empty()) {
      return Internal("record store: rows of '" + table.name +
                      "' cannot be identified in another store");
    }
  }
  // Tables without references first, then those whose references are placed, and so on.
  std::vector<Table> ordered;
  while (!tables.empty()) {
    const std::size_t before = ordered.size();
    for (std::size_t i = 0; i < tables.size();) {
      const bool ready = std::ranges::all_of(tables[i].references, [&](const Reference& r) {
        return r.table == tables[i].name || FindTable(ordered, r.table) != nullptr;
      });
      const bool after_trial = tables[i].role == TableRole::kTrialDetail &&
                               FindTable(ordered, "trial") == nullptr &&
                               FindTable(tables, "trial") != nullptr;
      if (!ready || after_trial) {
        ++i;
        continue;
      }
      ordered.push_back(std::move(tables[i]));
      tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (ordered.size() == before) {
      return Internal("record store: its tables refer to each other in a cycle");
    }
  }
  return ordered;
}

std::string KeyOf(const Table& table, std::string_view alias) {
  const std::string row(alias);
  if (table.key.size() == 1) return row + "." + table.key.front();
  std::string key;
  for (const std::string& column : table.key) {
    key += (key.empty() ? "(quote(" : " || ',' || quote(") + row + "." + column + ")";
  }
  return key + ")";
}

const Table* FindTable(const std::vector<Table>& tables, std::string_view name) {
  const auto found = std::ranges::find(tables, name, &Table::name);
  return found == tables.end() ? nullptr : &*found;
}

}  // namespace tilewright::records
