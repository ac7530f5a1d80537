// Time of a report of many trials: a store of synthetic trials of networks' tasks is gathered and
// written as a page, and Chromium (tests/program/browser.h) opens the page.
// report_bench [TRIALS]; 100,000 by default. report_bench PAGE.html only opens that page.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "records/store.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/random.h"
#include "src/report/gather.h"
#include "src/report/page.h"
#include "src/target/device.h"
#include "src/templates/registry.h"
#include "tests/program/browser.h"

namespace tilewright {
namespace {

constexpr std::int64_t kTasks = 50;
constexpr int kOpenings = 5;

Status FillStore(const TemplateRegistry& templates, const std::string& path, std::int64_t trials) {
  TW_ASSIGN_OR_RETURN(auto store, records::Store::Open(path, records::Store::Mode::kReadWrite));
  TW_ASSIGN_OR_RETURN(
      auto job, store.OpenJob("synthetic", R"({"graph":"synthetic.onnx","strategy":"model"})", 1));
  const Target target = *Target::Parse("llvm -mcpu=haswell");
  Random random(1);
  double finished = 1.75e9;
  for (std::int64_t task = 0; task < kTasks; ++task) {
    const std::int64_t channels = 16 * (task + 1);
    TW_ASSIGN_OR_RETURN(
        auto workload,
        Workload::Parse("conv2d(float32[1," + std::to_string(channels) + ",56,56]NCHW,float32[64," +
                        std::to_string(channels) + ",3,3]OIHW,s1x1,p1x1x1x1,d1x1,g1)->float32"));
    // All configs of all templates, one after the other, evenly thinned.
    std::vector<std::pair<const TemplateEntry*, ConfigSpace>> spaces;
    std::int64_t configs = 0;
    for (const TemplateEntry* entry : templates.For(workload, target)) {
      TW_ASSIGN_OR_RETURN(auto space, entry->define_space(workload, target));
      configs += space.size();
      spaces.emplace_back(entry, std::move(space));
    }
    std::vector<Trial> rows;
    for (std::int64_t i = 0; i < trials / kTasks; ++i) {
      Trial trial;
      trial.candidate.task = {workload, target};
      const std::int64_t stride = std::max<std::int64_t>(1, configs * kTasks / trials);
      std::int64_t at = i * stride % configs;
      std::size_t which = 0;
      while (at >= spaces[which].second.size()) at -= spaces[which++].second.size();
      trial.candidate.template_key = spaces[which].first->key;
      trial.candidate.template_version = spaces[which].first->version;
      trial.candidate.config = spaces[which].second.At(at);
      trial.value = 1e-3 * (1 + 5 * random.Uniform() / (1 + 0.01 * static_cast<double>(i)));
      trial.samples = {trial.value};
      trial.noise = 0.01;
      trial.verified = true;
      trial.predicted = -std::log(trial.value) + 0.3 * random.Uniform();
      trial.build_seconds = trial.run_seconds = 0.04;
      trial.finished_unix_seconds = finished += 0.1;
      trial.device.kind = "cpu";
      trial.device.model = "made up";
      trial.codegen_version = DeviceTraitsOf(target).codegen_version;
      if (random.Uniform() < 0.05) {
        trial.outcome = Outcome::kRunTimeout;
        trial.reason = "took longer than " + std::to_string(i) + " ms";
        trial.verified = false;
      } else {
        trial.outcome = Outcome::kOk;
      }
      rows.push_back(std::move(trial));
    }
    TW_RETURN_IF_ERROR(store.Append(job.id, rows, {}));
  }
  return {};
}

/// Opens the views of a page, and prints for each the time from the start of the navigation to the
/// first contentful paint, and until the view is made.
Status OpenViews(const std::string& file) {
  if (!Browser::IsThere()) return Unavailable("no Chromium here: not opened");
  TW_ASSIGN_OR_RETURN(auto browser, Browser::Start());
  TW_RETURN_IF_ERROR(browser.Resize(1400, 900, false));
  const std::string paint = "performance.getEntriesByName('first-contentful-paint')";
  for (const char* view : {"", "job/0/task/0", "job/0/trials", "all"}) {
    std::printf("#/%-12s first paint / view made, ms:", view);
    for (int i = 0; i < kOpenings; ++i) {
      TW_RETURN_IF_ERROR(browser.Open("file://" + file + "?" + std::to_string(i) + "#/" + view,
                                      "window.drawnAt > 0 && " + paint + ".length > 0"));
      TW_ASSIGN_OR_RETURN(auto painted, browser.Evaluate(paint + "[0].startTime"));
      TW_ASSIGN_OR_RETURN(auto made, browser.Evaluate("window.drawnAt"));
      std::printf("  %.0f / %.0f", painted.get<double>(), made.get<double>());
    }
    TW_ASSIGN_OR_RETURN(auto charts, browser.Evaluate("document.body.dataset.charts"));
    std::printf("  charts drawn %s\n", charts.get<std::string>().c_str());
  }
  for (const std::string& line : browser.complaints()) std::printf("%s\n", line.c_str());
  return {};
}

Status Measure(std::int64_t trials) {
  const TemplateRegistry templates = TemplateRegistry::BuiltIn();
  TW_ASSIGN_OR_RETURN(auto folder, ScopedTempDir::Create("tilewright-report-bench"));
  const std::string store = folder.path() + "/synthetic.db", file = folder.path() + "/report.html";
  TW_RETURN_IF_ERROR(FillStore(templates, store, trials));
  SystemClock clock;
  report::Document document;
  report::GatherOptions options;
  options.templates = &templates;
  double start = clock.MonotonicSeconds();
  TW_RETURN_IF_ERROR(report::GatherStore(store, options, document));
  std::printf("%lld trials of %lld tasks gathered in %.2f s\n",
              static_cast<long long>(document.jobs.front().trials), static_cast<long long>(kTasks),
              clock.MonotonicSeconds() - start);
  start = clock.MonotonicSeconds();
  TW_ASSIGN_OR_RETURN(auto page, report::MakePage(document));
  TW_RETURN_IF_ERROR(WriteFile(file, page));
  std::printf("page of %.2f MB written in %.2f s\n", 1e-6 * static_cast<double>(page.size()),
              clock.MonotonicSeconds() - start);
  return OpenViews(file);
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  const std::string_view given = argc > 1 ? argv[1] : "100000";
  const tilewright::Status measured = given.ends_with(".html")
                                          ? tilewright::OpenViews(std::string(given))
                                          : tilewright::Measure(std::atoll(given.data()));
  if (!measured.ok()) std::fprintf(stderr, "report_bench: %s\n", measured.message().c_str());
  return measured.ok() ? 0 : 1;
}
