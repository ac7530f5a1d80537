// `tilewright optimize`: the number format of each product of a network, under a bound on the
// error.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

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
#include "src/base/shell/split.h"
#include "src/media/data_set.h"
#include "src/optimize/format_search.h"
#include "src/optimize/report_text.h"
#include "src/optimize/stored_search.h"
#include "src/session/session.h"
#include "src/session/text_table.h"
#include "src/session/user_paths.h"
#include "src/target/device.h"

namespace tilewright::cli {
namespace {

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
           "  tilewright optimize resnet18.onnx --data images --score ./accuracy.sh --bound "
           "'score>=0.69' -o resnet18.so\n"
           "  tilewright optimize resnet18.onnx --prefer 'seconds,sqnr>=40' -o resnet18.so\n"
           "Bounds: sqnr>=DECIBELS of all outputs, agreement>=SHARE of the largest elements, "
           "max_error<=NUMBER, cosine>=NUMBER, score>=NUMBER of --score. They are judged on "
           "samples that the search did not "
           "see, against the float32 network.\n"
           "Every measurement is kept in the record store: the same command resumes, also with "
           "another bound. --prefer chooses from an earlier search and measures nothing.\n";
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
    app.add_option(
           "--score", score_,
           "Program that gets the path of a library and prints one number, larger is better")
        ->needs(data);
    app.add_option("--score-depends", depends_,
                   "Files and folders that --score reads; a change of one measures scores again")
        ->needs("--score");
    app.add_option("--time-limit", time_limit_,
                   "Maximum time of one run of --score, which may print 1 MiB and write files of 1 "
                   "GiB, 4 GiB in all")
        ->needs(data)
        ->capture_default_str();
    app.add_option("--budget", budget_, "Time after which no further combination is tried")
        ->needs(data)
        ->capture_default_str();
    sources_.Declare(app, "default", /*networks=*/true);
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
    const bool prefers = optimize::NamesOutputError(sources_.prefer);
    if (prefers && !data_.empty()) {
      return InvalidArgument("--prefer " + sources_.prefer +
                             ": chooses from an earlier search; leave --data out");
    }
    const std::string preference = prefers ? std::exchange(sources_.prefer, "") : "";
    TW_ASSIGN_OR_RETURN(const auto score, ParseScore());
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
    if (prefers) return CompilePreferred(std::move(request), preference);
    if (data_.empty()) return CompileExact(std::move(request));
    data_options_.note = [](const std::string& text) { PrintErr("note: {}\n", text); };
    TW_ASSIGN_OR_RETURN(auto samples, quantize::LoadDataSet(data_, request.graph, data_options_));
    optimize::SearchSettings search;
    search.bound = *bound;
    search.score = score;
    search.budget_seconds = *budget;
    search.store = store;
    search.note = PrintNote;
    CompiledModel compiled;
    auto report =
        optimize::SearchFormats(std::move(request), std::move(samples), search, output_, compiled);
    if (!report.ok()) return report.status().WithContext(file_);
    TW_RETURN_IF_ERROR(WriteHeader(compiled));
    if (json_) {
      PrintJson(optimize::ReportJson(*report, output_));
    } else {
      WriteText(optimize::TablesText(*report, OutputColumns()));
      PrintWrapped(FormatPrintable("{}: {}", output_, optimize::ChoiceText(*report)));
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

  Result<optimize::ScoreProgram> ParseScore() const {
    optimize::ScoreProgram score;
    if (score_.empty()) return score;
    auto words = SplitCommandLine(score_);
    if (!words.ok()) return words.status().WithContext("--score");
    auto limit = search::ParseDuration(time_limit_);
    if (!limit.ok()) return limit.status().WithContext("--time-limit");
    score.words = *std::move(words);
    score.seconds = *limit;
    score.depends = depends_;
    return score;
  }

  Result<int> CompilePreferred(session::CompileRequest request, const std::string& preference) {
    TW_ASSIGN_OR_RETURN(const auto stores, StoresToRead(sources_));
    TW_ASSIGN_OR_RETURN(auto choice, optimize::ChooseStored(request, stores, preference));
    TW_ASSIGN_OR_RETURN(const auto compiled,
                        Compile(std::move(choice.graph), request.options, output_));
    TW_RETURN_IF_ERROR(WriteHeader(compiled));
    if (json_) {
      PrintJson({{"library", output_},
                 {"preference", preference},
                 {"job", choice.job},
                 {"chosen", optimize::CombinationJson(choice.combination())},
                 {"float32_seconds", choice.report.float32_seconds}});
    } else {
      PrintWrapped(FormatPrintable("{}: {}", output_, choice.ToString()));
    }
    return kExitDone;
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

  std::string file_, output_, bound_ = "sqnr>=30", score_, time_limit_ = "10m", budget_ = "10m";
  std::vector<std::string> data_, depends_;
  quantize::DataSetOptions data_options_;
  RecordArguments sources_;
  TargetArguments target_;
  ModelArguments model_;
  bool seeded_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeOptimizeCommand() { return std::make_unique<OptimizeCommand>(); }

}  // namespace tilewright::cli
