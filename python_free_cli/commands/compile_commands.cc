// `tilewright compile`, `run` and `bench`: from a graph and records to a library, and its results
// and times.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "python_free_cli/arguments/command_line.h"
#include "python_free_cli/arguments/device_argument.h"
#include "python_free_cli/arguments/float_error.h"
#include "python_free_cli/arguments/reject_options.h"
#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/device_network.h"
#include "python_free_cli/isolated_process.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/model_source.h"
#include "python_free_cli/print.h"
#include "python_free_cli/record_sources.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/base/thread.h"
#include "src/compiler/bundle.h"
#include "src/compiler/run/run.h"
#include "src/graph/ir/graph.h"
#include "src/optimize/stored_search.h"
#include "src/report/machine_peaks.h"
#include "src/report/networks/compiled.h"
#include "src/report/networks/size_curve.h"
#include "src/report/terminal/progress.h"
#include "src/session/compare/network_progress.h"
#include "src/session/format.h"
#include "src/session/imported/hint.h"
#include "src/session/imported/times.h"
#include "src/session/misses.h"
#include "src/session/model.h"
#include "src/session/open/open_sizes.h"
#include "src/session/session.h"
#include "src/session/tasks.h"
#include "src/target/device.h"
#include "src/target/short_target.h"
#include "src/templates/device.h"

