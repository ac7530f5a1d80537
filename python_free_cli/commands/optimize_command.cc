// `tilewright optimize`: the number format of each product of a network, under a bound on the
// error.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "python_free_cli/arguments/store_argument.h"
#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/model_source.h"
#include "python_free_cli/print.h"
#include "python_free_cli/record_sources.h"
#include "records/store.h"
#include "search/job.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/media/data_set.h"
#include "src/optimize/format_search.h"
#include "src/session/format.h"
#include "src/session/session.h"
#include "src/session/text_table.h"
#include "src/session/user_paths.h"
#include "src/target/device.h"

namespace tilewright::cli {
namespace {

using optimize::Combination;
using optimize::SearchReport;
using optimize::SiteReport;

Json FiniteOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json ErrorJson(const optimize::OutputError& error) {
  return {{"sqnr_db", FiniteOrNull(error.SqnrDb())},
          {"agreement", FiniteOrNull(error.agreement)},
          {"max_error", FiniteOrNull(error.max_error)},
          {"cosine", FiniteOrNull(error.cosine)}};
}

std::string DecibelText(double decibels) {
  return std::isinf(decibels) && decibels > 0 ? "equal" : fmt::format("{:.1f} dB", decibels);
}

class OptimizeCommand final : public Command {
 public:
  const char* name() const override { return "optimize"; }
  const char* summary() const override {
    return "Search the fastest number formats of a model that keep a bound on its error";
  }
  const char* examples() const override {
    return "  tilewright optimize resnet18.onnx --data images --image-fit crop --bound "
           "'sqnr>=30' -o resnet18.so\n"
           "  tilewright optimize resnet18.onnx --data samples.npy --bound 'agreement>=0.99' "
           "--threads 2 -o resnet18.so\n"
           "Bounds: sqnr>=DECIBELS of all outputs, agreement>=SHARE of the largest elements, "
           "max_error<=NUMBER, cosine>=NUMBER. They are judged on samples that the search did not "
           "see, against the float32 network.\n"
           "Every measurement is kept in the record store: the same command resumes, also with "
           "another bound.\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("file", file_, "Model file (ONNX or Relay text) in float32")->required();
    app.add_option("-o,--output", output_, "Library to write")->required();
    CLI::Option* data = app.add_option(
        "--data", data_,
        "Samples: .npy, .npz, .jpg, .png, .ppm or .pgm files, or folders of them; without them, "
        "float32 stays");
    DeclareImageOptions(app, data_options_.image, data);
    app.add_option("--samples", data_options_.limit, "Maximum number of samples to read")
        ->needs(data)
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--bound", bound_, "Bound on the error of the outputs")
        ->needs(data)
        ->capture_default_str();
    app.add_option("--budget", budget_, "Time after which no further combination is tried")
        ->needs(data)
        ->capture_default_str();
    sources_.Declare(app, "default");
    target_.Declare(app);
    model_.Declare(app);
    app.add_flag("--seeded", seeded_, "Replace float constants by synthetic values");
    app.add_flag("--json", json_, "Print JSON");
  }
  Result<int> Run() override {
    auto bound = optimize::ParseBound(bound_);
    if (!bound.ok()) return bound.status().WithContext("--bound");
    TW_ASSIGN_OR_RETURN(const auto target, target_.Parse());
    if (!DeviceTraitsOf(target).machine_code) {
      return InvalidArgument("--target: only CPUs have several number formats to choose from");
    }
    if (sources_.rule != "own") {
      return InvalidArgument("--rule " + sources_.rule +
                             ": imported records are unverified; import "
                             "and tune them first");
    }
    auto budget = search::ParseDuration(budget_);
    if (!budget.ok()) return budget.status().WithContext("--budget");
    TW_ASSIGN_OR_RETURN(const std::string store, OpenStore());
    session::SessionSettings settings;
    settings.templates = &templates();
    settings.target = target;
    settings.records = sources_;
    settings.seeded = seeded_;
    settings.note = PrintNote;
    const session::Session session(std::move(settings));
    TW_ASSIGN_OR_RETURN(const auto source, model_.Source(file_));
    TW_ASSIGN_OR_RETURN(auto request, session.Prepare(source));
    request.options.build_threads = 2;
    if (data_.empty()) return CompileExact(std::move(request));
    data_options_.note = [](const std::string& text) { PrintErr("note: {}\n", text); };
    TW_ASSIGN_OR_RETURN(auto samples, quantize::LoadDataSet(data_, request.graph, data_options_));
    optimize::SearchSettings search;
    search.bound = *bound;
    search.budget_seconds = *budget;
    search.store = store;
    search.note = PrintNote;
    CompiledModel compiled;
    auto report =
        optimize::SearchFormats(std::move(request), std::move(samples), search, output_, compiled);
    if (!report.ok()) return report.status().WithContext(file_);
    TW_RETURN_IF_ERROR(WriteHeader(compiled));
    if (json_) {
      PrintJson(JsonOf(*report));
    } else {
      Print(*report);
    }
    return kExitDone;
  }

