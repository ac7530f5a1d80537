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
// True if the view was made; charts and tasks that are far away are not drawn.
constexpr const char* kMade = "window.drawnAt > 0";
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
  /// Opens a view, and with `complete` draws all of it, as printing does.
  void Open(const std::string& view, bool complete = true) {
    auto page = MakePage(*document_);
    ASSERT_TRUE(page.ok()) << page.status().message();
    ASSERT_TRUE(WriteFile(Path("report.html"), *page).ok());
    // Opens another address first: a change after # alone would not reload the page.
    const Status opened =
        browser_->Open("file://" + Path("report.html") + "?" + view + "#/" + view, kMade);
    ASSERT_TRUE(opened.ok()) << opened.message();
    if (complete) {
      EXPECT_EQ(Text(std::string("completeAll(), ") + kDrawn), "true");
    }
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
  EXPECT_EQ(Text("document.querySelectorAll('canvas').length"), "18");
  EXPECT_EQ(Text(std::string(kBlank) + ".join()"), "");
  // The page contains only its own parts: four scripts, no images, no frames.
  EXPECT_EQ(Text("document.querySelectorAll('script').length"), "4");
  EXPECT_EQ(Text("document.querySelectorAll('img, iframe, object, link, b').length"), "0");
  EXPECT_EQ(Text("document.title.endsWith(' · Tilewright')"), "true");
  EXPECT_EQ(Text("document.querySelector('.task-page h1').textContent"), Printable(kHostile));
  EXPECT_EQ(Text("document.querySelector('.notes li').textContent"), Printable(kHostile));
  EXPECT_EQ(Text("document.querySelector('h1').textContent"), "</script><b>net\\x1b[31m");
  // Every chart as SVG: well-formed, and of shapes and texts only.
  EXPECT_EQ(
      Text("[...document.querySelectorAll('canvas')].map(canvas => {"
           " const file = new DOMParser().parseFromString(svgOf(canvas), 'image/svg+xml');"
           " return [...new Set([...file.querySelectorAll('*')].map(node => node.tagName))]"
           ".filter(tag => !['svg', 'defs', 'clipPath', 'path', 'rect', 'text'].includes(tag))"
           " + (file.querySelectorAll('path, rect').length < 4 ? 'empty' : ''); }).join('')"),
      "");
  ExpectQuiet();
}

TEST_F(ReportPageTest, ManyTasksAreDrawnWhenTheyComeNear) {
  Gather(60);
  JobPage& job = document_->jobs.front();
  job.tasks.resize(31, job.tasks.front());
  ASSERT_TRUE(browser_->Resize(1400, 900, false).ok());
  Open("all", false);
  const std::string placed = "Number(document.body.dataset.charts.split('/')[1])";
  EXPECT_EQ(Text(placed + " < 12"), "true");
  EXPECT_EQ(Text("document.querySelectorAll('.task-page').length"), "0");
  EXPECT_EQ(Text("document.querySelectorAll('.deferred.page')[30].scrollIntoView(), 'there'"),
            "there");
  ASSERT_TRUE(browser_->WaitFor("!!document.querySelector('.task-page')").ok());
  EXPECT_EQ(Text("document.querySelectorAll('.task-page').length < 6"), "true");
  // Paper has all of it.
  EXPECT_EQ(Text("window.dispatchEvent(new Event('beforeprint')), "
                 "document.querySelectorAll('.task-page').length"),
            "31");
  EXPECT_EQ(Text(kDrawn), "true");
  ExpectQuiet();
}

TEST_F(ReportPageTest, TrialsAreSearchedSortedAndSavedAsCsv) {
  Gather(120);
  ASSERT_TRUE(browser_->Resize(1280, 900, false).ok());
  Open("job/0/trials");
  EXPECT_EQ(Text("document.querySelectorAll('.trials tbody tr').length"), "50");
  EXPECT_EQ(Text("document.querySelector('.count').textContent"), "1–50 of 120");
  EXPECT_EQ(Text("[...document.querySelectorAll('.pages button')][1].click(),"
                 "document.querySelector('.count').textContent"),
            "51–100 of 120");
  EXPECT_EQ(Text("[...document.querySelectorAll('th button')]"
                 ".find(one => one.textContent === 'Result').click(),"
                 "document.querySelector('th[aria-sort]').textContent + ' ' +"
                 "document.querySelector('.trials tbody tr .tag.bad')"),
            "Result null");
  const std::string type =
      "(text => { const box = document.querySelector('input[type=search]'); box.focus();"
      " box.value = text; box.dispatchEvent(new Event('input'));"
      " return document.querySelector('.count').textContent; })";
  EXPECT_EQ(Text(type + "('wrong RESULT')"), "1–6 of 6 (120 in all)");
  EXPECT_EQ(Text(type + "('no such text')"), "0 of 120");
  // New data of a running job: controls keep their state and the focus.
  EXPECT_EQ(Text(type + "('wrong'), show(), document.activeElement.value + ' ' +"
                        "document.querySelector('.count').textContent"),
            "wrong 1–6 of 6 (120 in all)");
  EXPECT_EQ(Text("trialsCsv(trialRows(report.jobs[0], report.jobs[0].tasks)).split('\\r\\n')"
                 ".slice(0, 1).join()"),
            "number,task,workload,epilogue,trial,race,seconds_of_job,outcome,value,metric,noise,"
            "disturbed,template,config");
  EXPECT_EQ(Text("trialsCsv(trialRows(report.jobs[0], report.jobs[0].tasks)).split('\\r\\n')"
                 ".length"),
            "122");
  ExpectQuiet();
}