namespace tilewright::cli {
namespace {

class CompileCommand final : public Command {
 public:
  const char* name() const override { return "compile"; }
  const char* summary() const override {
    return "Compile a model with its best configs to a shared library, or to a folder for a VTA";
  }
  const char* examples() const override {
    return "  tilewright compile resnet18.onnx --records records.db -o resnet18.so\n"
           "  tilewright compile resnet18.onnx --records records.db --on-miss fail -o resnet18.so\n"
           "  tilewright compile resnet18.onnx --records records.db --rule autotvm -o resnet18.so\n"
           "  tilewright compile resnet18.onnx --target rasp4b64 -o resnet18.so\n"
           "  tilewright compile resnet18.onnx --format bundle -o resnet18\n"
           "  tilewright compile resnet18.onnx --target 'cuda -arch=sm_80' --records records.db -o "
           "resnet18.so\n"
           "  tilewright compile resnet18.onnx --target opencl --records records.db -o "
           "resnet18.so\n"
           "  tilewright compile resnet18_packed.relay --target vta --vta-config sim -o "
           "resnet18.vta\n"
           "Also writes a C header next to the library (resnet18.h). A C program that uses it:\n"
           "  cc app.c ./resnet18.so -Wl,-rpath,'$ORIGIN' -lm -o app    # finds resnet18.so next "
           "to app\n"
           "With --rule autotvm the configs are those of imported records. They are unverified: "
           "each operator that has one is run here and compared with the reference first.\n";
  }
  void Declare(CLI::App& app) override {
    app_ = &app;
    app.add_option("file", file_, "Model file (ONNX or Relay text)")->required();
    app.add_option("-o,--output", output_, "Library to write; a folder for a VTA or a bundle")
        ->required();
    app.add_option("--format", format_,
                   "so: a library and its C header; bundle: a folder with library, parameters, "
                   "graph.json and header")
        ->check(CLI::IsMember({"so", "bundle"}))
        ->capture_default_str();
    app.add_option("--runtime", runtime_,
                   "Compiled src/runtime/*.c for a target that this program does not include");
    sources_.Declare(app, "default", /*networks=*/true);
    float_error_.Declare(app);
    target_.Declare(app);
    fuse_.Declare(app);
    device_.Declare(app);
    model_.Declare(app, /*with_ranges=*/true);
    app.add_option("--name", name_, "Prefix of the C functions (default: from the file name)");
    app.add_option("--on-miss", on_miss_,
                   "Action for operators without a record: warn, or fail with exit code 1")
        ->check(CLI::IsMember({"warn", "fail"}))
        ->capture_default_str();
    app.add_option("--verify", verify_,
                   "Verification against the reference before the library is written: all "
                   "elements, a sample of each kernel (about a second), or none")
        ->check(CLI::IsMember({"all", "sample", "none"}))
        ->capture_default_str();
    app.add_option("--build-threads", build_threads_, "Number of kernels to build in parallel")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_flag("--seeded", seeded_, "Replace float constants by synthetic values");
    app.add_flag("--json", json_, "Print the report as JSON");
  }
  Result<int> Run() override {
    if (output_.empty()) return InvalidArgument("--output: empty, expected a path");
    while (output_.size() > 1 && output_.ends_with('/')) output_.pop_back();
    TW_ASSIGN_OR_RETURN(auto target, target_.Parse());
    const OnMiss on_miss = on_miss_ == "fail" ? OnMiss::kFail : OnMiss::kWarn;
    if (DeviceTraitsOf(target).has_host_fallback) {
      TW_RETURN_IF_ERROR(RejectOptions(
          *app_, {"--name", "--format", "--runtime", "--build-threads", "--device", "--verify"},
          "the folder of a VTA contains streams and no library"));
      TW_ASSIGN_OR_RETURN(auto source, model_.Source(file_));
      TW_ASSIGN_OR_RETURN(const auto session, MakeSession(target));
      TW_ASSIGN_OR_RETURN(auto order, session.Prepare(source));
      TW_ASSIGN_OR_RETURN(
          auto plan, session::PlanForVta(file_, std::move(order.graph), order.options, PrintNote));
      return CompileForVta(plan, on_miss, output_, json_, TuneCommandHere(*app_, file_, target));
    }
    if (fuse_.given()) return InvalidArgument("--[no-]fuse-residuals: needs a VTA target");
    TW_RETURN_IF_ERROR(device_.Check(target));
    if (device_.simt()) {
      return InvalidArgument("--device simt: run and verify emulate, expected the number of a GPU");
    }
    TW_ASSIGN_OR_RETURN(const auto range, model_.TakeRange(file_));
    TW_ASSIGN_OR_RETURN(auto sources, model_.Sources(file_));
    std::string formats;  // preference among number formats, not among records
    if (optimize::NamesOutputError(sources_.prefer)) {
      if (range || sources.size() > 1 || sources_.rule != "own" ||
          !DeviceTraitsOf(target).machine_code) {
        return InvalidArgument("--prefer " + sources_.prefer +
                               ": number formats are chosen for one shape on a CPU, by --rule own");
      }
      formats = std::exchange(sources_.prefer, "");
    }
    TW_ASSIGN_OR_RETURN(const auto prefer, sources_.Preferred(target));
    if (sources.size() > 1 && prefer.has_value() && !prefer->limited.empty()) {
      return InvalidArgument(
          "--prefer: a limit is shared among the tasks of one network, but several shape variants "
          "(--shape, --dim) were given; compile them one by one, or leave the limit out");
    }
    TW_ASSIGN_OR_RETURN(const auto session, MakeSession(target));
    auto prepared = session.Prepare(sources.front());
    if (!prepared.ok()) return session::WithRanges(prepared.status(), model_, file_, target);
    session::CompileRequest order = *std::move(prepared);
    const std::int64_t synthetic_constants = order.graph.synthetic_constants;
    const std::vector<std::string> binding_options = order.graph.binding_options;
    if (!formats.empty()) {
      TW_ASSIGN_OR_RETURN(const auto stores, StoresToRead(sources_));
      TW_ASSIGN_OR_RETURN(auto choice, optimize::ChooseStored(order, stores, formats));
      PrintNote(FormatPrintable("formats: {}", choice.ToString()));
      order.graph = std::move(choice.graph);
    }
    CompileOptions& options = order.options;
    options.on_miss = on_miss;
    options.build_threads = build_threads_;
    options.name = name_;
    options.runtime_path = runtime_;
    options.check = verify_ == "all"    ? CheckLevel::kAll
                    : verify_ == "none" ? CheckLevel::kNone
                                        : CheckLevel::kSample;
    const bool bundle = format_ == "bundle";
    report::WorkProgress progress("compile");
    progress.Set(0, 0, "plan");
    options.progress = [&progress](std::string_view stage, std::size_t done, std::size_t total) {
      if (stage == "check") return progress.Stop();  // another process performs the check
      progress.Set(static_cast<double>(done), static_cast<double>(total), stage);
    };
    TW_ASSIGN_OR_RETURN(auto graphs, ReadSets(sources, std::move(order.graph)));
    auto model = range    ? CompileRange(std::move(graphs.front()), *range, options)
                 : bundle ? CompileBundle(std::move(graphs.front()), options, output_)
                 : options.autotvm.has_value()
                     ? CompileImported(graphs.front(), options, output_)
                     : CompileShapeVariants(std::move(graphs), options, output_);
    progress.Stop();
    if (model.status().code() == StatusCode::kNotFound) {  // valid input, missing records
      PrintErr("tilewright compile: {}\n", model.status().message());
      return kExitFailed;
    }
    TW_RETURN_IF_ERROR(model);
    if (!bundle) {
      const std::size_t dot = output_.ends_with(".so") ? output_.size() - 3 : output_.size();
      TW_RETURN_IF_ERROR(WriteFile(output_.substr(0, dot) + ".h", model->header));
    }
    session::NoteMisses(
        model->operators,
        {ShortTargetText(target),
         TuneCommandHere(
             *app_, session::FileToTune(model->operators, model_, sources, target, range), target)},
        PrintNote);
    if (sources_.rule == "own" && order.catalog != nullptr) {
      TW_RETURN_IF_ERROR(NoteImported(*model, target, *order.catalog));
    }
    if (options.check != CheckLevel::kNone) report::NoteUnchecked(model->check, PrintNote);
    const auto imported = std::ranges::count_if(model->operators, &OperatorReport::imported);
    if (options.autotvm.has_value()) {
      PrintNote(Counted(imported, "operator") + " with configs of imported records, verified here");
    }
    Json comparison;
    if (imported > 0) {
      TW_ASSIGN_OR_RETURN(comparison, CompareWithDefaults(*model, graphs.front(), options));
    }
    if (json_) {
      Json report = report::CompiledJson(*model);
      if (imported > 0) report["imported_records"] = comparison;
      if (model->variants.empty()) report["bound"] = binding_options;
      for (const CompiledModel& set : model->variants) {
        report["sets"].push_back({{"name", set.name},
                                  {"bound", set.binding_options},
                                  {"operators", set.operators.size()}});
      }
      report["made_up_constants"] = report::SyntheticConstantsJson(synthetic_constants);
      report["check"] = report::CompileCheckJson(model->check, verify_);
      PrintJson(report);
    } else {
      WriteText(report::CompiledText(*model, output_));
    }
    return kExitDone;
  }

