// Row validity for queries: the space of a task and the work of a workload are computed once, and
// results are cached.

#include "records/store_impl.h"
#include "src/templates/registry.h"
#include "src/templates/template_keys.h"

namespace tilewright::records {
namespace {

// About a kilobyte each.
constexpr std::size_t kMaxVerdicts = 8192;

/// Returns the reason why a schedule text differs from that of the store; empty if it is equal, or
/// the store has none.
std::string OtherText(const Database& db, const TemplateRegistry& templates,
                      const std::string& key) {
  const std::string* known = templates.TextOf(key);
  if (known == nullptr) return {};
  auto query = Statement::Prepare(db, "SELECT value FROM fact WHERE key = ?1");
  if (!query.ok()) return query.status().message();
  query->Bind(1, key);
  auto row = query->Step();
  if (!row.ok()) return row.status().message();
  if (!*row || query->Text(0) == *known) return {};
  return "the store has another text of its schedule " + key;
}

std::string VerdictOf(Store::Impl& store, const TemplateRegistry& templates,
                      const Candidate& candidate) {
  if (IsScheduleTextKey(candidate.template_key) || IsOpenTaskKey(candidate.template_key)) {
    if (std::string why = OtherText(store.db, templates, candidate.template_key); !why.empty()) {
      return why;
    }
  }
  return store.spaces.InvalidReason(templates, candidate);
}

}  // namespace

std::string InvalidRowReason(Store::Impl& store, const TemplateRegistry& templates,
                             const Statement& row, const Result<Record>& record) {
  if (!record.ok()) return record.status().message();
  const Trial& trial = record->trial;
  const std::string place = "trial " + record->id.substr(0, 40) + ": ";
  const double least = store.min_seconds.Of(row.Int(2), row.Int(3), trial.candidate.task);
  if (std::string why = InvalidValuesReason(trial, least); !why.empty()) return place + why;
  // The verdict depends on the registry: a template missing at one call may be registered at the
  // next.
  const TemplateEntry* entry = templates.Find(trial.candidate.template_key);
  if (entry == nullptr || entry->version != trial.candidate.template_version) return {};
  std::string key = trial.candidate.template_key;
  for (const int column : {7, 2, 3}) key += '\n' + std::to_string(row.Int(column));
  key += '\n';
  key += row.Text(9);
  if (const auto found = store.verdicts.find(key); found != store.verdicts.end()) {
    return found->second.empty() ? std::string() : place + found->second;
  }
  if (store.verdicts.size() >= kMaxVerdicts) store.verdicts.clear();
  const std::string why = VerdictOf(store, templates, trial.candidate);
  store.verdicts.emplace(std::move(key), why);
  return why.empty() ? std::string() : place + why;
}

}  // namespace tilewright::records