 private:
  /// Returns the store that keeps the search: the first of --records, else the user's. It exists
  /// then.
  Result<std::string> OpenStore() const {
    if (data_.empty()) return std::string();
    std::string path;
    if (!sources_.stores.empty()) {
      path = sources_.stores.front();
    } else {
      TW_ASSIGN_OR_RETURN(path, session::UserStorePath(/*make_folder=*/true));
      PrintNote(FormatPrintable("records: {}", path));
    }
    TW_RETURN_IF_ERROR(records::Store::Open(path, records::Store::Mode::kReadWrite));
    return path;
  }

  Status WriteHeader(const CompiledModel& compiled) const {
    const std::size_t dot = output_.ends_with(".so") ? output_.size() - 3 : output_.size();
    return WriteFile(output_.substr(0, dot) + ".h", compiled.header);
  }

  /// Without data there is nothing to judge another format by.
  Result<int> CompileExact(session::CompileRequest request) const {
    TW_ASSIGN_OR_RETURN(const auto compiled,
                        Compile(std::move(request.graph), request.options, output_));
    TW_RETURN_IF_ERROR(WriteHeader(compiled));
    constexpr const char* kWhy =
        "no --data: nothing tells what bfloat16 or int8 would cost in accuracy, so every operator "
        "stays in the model's own types; no bound was tested";
    if (json_) {
      PrintJson({{"library", output_}, {"promise", nullptr}, {"reason", kWhy}});
    } else {
      PrintWrapped(FormatPrintable("{}: {}", output_, kWhy));
    }
    return kExitDone;
  }

  static Json CombinationJson(const Combination& combination) {
    Json json = {
        {"formats", optimize::CodeOf(combination.formats)},
        {"time_ratio", combination.ratio},
        {"time_spread", combination.spread},
        {"predicted_time_ratio", FiniteOrNull(combination.predicted_ratio)},
        {"predicted_sqnr_db", FiniteOrNull(optimize::DecibelsOf(combination.predicted_noise))},
        {"search", ErrorJson(combination.search)},
        {"held_out", nullptr},
        {"front", combination.on_front}};
    if (combination.held_out) json["held_out"] = ErrorJson(*combination.held_out);
    return json;
  }

  static Json SiteJson(const SiteReport& site) {
    Json formats = Json::array();
    for (std::size_t k = 0; k < site.site.formats.size(); ++k) {
      formats.push_back({{"format", optimize::FormatName(site.site.formats[k])},
                         {"seconds", site.seconds[k]},
                         {"sqnr_db", FiniteOrNull(optimize::DecibelsOf(site.noise[k]))}});
    }
    return {{"value", site.site.name},
            {"operator", site.site.op},
            {"format", optimize::FormatName(site.chosen)},
            {"why", site.why},
            {"formats", std::move(formats)}};
  }

