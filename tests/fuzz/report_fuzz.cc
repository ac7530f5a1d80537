// Inputs of a report other than records: the first line selects the kind, the rest is the text.
// Kinds are a store's peak entry, entries of a job's log, and tables of scripts/bench.sh. Valid
// input must print to a text that parses to the same value.

#include <cstdint>
#include <string>
#include <string_view>

#include "search/job_log.h"
#include "src/base/json.h"
#include "src/report/bench_table.h"
#include "src/report/document_text.h"
#include "src/report/gather.h"

namespace {

using namespace tilewright;  // NOLINT: a test program of one function

void TryPeaks(std::string_view text) {
  const auto peaks = report::ParsePeaks(text);
  if (!peaks.ok()) return;
  const std::string printed = report::PeaksText(*peaks);
  const auto again = report::ParsePeaks(printed);
  TW_CHECK(again.ok() && report::PeaksText(*again) == printed, printed);
}

void TryBench(std::string_view text) {
  auto page = report::ParseBenchTable(text, "table.json");
  if (!page.ok()) return;
  report::Document document;
  document.bench = *std::move(page);
  ToText(document);
  TW_CHECK(ParseJson(DumpJson(report::ToJson(document))).ok(), "the report's JSON");
}

/// kind: as stored. Tries the entry for the whole job, then for a task.
void TryLog(const std::string& kind, std::string_view text) {
  const std::string payload(text);
  const auto whole = search::DecodeJobLog({{"", kind, payload}, {"", kind, payload}});
  if (whole.ok()) {
    for (const auto& life : whole->runs) {
      const records::LogEntry entry = search::Encode(life);
      const auto again = search::DecodeJobLog({entry});
      TW_CHECK(again.ok() && search::Encode(again->runs.at(0)).payload == entry.payload, payload);
    }
    for (const auto& time : whole->times) {
      const records::LogEntry entry = search::Encode(time);
      const auto again = search::DecodeJobLog({entry});
      TW_CHECK(again.ok() && search::Encode(again->times.at(0)).payload == entry.payload, payload);
    }
    report::TimeOf(whole->times);
  }
  const auto task = search::Decode({{"task", kind, payload}});
  if (task.ok() && task->best) {
    const auto entry = search::Encode("task", *task->best);
    const auto again = search::Decode({entry});
    TW_CHECK(again.ok() && search::Encode("task", *again->best).payload == entry.payload, payload);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = all.find('\n');
  if (end == std::string_view::npos) return 0;
  const std::string_view kind = all.substr(0, end), text = all.substr(end + 1);
  if (kind == "peaks") {
    TryPeaks(text);
  } else if (kind == "bench") {
    TryBench(text);
  } else {
    TryLog(std::string(kind), text);
  }
  return 0;
}
