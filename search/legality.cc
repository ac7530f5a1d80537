#include "search/legality.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "search/space.h"
#include "search/static_analyzer.h"
#include "search/tuner.h"
#include "src/base/text/plural.h"

namespace tilewright::search {
namespace {

// A check takes some tenths of a millisecond; spaces up to this size are checked completely.
constexpr std::int64_t kMaxChecked = 2048;
constexpr std::size_t kMaxReasons = 3;
constexpr std::size_t kMaxReasonsKept = 256;  // reasons can contain numbers of the config

}  // namespace

std::string Legality::Text() const {
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  for (const auto& [reason, configs] : reasons) sorted.emplace_back(-configs, reason);
  std::ranges::sort(sorted);
  std::string text = "none of " + Counted(checked, "config") + " is legal";
  for (std::size_t i = 0; i < std::min(sorted.size(), kMaxReasons); ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? ": " : "; ", sorted[i].second,
                        Counted(-sorted[i].first, "config"));
  }
  if (sorted.size() > kMaxReasons) {
    text += fmt::format("; and {} other reasons", sorted.size() - kMaxReasons);
  }
  return text;
}

Legality CheckConfigs(const SearchSpace& space) {
  Legality legality;
  const TemplateAnalyzer analyzer(space);
  for (std::size_t which = 0; which < space.spaces.size(); ++which) {
    const std::int64_t size = space.spaces[which].size();
    const std::int64_t count = std::min(size, kMaxChecked);
    legality.complete = legality.complete && count == size;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = count == size ? i : size / count * i;
      const Status status = analyzer.Check({static_cast<int>(which), index});
      ++legality.checked;
      if (status.ok()) {
        ++legality.legal;
        return legality;
      }
      if (legality.reasons.size() < kMaxReasonsKept ||
          legality.reasons.contains(status.message())) {
        ++legality.reasons[status.message()];
      }
    }
  }
  return legality;
}

Status CheckTemplate(const TemplateRegistry& templates, const std::string& key,
                     const std::vector<TuneTask>& tasks) {
  Legality all;
  for (const TuneTask& task : tasks) {
    TW_ASSIGN_OR_RETURN(SearchSpace space, MakeSearchSpace(templates, task.task, task.epilogue));
    const auto entry = std::ranges::find(space.templates, key, &TemplateEntry::key);
    if (entry == space.templates.end()) continue;
    const auto which = entry - space.templates.begin();
    SearchSpace only = space;
    only.templates = {*entry};
    only.spaces = {space.spaces[static_cast<std::size_t>(which)]};
    const Legality legality = CheckConfigs(only);
    if (!legality.none_legal()) return {};
    all.checked += legality.checked;
    for (const auto& [reason, configs] : legality.reasons) all.reasons[reason] += configs;
  }
  if (!all.none_legal()) return {};
  return InvalidArgument(
      key + ": " + all.Text() +
      "; change the schedule; `tilewright measure --config N` explains one config");
}

}  // namespace tilewright::search
