#include "records/row.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "records/validation/rules.h"
#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/target/device.h"
#include "src/templates/registry.h"

namespace tilewright::records {
namespace {

constexpr std::size_t kMaxOthers = 16;

/// Types of the columns of a trial, in the order of kTrialColumns.
constexpr std::string_view kTrialTypes = "TIIIIITIITITTRRBIRRRIRRRT";
static_assert(kTrialTypes.size() == kTrialColumnCount);
/// Index of the nullable column.
constexpr std::size_t kPredicted = 23;

/// Errors: kCorrupt naming the column with another type.
Status CheckTypes(const Statement& row) {
  for (std::size_t i = 0; i < kTrialTypes.size(); ++i) {
    const char type = row.Type(static_cast<int>(i));
    if (type == kTrialTypes[i] || (i == kPredicted && type == 'N')) continue;
    const std::vector<std::string> names = Split(kTrialColumns, ',');
    const auto name_of = [](char t) {
      return t == 'T'   ? "a text"
             : t == 'I' ? "an integer"
             : t == 'R' ? "a number"
             : t == 'B' ? "bytes"
                        : "nothing";
    };
    return Corrupt("its column" + names[i].substr(names[i].rfind('.')).replace(0, 1, " ") +
                   " holds " + name_of(type) + ", expected " + name_of(kTrialTypes[i]));
  }
  return {};
}

/// Reads a stored version.
/// Errors: kCorrupt if it is invalid.
Result<int> VersionIn(const Statement& row, int column, const char* what) {
  const std::int64_t number = row.Int(column);
  if (number >= 0 && number <= std::numeric_limits<int>::max()) return static_cast<int>(number);
  return Corrupt(std::string(what) + " version " + std::to_string(number));
}

/// Looks up a number in one of the text tables and parses its text, once per number.
template <typename T, typename ParseText>
Result<const T*> Cached(std::unordered_map<std::int64_t, T>& cache, const Database& db,
                        std::int64_t id, const std::string& sql, ParseText parse) {
  if (const auto found = cache.find(id); found != cache.end()) return &found->second;
  TW_ASSIGN_OR_RETURN(auto query, Statement::Prepare(db, sql));
  query.Bind(1, id);
  TW_ASSIGN_OR_RETURN(auto row, query.Step());
  if (!row)
    return Corrupt("record store: a trial names text " + std::to_string(id) + " that is not there");
  if (query.Type(0) != 'T') {
    return Corrupt("record store: text " + std::to_string(id) + " is not a text");
  }
  auto value = parse(query.Text(0));
  if (!value.ok()) return Corrupt("record store: " + value.status().message());
  return &cache.emplace(id, std::move(*value)).first->second;
}

}  // namespace

bool ReplacesNoisy(const Trial& trial, const Trial& noisy) {
  return trial.clean_fraction >= 0 && !trial.noisy() &&
         EffectiveDate(trial.finished_unix_seconds) > EffectiveDate(noisy.finished_unix_seconds) &&
         trial.value <= kMaxSlowerOfQuieter * noisy.value;
}

Result<std::string> TrialColumnsIn(const Database& db, std::string_view schema) {
  // Columns of later schema versions, and their values for trials of earlier ones.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kLater = {
      {{"quiet", "-1.0"}, {"predicted", "NULL"}, {"others", "''"}}};
  std::string columns(kTrialColumns);
  for (const auto& [name, instead] : kLater) {
    TW_ASSIGN_OR_RETURN(
        auto known,
        QueryInt(db, "SELECT count(*) FROM pragma_table_info('trial', '" + std::string(schema) +
                         "') WHERE name = '" + std::string(name) + "'"));
    const std::string column = "trial." + std::string(name);
    if (known == 0) columns.replace(columns.find(column), column.size(), instead);
  }
  return columns;
}

Result<const Workload*> TextCache::WorkloadOf(const Database& db, std::int64_t id) {
  return Cached(workloads_, db, id, "SELECT key FROM " + schema_ + ".workload WHERE id = ?1",
                Workload::Parse);
}
Result<const Target*> TextCache::TargetOf(const Database& db, std::int64_t id) {
  return Cached(targets_, db, id, "SELECT text FROM " + schema_ + ".target WHERE id = ?1",
                Target::Parse);
}
Result<const DeviceFingerprint*> TextCache::DeviceOf(const Database& db, std::int64_t id) {
  return Cached(devices_, db, id, "SELECT text FROM " + schema_ + ".device WHERE id = ?1",
                DeviceFingerprint::Parse);
}
Result<const Epilogue*> TextCache::EpilogueOf(const Database& db, std::int64_t id) {
  return Cached(epilogues_, db, id, "SELECT text FROM " + schema_ + ".epilogue WHERE id = ?1",
                Epilogue::Parse);
}