TEST_F(ReportPageTest, TheReaderChoosesTheTheme) {
  Gather(12);
  ASSERT_TRUE(browser_->Resize(1280, 900, false).ok());
  const std::string choose =
      "(name => { themePicker.value = name; themePicker.dispatchEvent(new Event('change'));"
      " return getComputedStyle(document.body).backgroundColor; })";
  const std::string shown = "getComputedStyle(document.body).backgroundColor";
  Open("");
  EXPECT_EQ(Text(shown), "rgb(247, 246, 243)");
  EXPECT_EQ(Text(choose + "('dark')"), "rgb(17, 21, 27)");
  Open("job/0/task/0");
  EXPECT_EQ(Text(shown + " + themePicker.value"), "rgb(17, 21, 27)dark");
  ASSERT_TRUE(browser_->Resize(1280, 900, true).ok());
  EXPECT_EQ(Text(choose + "('light')"), "rgb(247, 246, 243)");
  EXPECT_EQ(Text(choose + "('system')"), "rgb(17, 21, 27)");
  ExpectQuiet();
}

TEST_F(ReportPageTest, ARunningJobHasItsProgress) {
  Gather(60);
  document_->live = true;
  const TaskPage& task = document_->jobs.front().tasks.front();
  document_->progress = LivePage{0.25,        20,       60,
                                 60,          3,        1,
                                 0,           task.key, task.epilogue,
                                 task.target, kHostile, R"({"values":{"tile":[4,8],"pad":"copy"}})",
                                 "ok",        1e-3};
  ASSERT_TRUE(browser_->Resize(420, 900, false).ok());
  Open("");
  EXPECT_EQ(Text("document.querySelector('.progress').getAttribute('aria-valuenow')"), "25");
  EXPECT_EQ(Text("[...document.querySelectorAll('.fact')].map(one => one.textContent)"
                 ".find(text => text.startsWith('Time left')).slice(0, 21)"),
            "Time left1 min, until");
  EXPECT_EQ(Text("[...document.querySelectorAll('.fact')].map(one => one.textContent)"
                 ".find(text => text.startsWith('State'))"),
            "Staterunning");
  EXPECT_EQ(Text("[...document.querySelectorAll('.fact.whole .knob')].map(one => one.textContent)"
                 ".join(' ')"),
            "tile=[4,8] pad=copy");
  EXPECT_EQ(Text(kTooWide), "0");
  EXPECT_EQ(Text("[...document.querySelectorAll('.command code')].map(one => one.textContent)"
                 ".find(text => text.startsWith('tilewright tune'))"),
            "tilewright tune net.onnx --fleet nats://host:4222 --budget 90");
  // A page in a file has no server to request data from, now or later.
  EXPECT_EQ(Text("String(document.getElementById('live'))"), "null");
  ExpectQuiet();
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

// A search for number formats, alone in its store, on a phone in dark colours.
TEST_F(ReportPageTest, ShowsNumberFormats) {
  document_->title = "Formats";
  document_->formats = {SyntheticFormats(), SyntheticFormats()};
  for (const int width : {420, 1280}) {
    ASSERT_TRUE(browser_->Resize(width, 800, width == 420).ok());
    Open(width == 420 ? "" : "formats");
    ExpectQuiet();
    EXPECT_EQ(Text(kTooWide), "0");
    EXPECT_EQ(Text(std::string(kBlank) + ".join()"), "");
    EXPECT_EQ(Text("document.querySelector('h1').textContent"),
              "Number formats of " + Printable(kHostile));
    EXPECT_EQ(Text("document.querySelectorAll('canvas').length"), "1");
    EXPECT_EQ(Text("document.querySelectorAll('img, iframe, b').length"), "0");
    EXPECT_EQ(Text("document.querySelectorAll('table').length"), "3");
    EXPECT_EQ(Text("document.querySelectorAll('.meter').length"), "2");
  }
  Open("formats/1");
  EXPECT_EQ(Text("document.querySelectorAll('.crumbs a')[1].getAttribute('aria-current')"), "page");
}

TEST_F(ReportPageTest, FollowsLinksAndSorts) {
  Gather(60);
  ASSERT_TRUE(browser_->Resize(1280, 900, false).ok());
  Open("");
  EXPECT_EQ(Text("document.querySelector('td a').click(), 'clicked'"), "clicked");
  ASSERT_TRUE(browser_->WaitFor("!!document.querySelector('.task-page')").ok());
  EXPECT_EQ(Text("completeAll(), [...document.querySelectorAll('.switch button')]"
                 ".map(button => button.click()).length > 4"),
            "true");
  EXPECT_EQ(Text(std::string(kBlank) + ".join()"), "");
  ExpectQuiet();
}

}  // namespace
}  // namespace tilewright::report