 private:
  /// Passes a note on imported records of operators without a record of their own.
  Status NoteImported(const CompiledModel& model, const Target& target,
                      records::Catalog& catalog) const {
    std::map<std::string, Workload> missed;
    for (const OperatorReport& op : model.operators) {
      if (op.workload_key.empty() || op.answer == records::AnswerLevel::kHit) continue;
      auto workload = Workload::Parse(op.workload_key);
      if (workload.ok()) missed.emplace(op.workload_key, *std::move(workload));
    }
    std::vector<const Workload*> workloads;
    for (const auto& [key, workload] : missed) workloads.push_back(&workload);
    TW_ASSIGN_OR_RETURN(const auto hint,
                        session::FindImported(workloads, templates(), target, catalog));
    constexpr std::array<std::string_view, 8> kOptions = {
        "--output", "--records",    "--shape",     "--dim",
        "--value",  "--requantize", "--precision", "--threads"};
    const std::string command = CommandLine(*app_, "compile", file_, kOptions) + " --rule autotvm";
    const std::string text =
        session::ImportedHintText(hint, command, target_.target == "native" ? "" : target_.target);
    if (!text.empty()) PrintNote(FormatPrintable("{}", MultilineText{text}));
    return {};
  }

  /// Prints where imported configs come from, and the times of a run with them and with default
  /// configs. Returns both for --json.
  Result<Json> CompareWithDefaults(const CompiledModel& model, const Graph& graph,
                                   const CompileOptions& options) const {
    const auto origins = session::OriginsOf(model, options.target);
    std::string text = session::OriginsText(origins);
    if (text.ends_with('\n')) text.pop_back();
    PrintNote(FormatPrintable("{}", MultilineText{text}));
    Json json = {{"targets", Json::array()}};
    for (const session::ImportedOrigin& origin : origins) {
      json["targets"].push_back({{"target", origin.target}, {"operators", origin.operators}});
    }
    // Times of a GPU's runs are mostly copies of tensors.
    if (verify_ == "none" || format_ != "so" || !DeviceTraitsOf(options.target).machine_code) {
      return json;
    }
    TW_ASSIGN_OR_RETURN(const auto times, session::TimeWithDefaults(graph, options, output_));
    PrintNote(session::ImportedTimesText(times));
    json["seconds"] = times.imported_seconds;
    json["default_seconds"] = times.default_seconds;
    return json;
  }

