#include "search/only_templates.h"

#include <algorithm>
#include <memory>
#include <string_view>

namespace tilewright::search {

Result<TemplateRegistry> OnlyTemplates(const TemplateRegistry& templates,
                                       std::span<const std::string> keys,
                                       std::vector<TuneTask>& tasks) {
  if (keys.empty()) return templates;
  // In the order in which the tasks prefer them.
  std::vector<const TemplateEntry*> serving;
  std::vector<bool> served;
  for (const TuneTask& task : tasks) {
    bool wanted = false;
    for (const TemplateEntry* entry : templates.For(task.task.workload, task.task.target)) {
      if (std::ranges::count(serving, entry) == 0) serving.push_back(entry);
      wanted = wanted || std::ranges::count(keys, entry->key) > 0;
    }
    served.push_back(wanted);
  }
  for (const std::string& key : keys) {
    if (std::ranges::count(serving, key, &TemplateEntry::key) > 0) continue;
    std::string known;
    for (const TemplateEntry* one : serving) known += " " + std::string(one->key);
    return InvalidArgument((templates.Find(key) == nullptr
                                ? "no template '" + key + "'"
                                : "template " + key + " serves none of the tasks") +
                           ", expected some of:" + known);
  }
  TemplateRegistry only;
  for (const TemplateEntry* entry : serving) {
    if (std::ranges::count(keys, entry->key) == 0) continue;
    TW_RETURN_IF_ERROR(only.Add(*entry));
    if (const std::string* text = templates.TextOf(entry->key)) {
      only.Keep(entry->key, std::make_shared<const std::string>(*text));
    }
  }
  std::size_t next = 0;
  std::erase_if(tasks, [&](const TuneTask&) { return !served[next++]; });
  return only;
}

}  // namespace tilewright::search
