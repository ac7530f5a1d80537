// Copies rows between attached stores. Texts get new numbers in the destination. Digests over every
// value verify that the trials of both sides are equal.

#include "records/copy.h"

#include <sodium.h>

#include <algorithm>

#include "records/validation/digest.h"
#include "records/validation/rules.h"
#include "src/base/json.h"

namespace tilewright::records {
namespace {

/// Returns the columns that both tables have: a store of an older schema lacks some, which then get
/// their defaults.
std::vector<std::string> Common(const Table& source, const Table& own) {
  std::vector<std::string> columns;
  for (const std::string& column : source.columns) {
    if (std::ranges::find(own.columns, column) != own.columns.end()) columns.push_back(column);
  }
  return columns;
}

const Reference* ReferenceOf(const Table& table, std::string_view column) {
  const auto found = std::ranges::find(table.references, column, &Reference::column);
  return found == table.references.end() ? nullptr : &*found;
}

/// Digest of rows: every value with its type and length.
class RowHash {
 public:
  RowHash() { crypto_hash_sha256_init(&state_); }
  void Add(const Statement& row, int columns) {
    for (int i = 0; i < columns; ++i) {
      const auto null = static_cast<unsigned char>(row.IsNull(i) ? 1 : 0);
      const double real = row.Real(i);  // exact, unlike the text of a number
      Update(&real, sizeof(real));
      const std::string_view value = row.Bytes(i);
      const auto size = static_cast<std::uint64_t>(value.size());
      Update(&null, sizeof(null));
      Update(&size, sizeof(size));
      Update(value.data(), value.size());
    }
  }
  std::string Hex() {
    Digest digest;
    crypto_hash_sha256_final(&state_, digest.data());
    return HexText({reinterpret_cast<const char*>(digest.data()), digest.size()});
  }