  Json JsonOf(const SearchReport& report) const {
    Json sites = Json::array(), combinations = Json::array(), front = Json::array();
    for (const SiteReport& site : report.sites) sites.push_back(SiteJson(site));
    for (const Combination& one : report.combinations) combinations.push_back(CombinationJson(one));
    for (const auto& [ratio, noise] : report.predicted_front) {
      front.push_back(
          {{"time_ratio", ratio}, {"sqnr_db", FiniteOrNull(optimize::DecibelsOf(noise))}});
    }
    return {{"library", output_},
            {"bound", report.bound.ToString()},
            {"samples",
             {{"calibration", report.split.calibration},
              {"search", report.split.search},
              {"held_out", report.split.held_out}}},
            {"calibrate_mode", report.calibrate_mode},
            {"chosen", report.chosen},
            {"reason", report.reason},
            {"float32_seconds", report.float32_seconds},
            {"seconds", report.seconds},
            {"combinations", std::move(combinations)},
            {"predicted_front", std::move(front)},
            {"sites", std::move(sites)}};
  }

  void Print(const SearchReport& report) const {
    PrintSites(report);
    PrintOut("\n");
    session::TextTable table({{""},
                              {"float32", true},
                              {"bfloat16", true},
                              {"int8", true},
                              {"time", true},
                              {"predicted", true},
                              {"error", true},
                              {"predicted", true},
                              {"held out", true}});
    for (std::size_t i = 0; i < report.combinations.size(); ++i) {
      const Combination& one = report.combinations[i];
      std::vector<std::string> cells = {i == report.chosen ? "chosen"
                                        : one.on_front     ? "front"
                                                           : ""};
      for (const optimize::Format format : optimize::kFormats) {
        cells.push_back(std::to_string(std::ranges::count(one.formats, format)));
      }
      cells.push_back(fmt::format("{:.3f}", one.ratio));
      cells.push_back(fmt::format("{:.3f}", one.predicted_ratio));
      cells.push_back(DecibelText(one.search.SqnrDb()));
      cells.push_back(DecibelText(optimize::DecibelsOf(one.predicted_noise)));
      cells.push_back(one.held_out ? DecibelText(one.held_out->SqnrDb()) : "-");
      table.AddRow(std::move(cells));
    }
    PrintTable(table);
    PrintWrapped(FormatPrintable(
        "{}: {}; {} for {} of float32 ({:.3f}); {} samples calibrate ({}), {} search, {} held out",
        output_, report.reason, session::ShortSeconds(report.seconds),
        session::ShortSeconds(report.float32_seconds), report.combinations[report.chosen].ratio,
        report.split.calibration.size(),
        report.calibrate_mode.empty() ? "nothing" : report.calibrate_mode,
        report.split.search.size(), report.split.held_out.size()));
  }

  static void PrintSites(const SearchReport& report) {
    session::TextTable table({{"value", false, 16},
                              {"operator", false, 8},
                              {"format"},
                              {"float32", true},
                              {"bfloat16", true},
                              {"int8", true},
                              {"why", false, 12}});
    for (const SiteReport& site : report.sites) {
      std::vector<std::string> cells = {Printable(site.site.name), Printable(site.site.op),
                                        std::string(optimize::FormatName(site.chosen))};
      for (const optimize::Format format : optimize::kFormats) {
        const auto place = std::ranges::find(site.site.formats, format);
        const auto k = static_cast<std::size_t>(place - site.site.formats.begin());
        cells.push_back(place == site.site.formats.end() ? "-"
                        : k == 0
                            ? session::ShortSeconds(site.seconds[k])
                            : fmt::format("{} {:.0f} dB", session::ShortSeconds(site.seconds[k]),
                                          optimize::DecibelsOf(site.noise[k])));
      }
      cells.push_back(Printable(site.why));
      table.AddRow(std::move(cells));
    }
    PrintTable(table);
  }

  std::string file_, output_, bound_ = "sqnr>=30", budget_ = "10m";
  std::vector<std::string> data_;
  quantize::DataSetOptions data_options_;
  RecordArguments sources_;
  TargetArguments target_;
  ModelArguments model_;
  bool seeded_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeOptimizeCommand() { return std::make_unique<OptimizeCommand>(); }

}  // namespace tilewright::cli
