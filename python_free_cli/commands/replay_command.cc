// `tilewright replay`: searches of spaces whose configs have all been measured.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "search/measured/replay_summary.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/session/text_table.h"

namespace tilewright::cli {
namespace {

using search::MeasuredSpace;
using search::ReplaySummary;

Result<std::vector<MeasuredSpace>> LoadSpaces(const std::vector<std::string>& paths) {
  std::vector<MeasuredSpace> spaces;
  for (const std::string& path : paths) {
    TW_ASSIGN_OR_RETURN(MeasuredSpace space, MeasuredSpace::Load(path));
    spaces.push_back(std::move(space));
  }
  return spaces;
}

class ReplayCommand final : public Command {
 public:
  const char* name() const override { return "replay"; }
  const char* summary() const override {
    return "Search spaces that have been measured completely, to compare strategies";
  }
  const char* examples() const override {
    return "  tilewright replay conv.A100.T4.json.gz --strategy surrogate --strategy random\n"
           "  tilewright replay conv.A100.T4.json --records conv.A4000.T4.json --runs runs.jsonl\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("files", files_, "T4 files or cachefiles of Kernel Tuner, also as .gz")
        ->required();
    app.add_option("--strategy", strategies_, "Strategy; several times for several");
    app.add_option("--seeds", settings_.seeds, "Runs of each strategy on each space")
        ->check(CLI::Range(1, 100'000));
    app.add_option("--evaluations", settings_.evaluations, "Configs that a run measures")
        ->check(CLI::Range(1, 10'000'000));
    app.add_option("--records", records_, "Results of the same program on another device");
    app.add_option("--runs", runs_file_, "Write the measured configs of each run, one run a line");
    app.add_flag("--json", json_, "Print JSON");
  }
  Result<int> Run() override {
    TW_ASSIGN_OR_RETURN(const std::vector<MeasuredSpace> spaces, LoadSpaces(files_));
    TW_ASSIGN_OR_RETURN(const std::vector<MeasuredSpace> records, LoadSpaces(records_));
    for (const MeasuredSpace& space : records) settings_.records.push_back(&space);
    Json out = Json::array();
    std::string runs;
    for (const std::string& key : strategies_) {
      const search::StrategyEntry* strategy = registries().strategies.Find(key);
      if (strategy == nullptr) return NotFound("no strategy '" + key + "'");
      std::vector<ReplaySummary> summaries;
      for (const MeasuredSpace& space : spaces) {
        TW_ASSIGN_OR_RETURN(ReplaySummary one,
                            search::ReplayStrategy(space, *strategy, settings_,
                                                   runs_file_.empty() ? nullptr : &runs));
        summaries.push_back(std::move(one));
      }
      if (spaces.size() > 1) summaries.push_back(search::MeanOf(summaries));
      for (const ReplaySummary& one : summaries) AddTo(out, key, one);
      if (!json_) Print(key, summaries);
    }
    if (json_) PrintJson(out);
    if (!runs_file_.empty()) TW_RETURN_IF_ERROR(WriteFile(runs_file_, runs));
    return kExitDone;
  }

 private:
  void AddTo(Json& out, const std::string& strategy, const ReplaySummary& one) const {
    Json row = {{"strategy", strategy}, {"space", one.space}, {"runs", one.runs}};
    row["evaluations"] = search::QualityCounts(settings_.evaluations);
    row["quality"] = one.median;
    row["quality_10th_percentile"] = one.low;
    row["milliseconds_per_evaluation"] = one.milliseconds;
    out.push_back(std::move(row));
  }

  void Print(const std::string& strategy, const std::vector<ReplaySummary>& summaries) const {
    std::vector<session::TextTable::Column> columns = {{Printable(strategy), false, 20}};
    for (std::size_t count : search::QualityCounts(settings_.evaluations)) {
      columns.push_back({fmt::format("Q({})", count), true});
    }
    columns.push_back({"10th", true});
    columns.push_back({"ms", true});
    session::TextTable table(columns);
    for (const ReplaySummary& one : summaries) {
      std::vector<std::string> cells = {Printable(one.space)};
      for (double quality : one.median) cells.push_back(fmt::format("{:.3f}", quality));
      cells.push_back(fmt::format("{:.3f}", one.low.back()));
      cells.push_back(fmt::format("{:.2f}", one.milliseconds));
      table.AddRow(std::move(cells));
    }
    WriteText(table.Take());
  }

  std::vector<std::string> files_, records_, strategies_ = {"auto"};
  search::ReplaySettings settings_;
  std::string runs_file_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeReplayCommand() { return std::make_unique<ReplayCommand>(); }

}  // namespace tilewright::cli
