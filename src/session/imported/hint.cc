#include "src/session/imported/hint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "records/autotvm/imported_summary.h"
#include "src/base/printable.h"
#include "src/base/shell/quote.h"
#include "src/base/text/plural.h"

namespace tilewright::session {

Result<ImportedHint> FindImported(const std::vector<const Workload*>& workloads,
                                  const TemplateRegistry& templates, const Target& target,
                                  records::Catalog& catalog) {
  const auto asked = records::AutotvmTarget::Parse(target.ToString());
  ImportedHint hint;
  std::map<std::string, std::int64_t> targets;  // workloads by the target of their records
  for (const Workload* workload : workloads) {
    TW_ASSIGN_OR_RETURN(const auto imported, catalog.ImportedFor(*workload));
    if (imported.records == 0) continue;
    records::CatalogAnswer answer;
    if (asked.ok()) {
      const records::AutotvmLookup rule{*asked, {}, {}};
      records::LookupRequest request;
      request.templates = &templates;
      request.workload = workload;
      request.target = &target;
      request.accept = records::DownTo(records::AnswerLevel::kHit);
      request.autotvm = &rule;
      TW_ASSIGN_OR_RETURN(answer, catalog.Query(request));
    }
    (answer.level == records::AnswerLevel::kHit ? hint.here : hint.elsewhere) += 1;
    std::set<std::string> matched;
    for (const std::string& text : imported.targets) {
      matched.insert(records::MatchedTargetText(text));
    }
    for (const std::string& text : matched) ++targets[text];
  }
  hint.targets = targets.size();
  const auto most =
      std::ranges::max_element(targets, {}, [](const auto& one) { return one.second; });
  if (most != targets.end()) hint.target = most->first;
  return hint;
}

std::string ImportedHintText(const ImportedHint& hint, const std::string& command,
                             const std::string& own_target) {
  const auto with_target = [&command](const std::string& target) {
    return Printable(target.empty() ? command : command + " --target " + ShellWord(target));
  };
  if (hint.here > 0) {
    return fmt::format("imported records, which are not verified, serve {} of them:\n  {}",
                       hint.here, with_target(own_target));
  }
  if (hint.elsewhere == 0) return "";
  return fmt::format("{} of them {} imported records, which are not verified, for {}:\n  {}",
                     hint.elsewhere, hint.elsewhere == 1 ? "has" : "have",
                     Counted(static_cast<std::int64_t>(hint.targets), "other target"),
                     with_target(hint.target));
}

}  // namespace tilewright::session
