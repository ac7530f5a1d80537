#include <array>

#include "records/image.h"
#include "records/maintenance.h"
#include "records/row.h"
#include "src/base/printable.h"
#include "src/base/strings.h"

namespace tilewright::records {
namespace {

constexpr std::array kNames = {
    "id",
    "job",
    "workload",
    "target",
    "device",
    "epilogue",
    "template",
    "template_version",
    "codegen_version",
    "config_index",
    "config",
    "outcome",
    "reason",
    "metric",
    "value",
    "noise",
    "samples",
    "verified",
    "max_abs_error",
    "build_seconds",
    "run_seconds",
    "attempt",
    "finished_unix_seconds",
    "quiet_share",
    "predicted",
    "others",
};

/// Appends a field, in quotes if necessary. Characters that a terminal interprets, line breaks
/// among them, are escaped (Printable), so that a row is one line.
void Put(std::string& line, std::string_view text) {
  const std::string field = Printable(text);
  if (!line.empty()) line += ',';
  if (field.find_first_of(",\"") == std::string::npos) {
    line += field;
    return;
  }
  line += '"';
  for (const char c : field) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

std::string CsvLine(const Record& record) {
  const Trial& t = record.trial;
  const Candidate& c = t.candidate;
  std::string samples;
  for (const double sample : t.samples) {
    samples += (samples.empty() ? "" : " ") + ShortestDouble(sample);
  }
  std::string line;
  for (const std::string& field : {record.id,
                                   std::to_string(record.job),
                                   c.task.workload.Key(),
                                   c.task.target.ToString(),
                                   t.device.ToString(),
                                   c.epilogue.ToString(),
                                   c.template_key,
                                   std::to_string(c.template_version),
                                   std::to_string(t.codegen_version),
                                   std::to_string(c.config.index),
                                   c.config.ToString(),
                                   std::string(OutcomeName(t.outcome)),
                                   t.reason,
                                   t.metric,
                                   ShortestDouble(t.value),
                                   ShortestDouble(t.noise),
                                   samples,
                                   std::string(t.verified ? "1" : "0"),
                                   ShortestDouble(t.max_abs_error),
                                   ShortestDouble(t.build_seconds),
                                   ShortestDouble(t.run_seconds),
                                   std::to_string(t.attempt),
                                   ShortestDouble(t.finished_unix_seconds),
                                   t.clean_fraction < 0 ? "" : ShortestDouble(t.clean_fraction),
                                   t.predicted ? ShortestDouble(*t.predicted) : "",
                                   ExtraMetricsJson(t.others)}) {
    Put(line, field);
  }
  return line + "\r\n";
}

}  // namespace

Status ExportCsv(const std::string& path, const TrialFilter& filter,
                 const std::function<Status(std::string_view)>& write) {
  TW_ASSIGN_OR_RETURN(auto store, Store::Open(path, Store::Mode::kReadOnly));
  std::string header;
  for (const char* name : kNames) Put(header, name);
  TW_RETURN_IF_ERROR(write(header + "\r\n"));
  return store.ForEachTrial(filter, [&](const Record& record) { return write(CsvLine(record)); });
}

}  // namespace tilewright::records
