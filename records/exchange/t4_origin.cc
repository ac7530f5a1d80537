#include "records/exchange/t4_origin.h"

#include <utility>

#include "src/base/json.h"

namespace tilewright::records {
namespace {

LogEntry EntryOf(const Json& json) { return {"", kT4EntryKind, DumpJson(json)}; }

Status NoEntry(const Store& store, const Status& why) {
  return Corrupt(store.path() + ": a log entry of an imported T4 file: " + why.message());
}

}  // namespace

LogEntry T4FileEntry(const T4File& file, const std::string& t1) {
  T4File empty = file;
  empty.results.clear();
  Json json = {{"file", empty.ToJson()}};
  if (!t1.empty()) json["t1"] = t1;
  return EntryOf(json);
}

LogEntry T4ResultEntry(const T4Result& result, std::int64_t index) {
  return EntryOf(Json{{"index", index}, {"result", T4ResultJson(result)}});
}

Result<std::optional<T4Origin>> ReadT4Origin(const Store& store, std::int64_t job) {
  TW_ASSIGN_OR_RETURN(const auto entries, store.LogOfKind(job, kT4EntryKind));
  if (entries.empty()) return std::optional<T4Origin>();
  T4Origin origin;
  for (const LogEntry& entry : entries) {
    const auto json = ParseJson(entry.payload);
    if (!json.ok()) return NoEntry(store, json.status());
    if (json->is_object() && json->contains("file")) {
      auto file = T4File::From((*json)["file"]);
      if (!file.ok()) return NoEntry(store, file.status());
      origin.file = *std::move(file);
      if (json->contains("t1") && (*json)["t1"].is_string()) origin.t1 = (*json)["t1"];
      continue;
    }
    const bool whole = json->is_object() && json->contains("index") &&
                       (*json)["index"].is_number_integer() && json->contains("result");
    if (!whole) return NoEntry(store, InvalidArgument("neither a file nor a result"));
    auto result = T4ResultFrom((*json)["result"]);
    if (!result.ok()) return NoEntry(store, result.status());
    origin.results_of[(*json)["index"].get<std::int64_t>()].push_back(origin.file.results.size());
    origin.file.results.push_back(*std::move(result));
  }
  return std::optional<T4Origin>(std::move(origin));
}

}  // namespace tilewright::records
