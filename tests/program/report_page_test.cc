// The page of `tilewright report` in a browser. All tests share one browser, because starting one
// takes longer than a test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/printable.h"
#include "src/report/bench_table.h"
#include "src/report/code.h"
#include "src/report/compare.h"
#include "src/report/page.h"
#include "tests/program/browser.h"
#include "tests/program/report_samples.h"

namespace tilewright::report {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// True if all charts on the page are drawn and none is blank.
constexpr const char* kDrawn =
    "(() => { const [drawn, placed] = (document.body.dataset.charts || '0/1').split('/');"
    " return drawn === placed && [...document.querySelectorAll('canvas')].every(canvas =>"
    " canvas.dataset.drawn === 'yes'); })()";
constexpr const char* kBlank =
    "[...document.querySelectorAll('canvas')].filter(canvas => { const pixels ="
    " canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
    " return !pixels.some(value => value !== 0); }).map(canvas => "
    "canvas.getAttribute('aria-label'))";
constexpr const char* kTooWide =
    "document.documentElement.scrollWidth - document.documentElement.clientWidth";

/// A network of two steps, as from a plan.
NetworkPage SyntheticNetwork() {
  NetworkPage network;
  network.graph = kHostile;
  network.coverage = {{"hit", 1}, {"default", 1}};
  network.arena_bytes = 4096;
  for (const char* answer : {"hit", "default"}) {
    NetworkStep step;
    step.value = step.op = step.explanation = step.config = kHostile;
    step.answer = answer;
    step.template_key = "conv2d.cpu";
    step.cost = 1e-3;
    step.miss_cost = 1e-4;
    step.live_bytes = 2048;
    network.steps.push_back(step);
  }
  return network;
}

/// A task of a VTA and of a GPU at once: every kind of chart.
VtaPage SyntheticVta() {
  VtaPage vta;
  vta.model = "pynq";
  vta.cycles = 1000;
  vta.engines = {"load", "compute", "store"};
  vta.timeline = {{{0, 300, "load"}}, {{200, 900, "gemm"}}, {{900, 1000, "store"}}};
  vta.memories = {{"inp", 4096}, {"wgt", 8192}};
  vta.points = {{1000, 5000, true, true}, {1500, 4000, false, true}, {2000, 6000, false, false}};
  vta.points_of = 3;
  return vta;
}

class ReportPageTest : public records::SampleStores {
 protected:
  static void SetUpTestSuite() {
    if (!Browser::IsThere() || !CheckPage().ok()) return;
    auto browser = Browser::Start();
    ASSERT_TRUE(browser.ok()) << browser.status().message();
    browser_.emplace(*std::move(browser));
  }
  static void TearDownTestSuite() { browser_.reset(); }
  void SetUp() override {
    if (!CheckPage().ok()) GTEST_SKIP() << CheckPage().message();
    if (!browser_) GTEST_SKIP() << "no Chromium here (scripts/setup.sh --with-browser)";
    records::SampleStores::SetUp();
    document_ = std::make_unique<Document>();
  }
  /// Writes a report of one hostile job.
  void Gather(std::int64_t trials) {
    AddSyntheticJob(Path("made.db"), SyntheticTrials(trials, trials / 2));
    GatherOptions options;
    options.templates = &BuiltInTemplates();
    options.finish = [](const TaskTrials& of, TaskPage& page) {
      for (const Trial& leader : of.leaders()) {
        page.code.push_back(ListingOf(BuiltInTemplates(), leader, "winner", page.code.empty()));
      }
      return Status();
    };
    const Status gathered = GatherStore(Path("made.db"), options, *document_);
    ASSERT_TRUE(gathered.ok()) << gathered.message();
    document_->title = document_->jobs.front().graph;
  }
  void Open(const std::string& view) {
    auto page = MakePage(*document_);
    ASSERT_TRUE(page.ok()) << page.status().message();
    ASSERT_TRUE(WriteFile(Path("report.html"), *page).ok());
    // Opens another address first: a change after # alone would not reload the page.
    const Status opened =
        browser_->Open("file://" + Path("report.html") + "?" + view + "#/" + view, kDrawn);
    ASSERT_TRUE(opened.ok()) << opened.message();
  }
  static std::string Text(const std::string& expression) {
    auto value = browser_->Evaluate(expression);
    EXPECT_TRUE(value.ok()) << value.status().message();
    return value.ok() && value->is_string() ? value->get<std::string>()
           : value.ok()                     ? value->dump()
                                            : "";
  }
  /// Expects no console errors and no requests.
  static void ExpectQuiet() {
    EXPECT_THAT(browser_->complaints(), IsEmpty());
    EXPECT_THAT(browser_->requests(), Each(StartsWith("file:///")));
    EXPECT_EQ(browser_->requests().size(), 1u);
  }