 private:
  void Update(const void* bytes, std::size_t size) {
    crypto_hash_sha256_update(&state_, static_cast<const unsigned char*>(bytes), size);
  }
  crypto_hash_sha256_state state_;
};

}  // namespace

Result<std::string> StoreIdOf(const Database& db, std::string_view schema) {
  TW_ASSIGN_OR_RETURN(auto query,
                      Statement::Prepare(db, "SELECT value FROM " + std::string(schema) +
                                                 ".fact WHERE key = 'store_id'"));
  TW_ASSIGN_OR_RETURN(auto row, query.Step());
  return row ? std::string(query.Text(0)) : std::string();
}

Result<Copier> Copier::Create(const Database& db, std::string_view source_id,
                              std::string_view own_id) {
  Copier copier(db, source_id, own_id);
  TW_ASSIGN_OR_RETURN(auto own, ReadTables(db, "main"));
  TW_ASSIGN_OR_RETURN(auto source, ReadTables(db, "source"));
  copier.own_ = std::move(own);
  copier.source_ = std::move(source);
  for (const Table& table : copier.source_) {
    if (FindTable(copier.own_, table.name) == nullptr) {
      return Internal("record store: no table '" + table.name + "' to copy into");
    }
  }
  TW_RETURN_IF_ERROR(
      copier.Run("DROP TABLE IF EXISTS temp.chosen;"
                 "CREATE TEMP TABLE chosen (id TEXT PRIMARY KEY) WITHOUT ROWID;"
                 "DROP TABLE IF EXISTS temp.refused_imported;"
                 "CREATE TEMP TABLE refused_imported (id INTEGER PRIMARY KEY);"
                 "DROP TABLE IF EXISTS temp.chosen_imported;"
                 "CREATE TEMP TABLE chosen_imported (id INTEGER PRIMARY KEY)"));
  return copier;
}

Status Copier::Run(const std::string& sql) const { return db_->Execute(sql.c_str()); }

Status Copier::Choose(const std::string& select) {
  return Run("DELETE FROM temp.chosen; INSERT INTO temp.chosen " + select);
}

Status Copier::Exclude(const std::string& id) {
  TW_ASSIGN_OR_RETURN(auto remove,
                      Statement::Prepare(*db_, "DELETE FROM temp.chosen WHERE id = ?1"));
  return remove.Bind(1, id).Run();
}

Status Copier::ExcludeImported(std::int64_t id) {
  TW_ASSIGN_OR_RETURN(auto add,
                      Statement::Prepare(*db_, "INSERT INTO temp.refused_imported VALUES (?1)"));
  return add.Bind(1, id).Run();
}

Status Copier::ChooseImported(const std::string& select) {
  return Run("DELETE FROM temp.chosen_imported; INSERT INTO temp.chosen_imported " + select);
}

std::string Copier::JobName(std::string_view alias) const {
  const std::string name = std::string(alias) + ".name";
  const std::string own = Quoted("@" + own_id_);
  const std::string length = std::to_string(own_id_.size() + 1);
  const std::string full = "(CASE WHEN instr(" + name + ", '@') > 0 THEN " + name + " ELSE " +
                           name + " || " + Quoted("@" + source_id_) + " END)";
  if (own_id_.empty()) return full;
  return "(CASE WHEN substr(" + full + ", -" + length + ") = " + own + " THEN substr(" + full +
         ", 1, length(" + full + ") - " + length + ") ELSE " + full + " END)";
}

Copier::Columns Copier::Mapped(const Table& table, std::string_view alias) const {
  const std::string row(alias);
  Columns sql;
  for (const std::string& column : Common(table, *FindTable(own_, table.name))) {
    sql.names += (sql.names.empty() ? "" : ", ") + column;
    sql.values += sql.values.empty() ? "" : ", ";
    if (const Reference* reference = ReferenceOf(table, column)) {
      const std::string map = "map_" + column;
      sql.joins += " LEFT JOIN temp.map_" + reference->table + " " + map + " ON " + map +
                   ".old = " + row + "." + column;
      sql.values += map + ".new";
    } else {
      sql.values += row + "." + column;
    }
  }
  return sql;
}

Status Copier::CopyText(const Table& table, bool all) {
  const bool of_job = table.role == TableRole::kJob;
  const std::string key = of_job ? JobName("s") : KeyOf(table, "s");
  std::string names, values, joins;
  for (const std::string& column : Common(table, *FindTable(own_, table.name))) {
    if (column == "id") continue;
    names += (names.empty() ? "" : ", ") + column;
    values += values.empty() ? "" : ", ";
    const Reference* reference = ReferenceOf(table, column);
    if (of_job && column == "name") {
      values += key;
    } else if (reference != nullptr) {
      const std::string map = "map_" + column;
      joins += " LEFT JOIN temp.map_" + reference->table + " " + map + " ON " + map + ".old = s." +
               column;
      values += map + ".new";
    } else {
      values += "s." + column;
    }
  }
  const std::string own = "main." + table.name, source = "source." + table.name;
  const std::string map = "temp.map_" + table.name;
  TW_RETURN_IF_ERROR(Run("DROP TABLE IF EXISTS " + map + "; CREATE TEMP TABLE map_" + table.name +
                         " (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)"));
  std::string used;
  if (table.name == "imported") used = " AND s.id NOT IN (SELECT id FROM temp.refused_imported)";
  if (!all) {
    std::string chosen;
    const auto add = [&chosen](const std::string& ids) {
      chosen += (chosen.empty() ? " AND (s.id IN (" : " OR s.id IN (") + ids + ")";
    };
    for (const auto& [user, ids] :
         {std::pair("trial", "temp.chosen"), std::pair("imported", "temp.chosen_imported")}) {
      const Table* users = FindTable(source_, user);
      if (users == nullptr) continue;
      for (const Reference& reference : users->references) {
        if (reference.table != table.name) continue;
        add("SELECT " + reference.column + " FROM source." + user +
            " WHERE id IN (SELECT id FROM " + ids + ")");
      }
    }
    if (table.name == "imported") add("SELECT id FROM temp.chosen_imported");
    if (chosen.empty()) return {};  // rows that nothing refers to are not copied
    used += chosen + ")";
  }
  const Table& own_table = *FindTable(own_, table.name);
  TW_RETURN_IF_ERROR(Run("INSERT INTO " + own + " (" + names + ") SELECT " + values + " FROM " +
                         source + " s" + joins + " WHERE " + key + " NOT IN (SELECT " +
                         KeyOf(own_table, "m") + " FROM " + own + " m)" + used + " GROUP BY " +
                         key + " ORDER BY " + key));
  TW_RETURN_IF_ERROR(Run("INSERT INTO " + map + " SELECT s.id, min(m.id) FROM " + source +
                         " s JOIN " + own + " m ON " + KeyOf(own_table, "m") + " = " + key +
                         " GROUP BY s.id"));
  if (!of_job) return {};
  return Run(
      "UPDATE main.job SET finished = 1 WHERE id IN (SELECT map.new FROM temp.map_job map"
      " JOIN source.job s ON s.id = map.old WHERE s.finished)");
}

Status Copier::CopyTexts(bool all) {
  for (const Table& table : source_) {
    if (table.role != TableRole::kText && table.role != TableRole::kJob) continue;
    TW_RETURN_IF_ERROR(CopyText(table, all));
    if (!all) continue;
    TW_ASSIGN_OR_RETURN(
        auto lost, Statement::Prepare(
                       *db_, "SELECT count(*) FROM source." + table.name +
                                 " WHERE id NOT IN (SELECT old FROM temp.map_" + table.name + ")" +
                                 (table.name == "imported" ? " AND id NOT IN (SELECT id FROM"
                                                             " temp.refused_imported)"
                                                           : "")));
    TW_RETURN_IF_ERROR(lost.Step());
    if (lost.Int(0) != 0) {
      return Corrupt("of the table '" + table.name + "' " + std::to_string(lost.Int(0)) +
                     " rows would be lost");
    }
  }
  return {};
}

Status Copier::CopyTrials() {
  const Table& trial = *FindTable(source_, "trial");
  const Columns sql = Mapped(trial, "t");
  return Run("INSERT INTO main.trial (" + sql.names + ") SELECT " + sql.values +
             " FROM temp.chosen c JOIN source.trial t ON t.id = c.id" + sql.joins +
             " JOIN source.workload w ON w.id = t.workload"
             " JOIN source.target g ON g.id = t.target"
             " WHERE t.id NOT IN (SELECT id FROM main.trial)"
             " ORDER BY w.key, g.text, t.value, t.config_index, t.id");
}

Status Copier::CopyTrialDetails() {
  for (const Table& table : source_) {
    if (table.role != TableRole::kTrialDetail) continue;
    const Columns sql = Mapped(table, "r");
    const std::string own = "main." + table.name;
    // A winner must be a trial of its task; other rows are invalid.
    std::string is_one;
    for (const Reference& reference : table.references) {
      is_one += " AND winner." + reference.column + " = r." + reference.column;
    }
    is_one = " AND EXISTS (SELECT 1 FROM source.trial winner WHERE winner.id = r." +
             table.trial_column + is_one + ")";
    TW_RETURN_IF_ERROR(Run("INSERT OR IGNORE INTO " + own + " (" + sql.names + ") SELECT " +
                           sql.values + " FROM source." + table.name + " r" + sql.joins +
                           " WHERE r." + table.trial_column + " IN (SELECT id FROM temp.chosen)" +
                           is_one + " ORDER BY r." + table.trial_column));
    if (table.name != "best") continue;
    // Of a repeated race the later winner counts.
    TW_RETURN_IF_ERROR(
        Run("INSERT OR REPLACE INTO main.best (" + sql.names + ") SELECT " + sql.values +
            " FROM source.best r" + sql.joins +
            " JOIN source.trial theirs ON theirs.id = r.trial"
            " JOIN main.best b ON b.workload = map_workload.new AND b.target = map_target.new"
            " AND b.device = map_device.new AND b.job = map_job.new"
            " JOIN main.trial ours ON ours.id = b.trial"
            " WHERE r.trial IN (SELECT id FROM temp.chosen)" +
            is_one + " AND " + EffectiveDateSql("theirs.finished") + " > " +
            EffectiveDateSql("ours.finished")));
  }
  return {};
}

Status Copier::CopyLog(std::int64_t source_job, std::int64_t job, std::string_view task,
                       const std::function<void(const std::string&)>& refused) {
  const char* select = "SELECT kind, payload FROM %.log WHERE job = ?1 AND task = ?2 ORDER BY seq";
  const auto prepare = [&](const std::string& side) {
    std::string sql = select;
    return Statement::Prepare(*db_, sql.replace(sql.find('%'), 1, side));
  };
  TW_ASSIGN_OR_RETURN(auto theirs, prepare("source"));
  TW_ASSIGN_OR_RETURN(auto ours, prepare("main"));
  TW_ASSIGN_OR_RETURN(
      auto add,
      Statement::Prepare(
          *db_, "INSERT INTO main.log (job, task, kind, payload) VALUES (?1, ?2, ?3, ?4)"));
  theirs.Bind(1, source_job).Bind(2, task);
  ours.Bind(1, job).Bind(2, task);
  bool more_of_ours = true;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, theirs.Step());
    if (!row) return {};
    if (more_of_ours) {
      TW_ASSIGN_OR_RETURN(more_of_ours, ours.Step());
      if (more_of_ours) {
        if (ours.Text(0) == theirs.Text(0) && ours.Text(1) == theirs.Text(1)) continue;
        return Corrupt("the search log of task '" + std::string(task) +
                       "' differs in two copies of one job");
      }
      ours.Reset();  // it would otherwise read the added rows
    }
    if (const auto json = ParseJson(theirs.Text(1)); !json.ok()) {
      refused("the search log of task '" + std::string(task.substr(0, 80)) +
              "': from an entry on that is not JSON: " + json.status().message());
      return {};
    }
    add.Bind(1, job).Bind(2, task).Bind(3, theirs.Text(0)).Bind(4, theirs.Text(1));
    TW_RETURN_IF_ERROR(add.Run());
  }
}

