#include "src/session/notes.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "src/base/format_printable.h"

namespace tilewright::session {
namespace {

/// Returns the text without its names in quotation marks.
std::string WithoutNames(const std::string& text) {
  std::string pattern;
  bool quoted = false;
  for (const char c : text) {
    if (c == '\'') quoted = !quoted;
    if (!quoted) pattern += c;
  }
  return pattern;
}

}  // namespace

void NoteAlike(const std::string& head, const std::vector<std::string>& texts,
               const NoteSink& note) {
  struct Alike {
    std::string pattern;
    const std::string* first;
    int count;
  };
  std::vector<Alike> groups;
  for (const std::string& text : texts) {
    std::string pattern = WithoutNames(text);
    const auto group = std::ranges::find(groups, pattern, &Alike::pattern);
    if (group != groups.end()) {
      ++group->count;
    } else {
      groups.push_back({std::move(pattern), &text, 1});
    }
  }
  for (const Alike& group : groups) {
    const std::string more =
        group.count > 1 ? fmt::format(" ({} times; `inspect --json` lists all)", group.count) : "";
    note(FormatPrintable("note: {}: {}{}", head, *group.first, more));
  }
}

NoteSink EachNoteOnce(NoteSink note) {
  auto passed = std::make_shared<std::set<std::string>>();
  return [note = std::move(note), passed](const std::string& text) {
    if (passed->insert(text).second) note(text);
  };
}

}  // namespace tilewright::session
