#pragma once

// Synthetic store with a job, for the tests of reports.

#include <cmath>

#include "search/job_log.h"
#include "src/base/json.h"
#include "src/report/gather.h"
#include "tests/optimize/sample_report.h"
#include "tests/records/sample_trials.h"

namespace tilewright::report {

/// Markup, scripts, control characters and line separators, which a page must show as text.
inline const std::string kHostile =
    "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>"
    "<!--&lt;\x1b[31m\x07 \xE2\x80\xA8\xE2\x80\xA9 \"'`${1}";

/// Trials of the sample convolution: consecutive configs of its space, slower with the distance
/// from `center`, scored by a model that predicts two thirds of the effect.
inline std::vector<Trial> SyntheticTrials(std::int64_t count, std::int64_t center) {
  std::vector<Trial> trials;
  const TemplateEntry* entry =
      BuiltInTemplates().For(records::SampleConv(), records::SampleTarget()).front();
  const ConfigSpace space = *entry->define_space(records::SampleConv(), records::SampleTarget());
  const Config standard = *entry->default_config(records::SampleConv(), records::SampleTarget());
  for (std::int64_t i = 0; i < count; ++i) {
    const double far = std::abs(static_cast<double>(i - center)) / static_cast<double>(count);
    const double value = 1e-3 * (1 + 4 * far + 0.3 * std::sin(static_cast<double>(i)));
    Trial trial = records::SampleTrial(i % space.size(), value);
    if (i == 0) trial.candidate.config = standard;
    trial.attempt = 0;
    trial.predicted = -far - 0.3 * std::sin(0.7 * static_cast<double>(i));
    trial.build_seconds = 0.05;
    trial.run_seconds = 0.05;
    trial.finished_unix_seconds = 1.75e9 + 0.1 * static_cast<double>(i);
    trial.clean_fraction = i % 9 == 0 ? 0 : 1;
    if (i % 11 == 5) {
      trial.outcome = i % 2 == 0 ? Outcome::kBuildFailed : Outcome::kWrongResult;
      trial.reason = "differs at element " + std::to_string(i) + " " + kHostile;
      trial.verified = false;
      trial.value = 0;
      trial.samples.clear();
    }
    trials.push_back(std::move(trial));
  }
  return trials;
}

/// Adds the trials to a new store under a job of a hostile graph, with the notes of a search.
inline void AddSyntheticJob(const std::string& path, const std::vector<Trial>& trials) {
  auto store = records::Store::Open(path, records::Store::Mode::kReadWrite);
  ASSERT_TRUE(store.ok()) << store.status().message();
  auto job =
      store->OpenJob("0123456789abcdef",
                     R"({"graph":"\u003c/script>\u003cb>net\u001b[31m","strategy":"model"})", 7);
  ASSERT_TRUE(job.ok());
  search::RunEntry life{1.75e9, 0, 0.02, {{records::SampleConv().Key(), "", 3}}};
  life.command = "tilewright tune net.onnx --fleet nats://user:secret@host:4222 --budget 90";
  life.trials = 640;
  life.budget_seconds = 90;
  std::vector<records::LogEntry> log = {search::Encode(life)};
  for (int i = 1; i <= 20; ++i) {
    const double wall = i;
    log.push_back(search::Encode(search::TimeEntry{wall, wall, 0.7 * wall, 0.5 * wall, 0.4 * wall,
                                                   0.2 * wall, 0.05 * wall, i}));
  }
  ASSERT_TRUE(store->Append(job->id, trials, log).ok());
  MachinePeaks peaks{100e9, 200e9, 60e9, 20e9};
  ASSERT_TRUE(store->SetFact(PeaksFact(records::SampleDevice()), PeaksText(peaks)).ok());
}

/// Page of a search for number formats with hostile names.
inline FormatsPage SyntheticFormats() {
  FormatsPage page{"formats.db", "optimize-0123",          kHostile, "llvm",
                   kHostile,     optimize::SampleReport(), {}};
  page.search.sites.front().site.name = page.search.sites.front().why = kHostile;
  page.search.combinations.front().refused = page.search.reason = page.search.score = kHostile;
  page.bounds = optimize::BoundCosts(page.search);
  return page;
}

/// A table of scripts/bench.sh with hostile names: one row slower, one faster, one new, one
/// removed.
inline std::string SyntheticTable(const std::string& name) {
  const auto row = [&name](const char* verdict, double before, double change) {
    nlohmann::ordered_json json = {
        {"group", "networks"}, {"name", name + verdict}, {"unit", "ms"},
        {"better", "less"},    {"value", 15.4},          {"noise", 0.01},
        {"before", before},    {"change", change},       {"verdict", verdict}};
    if (before == 0) json["before"] = json["change"] = nullptr;
    return json;
  };
  return DumpJson({{"schema", 1},
                   {"cpu", "Test CPU"},
                   {"cores", 2},
                   {"date", "2026-11-24T15:00:24Z"},
                   {"commit", "ed9c58ad81"},
                   {"version", "1.0.0"},
                   {"rounds", 3},
                   {"load", 0.5},
                   {"compared_with", "then/table.json"},
                   {"compared_commit", "0123456789"},
                   {"gone", {"search: " + name}},
                   {"rows", {row("slower", 14, 0.1), row("faster", 17, -0.1), row("new", 0, 0)}}});
}

}  // namespace tilewright::report
