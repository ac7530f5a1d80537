#pragma once

#include <set>
#include <string>
#include <string_view>

#include "src/base/json.h"

// Reading of JSON objects whose unknown members are kept. Included by .cc files only.

namespace tilewright {

/// Reader of an object that returns the members it was not asked for as text.
class MemberReader {
 public:
  /// json: an object; has to outlive the reader.
  explicit MemberReader(const Json& json) : json_(json) {}
  /// Returns a member; null if there is none.
  const Json* Take(const char* name) {
    const auto found = json_.find(name);
    if (found == json_.end()) return nullptr;
    taken_.insert(name);
    return &*found;
  }
  /// As Take, but leaves an empty list or object among the others.
  const Json* TakeFilled(const char* name) {
    const auto found = json_.find(name);
    const bool empty = found != json_.end() && found->is_structured() && found->empty();
    return empty ? nullptr : Take(name);
  }
  /// Errors: kInvalidArgument unless the member is a text.
  Result<std::string> Text(const char* name) {
    const Json* member = Take(name);
    if (member == nullptr || !member->is_string()) {
      return InvalidArgument(std::string("expected a text \"") + name + "\"");
    }
    return member->get<std::string>();
  }
  /// Returns the members that were not taken, as a JSON object; empty without.
  std::string Others() const {
    Json others = Json::object();
    for (const auto& [name, value] : json_.items()) {
      if (!taken_.contains(name)) others[name] = value;
    }
    return others.empty() ? std::string() : DumpJson(others);
  }

 private:
  const Json& json_;
  std::set<std::string, std::less<>> taken_;
};

/// Adds the members of an object, given as text; nothing if it is empty.
inline void AddMembers(Json& json, std::string_view others) {
  if (others.empty()) return;
  const Result<Json> parsed = ParseJson(others);
  if (!parsed.ok()) return;
  for (const auto& [name, value] : parsed->items()) json[name] = value;
}

}  // namespace tilewright
