#include "src/report/bench_table.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

#include "src/base/json.h"

namespace tilewright::report {
namespace {

constexpr std::int64_t kBenchSchema = 1;

/// Reader of one object of a table. Keeps the first error; later reads return empty values.
class BenchObject {
 public:
  BenchObject(const Json& json, std::string place) : json_(json), place_(std::move(place)) {
    if (!json_.is_object()) Refuse("", "an object");
  }
  const Status& status() const { return status_; }

  std::string Text(const char* name) {
    const Json* found = Find(name);
    if (found != nullptr && found->is_string()) return found->get<std::string>();
    Refuse(name, "a text");
    return "";
  }
  /// Returns the text; empty if it is null or missing.
  std::string TextIfAny(const char* name) { return Absent(name) ? "" : Text(name); }
  double Number(const char* name, double least) {
    const Json* found = Find(name);
    if (found != nullptr && found->is_number()) {
      const auto value = found->get<double>();
      if (std::isfinite(value) && value >= least) return value;
    }
    Refuse(name, least > -HUGE_VAL ? fmt::format("a number of at least {:g}", least) : "a number");
    return 0;
  }
  std::optional<double> NumberIfAny(const char* name, double least) {
    if (Absent(name)) return std::nullopt;
    return Number(name, least);
  }
  std::int64_t Count(const char* name) {
    const Json* found = Find(name);
    if (found != nullptr && found->is_number_unsigned() && found->get<std::uint64_t>() < 1u << 31) {
      return found->get<std::int64_t>();
    }
    Refuse(name, "a whole number");
    return 0;
  }
  std::string OneOf(const char* name, std::initializer_list<const char*> words) {
    const std::string text = Text(name);
    std::string all;
    for (const char* word : words) {
      if (text == word) return text;
      all += (all.empty() ? "\"" : ", \"") + std::string(word) + "\"";
    }
    Refuse(name, "one of " + all);
    return text;
  }
  /// Returns the list; null if the member is not a list.
  const Json* List(const char* name) {
    const Json* found = Find(name);
    if (found != nullptr && found->is_array()) return found;
    Refuse(name, "a list");
    return nullptr;
  }
  void Refuse(const std::string& name, const std::string& expected) {
    if (!status_.ok()) return;
    const std::string dot = place_.empty() || name.empty() ? "" : ".";
    const std::string place = place_ + dot + name;
    status_ = InvalidArgument((place.empty() ? "" : place + ": ") + "expected " + expected +
                              ", as scripts/bench.sh writes it");
  }

 private:
  const Json* Find(const char* name) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }
  bool Absent(const char* name) const {
    const Json* found = Find(name);
    return found == nullptr || found->is_null();
  }

  const Json& json_;
  std::string place_;
  Status status_;
};

Result<BenchRow> ReadBenchRow(const Json& json, std::size_t number) {
  BenchObject object(json, fmt::format("rows[{}]", number));
  BenchRow row;
  row.group = object.Text("group");
  row.name = object.Text("name");
  row.unit = object.Text("unit");
  row.better = object.OneOf("better", {"less", "more"});
  row.value = object.Number("value", 0);
  row.noise = object.Number("noise", 0);
  row.before = object.NumberIfAny("before", 0);
  row.change = object.NumberIfAny("change", -1);
  row.verdict = object.OneOf("verdict", {"slower", "faster", "same", "new"});
  TW_RETURN_IF_ERROR(object.status());
  return row;
}

Result<BenchPage> ReadBench(const Json& json) {
  BenchObject object(json, "");
  const std::int64_t schema = object.Count("schema");
  TW_RETURN_IF_ERROR(object.status());
  if (schema != kBenchSchema) {
    return Unsupported(fmt::format("form {} of a table of scripts/bench.sh, this program reads {}",
                                   schema, kBenchSchema));
  }
  BenchPage page;
  page.cpu = object.Text("cpu");
  page.cores = object.Count("cores");
  page.date = object.Text("date");
  page.commit = object.Text("commit");
  page.version = object.Text("version");
  page.rounds = object.Count("rounds");
  page.load = object.NumberIfAny("load", 0);
  page.compared_with = object.TextIfAny("compared_with");
  page.compared_commit = object.TextIfAny("compared_commit");
  if (const Json* gone = object.List("gone")) {
    for (const Json& name : *gone) {
      if (!name.is_string()) object.Refuse("gone", "a list of texts");
      if (name.is_string()) page.gone.push_back(name.get<std::string>());
    }
  }
  const Json* rows = object.List("rows");
  TW_RETURN_IF_ERROR(object.status());
  for (std::size_t i = 0; i < rows->size(); ++i) {
    TW_ASSIGN_OR_RETURN(auto row, ReadBenchRow((*rows)[i], i));
    page.rows.push_back(std::move(row));
  }
  return page;
}

}  // namespace

std::int64_t BenchPage::CountOf(std::string_view verdict) const {
  std::int64_t count = 0;
  for (const BenchRow& row : rows) count += row.verdict == verdict ? 1 : 0;
  return count;
}

Result<BenchPage> ParseBenchTable(std::string_view text, const std::string& file) {
  const auto json = ParseJson(text);
  if (!json.ok()) return json.status().WithContext(file);
  auto page = ReadBench(*json);
  if (!page.ok()) return page.status().WithContext(file);
  page->file = file;
  return page;
}

}  // namespace tilewright::report