Status Copier::CopyLogs(const std::function<void(const std::string&)>& refused) {
  struct Part {
    std::int64_t source_job, job;
    std::string task;
  };
  std::vector<Part> parts;
  {
    TW_ASSIGN_OR_RETURN(
        auto query,
        Statement::Prepare(*db_,
                           "SELECT l.job, map.new, l.task FROM source.log l JOIN temp.map_job map"
                           " ON map.old = l.job GROUP BY l.job, l.task ORDER BY min(l.seq)"));
    while (true) {
      TW_ASSIGN_OR_RETURN(auto row, query.Step());
      if (!row) break;
      parts.push_back({query.Int(0), query.Int(1), std::string(query.Text(2))});
    }
  }
  for (const Part& part : parts) {
    TW_RETURN_IF_ERROR(CopyLog(part.source_job, part.job, part.task, refused));
  }
  return {};
}

Result<Copier::TrialChecksum> Copier::ComputeChecksum(std::string_view side) const {
  const Table& trial = *FindTable(source_, "trial");
  const Table& own = *FindTable(own_, "trial");
  const std::string at(side);
  std::string values, joins;
  int columns = 0;
  for (const std::string& column : Common(trial, own)) {
    ++columns;
    values += values.empty() ? "" : ", ";
    const Reference* reference = ReferenceOf(trial, column);
    if (reference == nullptr) {
      values += "t." + column;
      continue;
    }
    const Table& text = *FindTable(source_, reference->table);
    const std::string alias = "text_" + column;
    joins +=
        " LEFT JOIN " + at + "." + text.name + " " + alias + " ON " + alias + ".id = t." + column;
    values +=
        text.role == TableRole::kJob && side == "source" ? JobName(alias) : KeyOf(text, alias);
  }
  TW_ASSIGN_OR_RETURN(
      auto query,
      Statement::Prepare(*db_, "SELECT " + values + " FROM temp.chosen c JOIN " + at +
                                   ".trial t ON t.id = c.id" + joins + " ORDER BY c.id"));
  TrialChecksum proof;
  RowHash hash;
  while (true) {
    TW_ASSIGN_OR_RETURN(auto row, query.Step());
    if (!row) break;
    ++proof.trials;
    hash.Add(query, columns);
  }
  proof.sha256 = hash.Hex();
  return proof;
}

Result<Copier::TrialChecksum> Copier::CompareChecksums() const {
  TW_ASSIGN_OR_RETURN(auto theirs, ComputeChecksum("source"));
  TW_ASSIGN_OR_RETURN(auto ours, ComputeChecksum("main"));
  if (theirs == ours) return theirs;
  TW_ASSIGN_OR_RETURN(
      auto differing,
      Statement::Prepare(
          *db_,
          "SELECT c.id FROM temp.chosen c JOIN source.trial s ON s.id = c.id LEFT JOIN"
          " main.trial m ON m.id = c.id WHERE m.id IS NULL OR m.value <> s.value OR m.samples <>"
          " s.samples OR m.config <> s.config OR m.finished <> s.finished ORDER BY 1 LIMIT 1"));
  TW_ASSIGN_OR_RETURN(auto row, differing.Step());
  return Corrupt("of " + std::to_string(theirs.trials) + " trials " + std::to_string(ours.trials) +
                 " are the same in both stores" +
                 (row ? "; first that differs: " + std::string(differing.Text(0)) : ""));
}

}  // namespace tilewright::records
