#include "records/row.h"

#include <cmath>
#include <cstring>

#include "src/base/json.h"
#include "src/target/device.h"
#include "src/templates/registry.h"

namespace tilewright::records {
namespace {

constexpr std::size_t kMostOthers = 16;

/// Looks a number up in one of the text tables and parses its text, once per number.
template <typename T, typename ParseText>
Result<const T*> Cached(std::unordered_map<std::int64_t, T>& cache, const Database& db,
                        std::int64_t id, const char* sql, ParseText parse) {
  if (const auto found = cache.find(id); found != cache.end()) return &found->second;
  auto query = Statement::Prepare(db, sql);
  TW_RETURN_IF_ERROR(query);
  query->Bind(1, id);
  auto row = query->Step();
  TW_RETURN_IF_ERROR(row);
  if (!*row)
    return Corrupt("record store: a trial names text " + std::to_string(id) + " that is not there");
  auto value = parse(query->Text(0));
  if (!value.ok()) return Corrupt("record store: " + value.status().message());
  return &cache.emplace(id, std::move(*value)).first->second;
}

}  // namespace

bool IsQuieter(const Trial& trial, const Trial& disturbed) {
  return trial.quiet_share >= 0 && !trial.disturbed() &&
         trial.finished_unix_seconds > disturbed.finished_unix_seconds &&
         trial.value <= kMostSlowerOfQuieter * disturbed.value;
}

Result<const Workload*> TextCache::WorkloadOf(const Database& db, std::int64_t id) {
  return Cached(workloads_, db, id, "SELECT key FROM workload WHERE id = ?1", Workload::Parse);
}
Result<const Target*> TextCache::TargetOf(const Database& db, std::int64_t id) {
  return Cached(targets_, db, id, "SELECT text FROM target WHERE id = ?1", Target::Parse);
}
Result<const DeviceFingerprint*> TextCache::DeviceOf(const Database& db, std::int64_t id) {
  return Cached(devices_, db, id, "SELECT text FROM device WHERE id = ?1",
                DeviceFingerprint::Parse);
}
Result<const Epilogue*> TextCache::EpilogueOf(const Database& db, std::int64_t id) {
  return Cached(epilogues_, db, id, "SELECT text FROM epilogue WHERE id = ?1", Epilogue::Parse);
}

Result<Record> ReadRow(const Database& db, const Statement& row, TextCache& cache) {
  Record record;
  record.id = row.Text(0);
  record.job = row.Int(1);
  Trial& trial = record.trial;
  auto workload = cache.WorkloadOf(db, row.Int(2));
  TW_RETURN_IF_ERROR(workload);
  auto target = cache.TargetOf(db, row.Int(3));
  TW_RETURN_IF_ERROR(target);
  auto device = cache.DeviceOf(db, row.Int(4));
  TW_RETURN_IF_ERROR(device);
  auto epilogue = cache.EpilogueOf(db, row.Int(5));
  TW_RETURN_IF_ERROR(epilogue);
  auto config = Config::Parse(row.Text(9));
  if (!config.ok()) return Corrupt("trial " + record.id + ": " + config.status().message());
  trial.candidate = {Task{**workload, **target}, **epilogue, std::string(row.Text(6)),
                     static_cast<int>(row.Int(7)), std::move(*config)};
  trial.device = **device;
  trial.codegen_version = static_cast<int>(row.Int(8));
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
  trial.samples.resize(samples.size() / sizeof(double));
  if (!trial.samples.empty()) {
    std::memcpy(trial.samples.data(), samples.data(), trial.samples.size() * sizeof(double));
  }
  trial.verified = row.Int(16) != 0;
  trial.max_abs_error = row.Real(17);
  trial.build_seconds = row.Real(18);
  trial.run_seconds = row.Real(19);
  trial.attempt = row.Int(20);
  trial.finished_unix_seconds = row.Real(21);
  trial.quiet_share = row.Real(22);
  if (!row.IsNull(23)) trial.predicted = row.Real(23);
  auto others = OthersFrom(row.Text(24));
  if (!others.ok()) return others.status().WithContext("trial " + record.id);
  trial.others = *std::move(others);
  return record;
}

std::string OthersText(const std::map<std::string, double>& others) {
  return others.empty() ? std::string() : DumpJson(Json(others));
}

Result<std::map<std::string, double>> OthersFrom(std::string_view text) {
  std::map<std::string, double> others;
  if (text.empty()) return others;
  const Result<Json> json = ParseJson(text);
  bool fine = json.ok() && json->is_object() && json->size() <= kMostOthers;
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
  return entry != nullptr && entry->version == template_version &&
         codegen_version == FindDeviceTraits(entry->device).codegen_version;
}

}  // namespace tilewright::records