Result<Record> ReadRow(const Database& db, const Statement& row, TextCache& cache) {
  Record record;
  record.id = row.Text(0);
  if (const Status types = CheckTypes(row); !types.ok()) {
    return types.WithContext("trial " + record.id);
  }
  record.job = row.Int(1);
  Trial& trial = record.trial;
  TW_ASSIGN_OR_RETURN(auto workload, cache.WorkloadOf(db, row.Int(2)));
  TW_ASSIGN_OR_RETURN(auto target, cache.TargetOf(db, row.Int(3)));
  TW_ASSIGN_OR_RETURN(auto device, cache.DeviceOf(db, row.Int(4)));
  TW_ASSIGN_OR_RETURN(auto epilogue, cache.EpilogueOf(db, row.Int(5)));
  auto config = Config::Parse(row.Text(9));
  if (!config.ok()) return Corrupt("trial " + record.id + ": " + config.status().message());
  const auto template_version = VersionIn(row, 7, "template");
  const auto codegen_version = VersionIn(row, 8, "code generator");
  for (const Status& status : {ToStatus(template_version), ToStatus(codegen_version)}) {
    if (!status.ok()) return status.WithContext("trial " + record.id);
  }
  trial.candidate = {Task{*workload, *target}, *epilogue, std::string(row.Text(6)),
                     *template_version, std::move(*config)};
  trial.device = *device;
  trial.codegen_version = *codegen_version;
  const std::int64_t outcome = row.Int(10);
  if (outcome < 0 || outcome > static_cast<std::int64_t>(Outcome::kDeviceLost)) {
    return Corrupt("trial " + record.id + ": outcome " + std::to_string(outcome) +
                   ", expected 0 to " + std::to_string(static_cast<int>(Outcome::kDeviceLost)));
  }
  trial.outcome = static_cast<Outcome>(outcome);
  trial.reason = row.Text(11);
  trial.metric = row.Text(12);
  trial.value = row.Real(13);
  trial.noise = row.Real(14);
  const std::string_view samples = row.Bytes(15);
  if (samples.size() % sizeof(double) != 0) {
    return Corrupt("trial " + record.id + ": its samples are cut off");
  }
  trial.samples.resize(samples.size() / sizeof(double));
  if (!trial.samples.empty()) {
    std::memcpy(trial.samples.data(), samples.data(), trial.samples.size() * sizeof(double));
  }
  if (row.Int(16) != 0 && row.Int(16) != 1) {
    return Corrupt("trial " + record.id + ": verified is " + std::to_string(row.Int(16)) +
                   ", expected 0 or 1");
  }
  trial.verified = row.Int(16) != 0;
  trial.max_abs_error = row.Real(17);
  trial.build_seconds = row.Real(18);
  trial.run_seconds = row.Real(19);
  trial.attempt = row.Int(20);
  trial.finished_unix_seconds = row.Real(21);
  trial.clean_fraction = row.Real(22);
  if (!row.IsNull(23)) trial.predicted = row.Real(23);
  auto others = ParseExtraMetrics(row.Text(24));
  if (!others.ok()) return others.status().WithContext("trial " + record.id);
  trial.others = *std::move(others);
  return record;
}

std::string ExtraMetricsJson(const std::map<std::string, double>& others) {
  return others.empty() ? std::string() : DumpJson(Json(others));
}

Result<std::map<std::string, double>> ParseExtraMetrics(std::string_view text) {
  std::map<std::string, double> others;
  if (text.empty()) return others;
  const Result<Json> json = ParseJson(text);
  bool fine = json.ok() && json->is_object() && json->size() <= kMaxOthers;
  for (auto item = fine ? json->begin() : Json::const_iterator(); fine && item != json->end();
       ++item) {
    const double value = item->is_number() ? item->get<double>() : 0;
    fine = std::isfinite(value) && value > 0;
    others[item.key()] = value;
  }
  if (!fine) {
    return Corrupt("other metrics \"" + std::string(text.substr(0, 60)) +
                   "\", expected an object of positive numbers");
  }
  return others;
}

bool VersionsAreCurrent(const TemplateRegistry& templates, std::string_view template_key,
                        std::int64_t template_version, std::int64_t codegen_version) {
  const TemplateEntry* entry = templates.Find(template_key);
  if (entry == nullptr || entry->version != template_version) return false;
  if (codegen_version == FindDeviceTraits(entry->device).codegen_version) return true;
  // Devices that share templates have versions of their own, no two of which are equal.
  return std::ranges::any_of(AllDevices(), [&](const DeviceTraits& other) {
    return other.templates_of == entry->device && codegen_version == other.codegen_version;
  });
}

}  // namespace tilewright::records
