// `tilewright report`: the jobs of stores as a page, as text, or as JSON.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "python_free_cli/command.h"
#include "python_free_cli/device_network.h"
#include "python_free_cli/model_source.h"
#include "python_free_cli/print.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/text/plural.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"
#include "src/report/bench_table.h"
#include "src/report/code.h"
#include "src/report/compare.h"
#include "src/report/device_pages.h"
#include "src/report/document_text.h"
#include "src/report/gather.h"
#include "src/report/network.h"
#include "src/report/page.h"
#include "src/session/session.h"
#include "src/target/device.h"

namespace tilewright::cli {
namespace {

class ReportCommand final : public Command {
 public:
  const char* name() const override { return "report"; }
  const char* summary() const override {
    return "Show the results of tuning: a page with charts (-o), text, or JSON";
  }
  const char* examples() const override {
    return "  tilewright report records.db\n"
           "  tilewright report records.db -o report.html\n"
           "  tilewright report records.db --graph resnet18.onnx -o report.html\n"
           "  tilewright report today.db --compare yesterday.db -o report.html\n"
           "  tilewright report records.db --json\n"
           "  tilewright report --bench bench/results/2026-11-24-znver4/table.json -o bench.html\n"
           "The page is one file; it needs no network and no server.\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("store", stores_, "Record stores; none if --bench is given");
    app.add_option("-o,--output", output_, "HTML page to write; without it text is printed");
    app.add_option(
        "--graph", graph_,
        "Model file: adds the time of its operators, their coverage by records, and its memory");
    model_.Declare(app);
    app.add_option("--compare", other_, "Another store to compare with, task by task");
    app.add_option("--bench", bench_,
                   "Table of scripts/bench.sh (table.json): adds its measurements and regressions");
    app.add_option("--job", job_,
                   "Only the job with this name, or with this beginning of its name");
    app.add_flag("--no-code", no_code_, "Omit loops and assembly; nothing is compiled");
    app.add_flag("--json", json_, "Print the data of the charts as JSON");
  }
  Result<int> Run() override {
    report::Document document;
    SystemClock clock;
    document.made_unix = clock.UnixSeconds();
    document.program = "tilewright " TILEWRIGHT_VERSION;
    if (stores_.empty() &&
        (bench_.empty() || !graph_.empty() || !other_.empty() || !job_.empty())) {
      return InvalidArgument(bench_.empty() ? "store: expected at least one, or --bench TABLE"
                                            : "store: --graph, --compare and --job need one");
    }
    if (!output_.empty()) TW_RETURN_IF_ERROR(report::CheckPage());
    report::GatherOptions options;
    options.templates = &templates();
    options.job = job_;
    const bool code = !no_code_ && (json_ || !output_.empty());
    if (code) {
      options.finish = [this](const report::TaskTrials& trials, report::TaskPage& page) {
        AddCode(trials, page);
        report::FillDevicePages(templates(), trials.fastest(), trials.spread(), page);
        return Status();
      };
    }
    for (const std::string& store : stores_) {
      TW_RETURN_IF_ERROR(report::GatherStore(store, options, document));
    }
    if (!bench_.empty()) TW_RETURN_IF_ERROR(AddBench(document));
    document.title = TitleOf(document);
    if (!other_.empty()) TW_RETURN_IF_ERROR(AddComparison(document));
    if (!graph_.empty()) TW_RETURN_IF_ERROR(AddNetwork(document));
    if (!output_.empty()) {
      TW_ASSIGN_OR_RETURN(auto page, report::MakePage(document));
      TW_RETURN_IF_ERROR(WriteFile(output_, page));
    }
    if (json_) {
      PrintJson(report::ToJson(document));
    } else if (output_.empty()) {
      WriteText(report::ToText(document, OutputColumns()));
    } else {
      PrintErr("{}: {}{}\n", output_,
               Counted(std::ssize(document.jobs) + std::ssize(document.formats), "job"),
               document.bench ? ", " + Counted(std::ssize(document.bench->rows), "benchmark") : "");
    }
    return kExitDone;
  }

 private:
  std::string TitleOf(const report::Document& document) const {
    if (stores_.empty()) return "Benchmarks, " + document.bench->cpu;
    const std::string& graph =
        document.jobs.empty() ? document.formats.front().graph : document.jobs.front().graph;
    return graph.empty() ? stores_.front() : graph;
  }

  Status AddBench(report::Document& document) const {
    auto text = ReadFile(bench_);
    if (!text.ok()) return text.status().WithContext("--bench");
    auto page = report::ParseBenchTable(*text, bench_);
    if (!page.ok()) return page.status().WithContext("--bench");
    document.bench = *std::move(page);
    return {};
  }

  Status AddComparison(report::Document& document) const {
    report::Document other;
    report::GatherOptions options;
    options.templates = &templates();
    TW_RETURN_IF_ERROR(report::GatherStore(other_, options, other).WithContext("--compare"));
    std::string names;
    for (const std::string& store : stores_) names += (names.empty() ? "" : ", ") + store;
    document.comparison = report::Compare(document, other, names, other_);
    return {};
  }

  /// Plans the model as `compile` does with these stores, for the target and the device of the
  /// newest job.
  Status AddNetwork(report::Document& document) const {
    if (document.jobs.empty()) {
      return InvalidArgument("--graph: the stores have no trials, whose device it needs");
    }
    const report::JobPage& job = document.jobs.front();
    auto target = Target::Parse(job.target);
    if (!target.ok()) return target.status().WithContext("the job's target");
    auto device = DeviceFingerprint::Parse(job.fingerprint);
    if (!device.ok()) return device.status().WithContext("the job's device");
    TW_ASSIGN_OR_RETURN(auto source, model_.Source(graph_));
    session::SessionSettings settings;
    settings.templates = &templates();
    settings.target = *target;
    settings.records.stores = stores_;
    settings.records.no_packages = true;
    settings.records.accept = "default";
    settings.note = PrintNote;
    auto order = session::Session(std::move(settings)).Prepare(source);
    if (!order.ok()) return order.status().WithContext("--graph");
    order->options.device = *std::move(device);
    auto plan = MakeCheckedPlan(std::move(order->graph), order->options);
    if (!plan.ok()) return plan.status().WithContext("--graph " + graph_);
    document.network = report::NetworkOf(*plan, graph_, document);
    return {};
  }

  void AddCode(const report::TaskTrials& trials, report::TaskPage& page) const {
    const auto& leaders = trials.leaders();
    for (std::size_t i = 0; i < leaders.size(); ++i) {
      const bool assembly = i == 0 && DeviceTraitsOf(trials.task().target).machine_code;
      page.code.push_back(
          report::ListingOf(templates(), leaders[i], i == 0 ? "winner" : "runner-up", assembly));
    }
  }

  std::vector<std::string> stores_;
  std::string output_, job_, graph_, other_, bench_;
  ModelArguments model_;
  bool no_code_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeReportCommand() { return std::make_unique<ReportCommand>(); }

}  // namespace tilewright::cli