  /// Compiles for a range of sizes of one dimension. entry: read with size 1.
  Result<CompiledModel> CompileRange(Graph entry, const SizeRange& range,
                                     const CompileOptions& options) const {
    if (format_ == "bundle") {
      return InvalidArgument("--dim " + range.ToString() + ": a range needs --format so");
    }
    const auto read = [&](std::int64_t size) -> Result<Graph> {
      TW_ASSIGN_OR_RETURN(const auto source, model_.SourceAt(file_, range, size));
      return session::LoadForRunning(source, seeded_, note_);
    };
    return CompileOpen(std::move(entry), read, range, options, output_);
  }

  Result<session::Session> MakeSession(const Target& target) {
    session::SessionSettings settings;
    settings.templates = &float_error_.Choose(templates());
    settings.target = target;
    settings.device = device_;
    settings.records = sources_;
    TW_ASSIGN_OR_RETURN(settings.fuse_residuals, fuse_.Choice());
    settings.seeded = seeded_;
    settings.note = note_;
    return session::Session(std::move(settings));
  }

  /// Returns the graphs of all shape variants; the outer vector keeps the order of `sources`.
  Result<std::vector<Graph>> ReadSets(std::span<const ModelSource> sources, Graph first) const {
    if (sources.size() > 1 && (format_ != "so" || sources_.rule != "own")) {
      return InvalidArgument(
          "several shape variants (--shape, --dim) need --format so and --rule own");
    }
    std::vector<Graph> graphs;
    graphs.push_back(std::move(first));
    for (const ModelSource& source : sources.subspan(1)) {
      TW_ASSIGN_OR_RETURN(auto graph, session::LoadForRunning(source, seeded_, note_));
      graphs.push_back(std::move(graph));
    }
    return graphs;
  }

  const CLI::App* app_ = nullptr;
  std::string file_, output_, name_, runtime_;
  std::string format_ = "so";
  RecordArguments sources_;
  TargetArguments target_;
  FuseArguments fuse_;
  DeviceArgument device_;
  ModelArguments model_;
  FloatErrorArgument float_error_;
  const session::NoteSink note_ = session::EachNoteOnce(PrintNote);  // shape variants repeat notes
  std::string on_miss_ = "warn", verify_ = "sample";
  int build_threads_ = 2;
  bool seeded_ = false;
  bool json_ = false;
};

class RunCommand final : public Command {
 public:
  const char* name() const override { return "run"; }
  const char* summary() const override {
    return "Run a compiled model, or a model file on a simulated VTA or a GPU, and print its "
           "outputs";
  }
  const char* examples() const override {
    return "  tilewright run resnet18.so --input image.npy\n"
           "  tilewright run resnet18.so --output logits.npy\n"
           "  tilewright run resnet18_packed.relay --target vta --vta-config sim\n"
           "  tilewright run resnet18_packed.relay --target vta --vta-config sim "
           "--records tophub.db --rule autotvm --json\n"
           "  tilewright run net.relay --target 'cuda -arch=sm_75' --device simt\n"
           "  tilewright run net.relay --target opencl\n"
           "  tilewright run net.so --made-up quantized:0.0375:57 --json\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("file", file_, "Library or bundle made by compile; with --target a model file")
        ->required();
    app.add_option("--threads", threads_, "Number of threads")->check(CLI::PositiveNumber);
    app.add_flag("--seeded", seeded_,
                 "Replace float constants of the model file by synthetic values");
    app.add_flag("--json", json_, "Print JSON with all output elements");
    model_.Declare(app);
    inputs_.Declare(app);
    outputs_.Declare(app);
    network_.Declare(app, /*traces=*/true);
    process_.Declare(app);
  }
  Result<int> Run() override {
    network_.Use(templates());
    return process_.Run(name(), [&](CheckProgress& progress) {
      auto source = model_.Source(file_);
      if (!source.ok()) return Result<int>(source.status());
      return network_.Run(*source, seeded_, inputs_, outputs_, threads_, json_, progress);
    });
  }