  static std::optional<Browser> browser_;
  std::unique_ptr<Document> document_;
};
std::optional<Browser> ReportPageTest::browser_;

TEST_F(ReportPageTest, DrawsEveryChartAndShowsHostileTextsAsText) {
  Gather(240);
  document_->network = SyntheticNetwork();
  document_->comparison = Compare(*document_, *document_, kHostile, kHostile);
  document_->missing.push_back(kHostile);
  TaskPage& task = document_->jobs.front().tasks.front();
  task.vta = SyntheticVta();
  task.gpu = {{"occupancy", 0.5}, {"bytes of shared memory of a block", 4096}};
  task.gpu_points = {{1e-3, 0.5, 4096, 1, true}, {2e-3, 1, 0, 4, false}};
  task.metrics = {"seconds", kHostile, "joules"};
  task.front = {{kHostile, kHostile, {1e-3, 5000, 2e-3}}};
  document_->bench = *ParseBenchTable(SyntheticTable(kHostile), kHostile);
  task.key = task.name = task.best_config = kHostile;
  task.finalists.front().config = task.finalists.front().template_key = kHostile;
  document_->jobs.front().device = kHostile;
  ASSERT_TRUE(browser_->Resize(1280, 900, false).ok());
  Open("all");
  ExpectQuiet();
  EXPECT_EQ(Text("document.querySelectorAll('canvas').length"), "16");
  EXPECT_EQ(Text(std::string(kBlank) + ".join()"), "");
  // The page contains only its own parts: three scripts, no images, no frames.
  EXPECT_EQ(Text("document.querySelectorAll('script').length"), "3");
  EXPECT_EQ(Text("document.querySelectorAll('img, iframe, object, link, b').length"), "0");
  EXPECT_EQ(Text("document.title.endsWith(' · Tilewright')"), "true");
  EXPECT_EQ(Text("document.querySelector('.task-page h1').textContent"), Printable(kHostile));
  EXPECT_EQ(Text("document.querySelector('.notes li').textContent"), Printable(kHostile));
  EXPECT_EQ(Text("document.querySelector('h1').textContent"), "</script><b>net\\x1b[31m");
}

TEST_F(ReportPageTest, FitsAPhoneInTheDark) {
  Gather(60);
  ASSERT_TRUE(browser_->Resize(375, 700, true).ok());
  for (const char* view : {"", "job/0/task/0"}) {
    Open(view);
    ExpectQuiet();
    EXPECT_EQ(Text(kTooWide), "0") << view;
    EXPECT_EQ(Text(std::string(kBlank) + ".join()"), "") << view;
  }
  EXPECT_EQ(Text("getComputedStyle(document.body).backgroundColor"), "rgb(17, 21, 27)");
}

TEST_F(ReportPageTest, LacksWhatTheStoreLacks) {
  std::vector<Trial> trials = SyntheticTrials(12, 5);
  for (Trial& trial : trials) trial.predicted.reset();
  Add(Path("old.db"), trials);
  GatherOptions options;
  options.templates = &BuiltInTemplates();
  ASSERT_TRUE(GatherStore(Path("old.db"), options, *document_).ok());
  Open("all");
  ExpectQuiet();
  EXPECT_EQ(Text("document.querySelectorAll('.notes li').length"), "2");
  EXPECT_EQ(Text("[...document.querySelectorAll('.none')].length >= 3"), "true");
}

// Simulator results and unchanged tables have no times and no gains.
TEST_F(ReportPageTest, ShowsATableAloneAndANetworkInCycles) {
  document_->title = "Benchmarks";
  document_->bench = *ParseBenchTable(SyntheticTable(kHostile), "table.json");
  ASSERT_TRUE(browser_->Resize(375, 700, true).ok());
  Open("bench");
  ExpectQuiet();
  EXPECT_EQ(Text(kTooWide), "0");
  EXPECT_EQ(Text("document.querySelector('.figure.bad').textContent"), "1");
  EXPECT_EQ(Text("document.querySelectorAll('#views a').length"), "1");
  document_->bench.reset();
  Gather(12);
  TaskPage& task = document_->jobs.front().tasks.front();
  task.default_value = task.best_value;
  document_->network = SyntheticNetwork();
  document_->network->metric = "cycles";
  document_->network->steps.front().cost = 0;
  document_->network->steps.front().layout = "NCHW16c";
  Open("all");
  ExpectQuiet();
  EXPECT_EQ(Text(std::string(kBlank) + ".join()"), "");
  EXPECT_EQ(Text("document.querySelectorAll('.strip').length"), "2");
}

TEST_F(ReportPageTest, FollowsLinksAndSorts) {
  Gather(60);
  ASSERT_TRUE(browser_->Resize(1280, 900, false).ok());
  Open("");
  EXPECT_EQ(Text("document.querySelector('td a').click(), 'clicked'"), "clicked");
  ASSERT_TRUE(browser_->WaitFor("!!document.querySelector('.task-page')").ok());
  EXPECT_EQ(Text("[...document.querySelectorAll('.switch button')][1].click(), 'clicked'"),
            "clicked");
  EXPECT_EQ(Text(std::string(kBlank) + ".join()"), "");
  ExpectQuiet();
}

}  // namespace
}  // namespace tilewright::report
