#include "src/templates/knob_docs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

namespace tilewright {
namespace {

/// Whether a knob has the documented name, where "<…>" stands for a number.
bool IsNamed(std::string_view documented, std::string_view knob) {
  const std::size_t prefix = documented.find('<');
  if (prefix == std::string_view::npos) return knob == documented;
  return knob.size() > prefix && knob.starts_with(documented.substr(0, prefix)) &&
         knob.find_first_not_of("0123456789", prefix) == std::string_view::npos;
}

}  // namespace

const KnobDoc* FindKnobDoc(const TemplateEntry& entry, std::string_view knob) {
  const auto found = std::ranges::find_if(
      entry.knobs, [&](const KnobDoc& doc) { return IsNamed(doc.name, knob); });
  return found == entry.knobs.end() ? nullptr : &*found;
}

std::string DescribeKnobs(const TemplateRegistry& templates) {
  std::string page =
      "# Knobs\n\n"
      "This page lists the knobs of all built-in [templates](templates.md). `tilewright space "
      "TASK` "
      "prints\nthe knobs of a task with their values. A knob with values in brackets has several "
      "numbers, which the\ntext names in order. A name such as `tile_<axis>` stands for one knob "
      "for each axis.\n\n"
      "The page is generated from the templates: `TILEWRIGHT_REWRITE_GOLDEN=1 templates_tests\n"
      "--gtest_filter=KnobDocsTest.*` rewrites it.\n";
  std::vector<std::string_view> without;
  std::set<const KnobDoc*> done;
  for (const TemplateEntry& entry : templates.all()) {
    if (entry.knobs.empty()) {
      without.push_back(entry.key);
      continue;
    }
    if (!done.insert(entry.knobs.data()).second) continue;
    std::vector<std::string_view> keys;
    for (const TemplateEntry& other : templates.all()) {
      if (other.knobs.data() == entry.knobs.data()) keys.push_back(other.key);
    }
    page += fmt::format("\n## {}\n| knob | meaning |\n|---|---|\n", fmt::join(keys, ", "));
    for (const KnobDoc& doc : entry.knobs) {
      page += fmt::format("| `{}` | {} |\n", doc.name, doc.description);
    }
  }
  page += fmt::format("\n## Templates without knobs\n{}\n", fmt::join(without, ", "));
  return page;
}

}  // namespace tilewright