 private:
  std::string file_;
  ModelArguments model_;
  InputArguments inputs_;
  OutputArguments outputs_;
  DeviceNetwork network_;
  IsolatedProcess process_;
  int threads_ = 0;
  bool seeded_ = false;
  bool json_ = false;
};

class BenchCommand final : public Command {
 public:
  const char* name() const override { return "bench"; }
  const char* summary() const override { return "Time the operators of a compiled model"; }
  const char* examples() const override {
    return "  tilewright bench resnet18.so\n  tilewright bench resnet18.so --threads 2 --seconds 5 "
           "--json\n  tilewright bench encoder.so --dim seq=1..512    # time over lengths\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("library", library_, "Library made by compile")->required();
    app.add_option("--threads", threads_, "Number of threads")->check(CLI::PositiveNumber);
    app.add_option("--seconds", seconds_, "Duration of the measurement in seconds")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.add_flag("--json", json_, "Print JSON");
    inputs_.Declare(app);
    model_.Declare(app);
    device_.Declare(app);
    process_.Declare(app);
  }
  Result<int> Run() override {
    return process_.Run(name(), [&](CheckProgress& progress) { return RunHere(progress); });
  }

 private:
  Result<int> RunHere(CheckProgress& progress) {
    TW_ASSIGN_OR_RETURN(const auto range, model_.TakeRange(library_));
    TW_ASSIGN_OR_RETURN(const auto source, range ? model_.SourceAt(library_, *range, range->least)
                                                 : model_.Source(library_));
    TW_ASSIGN_OR_RETURN(const auto set, session::VariantFor(source, PrintNote));
    TW_ASSIGN_OR_RETURN(auto model, device_.OpenLibrary(library_, threads_, set));
    TW_RETURN_IF_ERROR(session::SetSizes(source, model));
    session::NoteSyntheticConstants(library_, model.synthetic_constants(), PrintNote);
    TW_ASSIGN_OR_RETURN(auto inputs, inputs_.Make(model.inputs()));
    if (range) {
      TW_ASSIGN_OR_RETURN(const auto curve,
                          report::BenchSizes(model, *range, seconds_, [this](const auto& values) {
                            return inputs_.Make(values);
                          }));
      json_ ? PrintJson(report::SizeCurveJson(curve)) : WriteText(report::SizeCurveText(curve));
      return kExitDone;
    }
    BenchOptions options;
    options.seconds = seconds_;
    if (!model.on_gpu()) {
      const auto target = Target::Parse(model.target());
      options.peaks = target.ok() ? report::PeaksHere(*target) : MeasurePeaks();
    }
    session::RegisterOperators(model, progress);
    const auto first =
        session::RunWithProgress(model, inputs, progress);  // no progress in measured runs
    TW_RETURN_IF_ERROR(first);
    TW_ASSIGN_OR_RETURN(auto report, Bench(model, inputs, options));
    json_ ? PrintJson(report::BenchJson(model.name(), report, model.synthetic_constants()))
          : WriteText(report::BenchText(model.name(), model.on_gpu(), report, OutputColumns()));
    return kExitDone;
  }

  std::string library_;
  ModelArguments model_;
  InputArguments inputs_;
  DeviceArgument device_;
  IsolatedProcess process_;
  int threads_ = 0;
  double seconds_ = 2;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeCompileCommand() { return std::make_unique<CompileCommand>(); }
std::unique_ptr<Command> MakeRunCommand() { return std::make_unique<RunCommand>(); }
std::unique_ptr<Command> MakeBenchCommand() { return std::make_unique<BenchCommand>(); }

}  // namespace tilewright::cli
