// `tilewright quantize`: quantizes a float graph to integers, pass by pass.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "python_free_cli/command.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/model_source.h"
#include "python_free_cli/print.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/graph/passes/passes.h"
#include "src/graph/quantize/best_mode.h"
#include "src/graph/quantize/integral.h"
#include "src/graph/relay/export.h"
#include "src/media/data_set.h"
#include "src/report/networks/quantized.h"
#include "src/report/terminal/progress.h"
#include "src/session/model.h"

namespace tilewright::cli {
namespace {

class QuantizeCommand final : public Command {
 public:
  const char* name() const override { return "quantize"; }
  const char* summary() const override {
    return "Quantize a float model to integers and write it as Relay text";
  }
  const char* examples() const override {
    return "  tilewright quantize resnet18.onnx -o resnet18_int8.relay\n"
           "  tilewright quantize resnet18.onnx --set skip_conv_layers=None -o "
           "resnet18_int8.relay\n"
           "  tilewright quantize resnet18.onnx --calibrate auto --data images --image-fit crop -o "
           "out.relay\n"
           "  tilewright quantize resnet18.onnx --calibrate kl_divergence --set weight_scale=max "
           "--data images --image-fit crop -o out.relay\n"
           "  tilewright quantize before.relay --passes partition --print-after partition\n"
           "  tilewright quantize resnet18.onnx --passes fold,partition,annotate -o marked.relay\n"
           "  tilewright quantize marked.relay --passes calibrate,realize -o out.relay\n"
           "Passes: fold, partition, annotate, calibrate, realize (with do_simulation: simulate). "
           "Fields of the configuration: docs/quantization.md.\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("file", file_, "Model file (ONNX or Relay text)")->required();
    model_.Declare(app);
    app.add_option("-o,--output", output_, "Relay text to write, with the weights");
    app.add_option("--config", config_file_,
                   "JSON file with fields of the quantization configuration");
    app.add_option("--set", fields_, "Field of the configuration: FIELD=VALUE; repeatable");
    app.add_flag(
        "--reduce-range", reduce_range_,
        "Use 7-bit weights (nbit_weight=7), which are faster on CPUs with AVX2 but without VNNI");
    CLI::Option* data = app.add_option(
        "--data", data_,
        "Calibration data: .npy, .npz, .jpg, .png, .ppm or .pgm files, or folders of them");
    DeclareImageOptions(app, data_options_.image, data);
    app.add_option("--calibrate", calibrate_,
                   "Calibration of value ranges: global_scale (fixed), percentile, mse, "
                   "kl_divergence, or auto (tries all and keeps the best, with scales per channel "
                   "and uint8 unless --set changes them)");
    app.add_option("--check", check_,
                   "Number of inputs on which results are compared with the float network: from "
                   "--data, else synthetic (default: 2, synthetic 1; with --calibrate auto as many "
                   "as 2e10 multiply-adds allow, at least 2; 0: no comparison)")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--samples", data_options_.limit, "Maximum number of samples to read")
        ->needs(data)
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--passes", passes_, "Passes to run, in order (default: all)")->delimiter(',');
    app.add_option("--print-after", print_after_, "Print the graph without weights after a pass");
    app.add_option("--threads", threads_, "Threads for calibration")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_flag("--json", json_, "Print JSON");
  }
  Result<int> Run() override {
    quantize::PipelineOptions options;
    TW_RETURN_IF_ERROR(ReadConfig(options.config));
    options.passes = passes_.empty() ? quantize::DefaultPasses(options.config) : passes_;
    options.threads = threads_;
    options.left = &left_;
    TW_RETURN_IF_ERROR(CheckOptions(options));
    TW_ASSIGN_OR_RETURN(auto graph, LoadForQuantizing(options.passes));
    data_options_.note = [](const std::string& text) { PrintErr("note: {}\n", text); };
    TW_ASSIGN_OR_RETURN(auto samples, quantize::LoadDataSet(data_, graph, data_options_));
    if (!data_.empty() && samples.empty()) return InvalidArgument("--data: not one whole sample");
    options.samples = std::move(samples);
    report::WorkProgress progress("quantize");
    progress_ = &progress;
    progress.Set(0, 0, "reference results");
    TW_ASSIGN_OR_RETURN(auto expected, MeasureReference(graph, options));
    const std::size_t known = graph.notes.size();  // number of notes printed during reading
    auto result = Quantize(std::move(graph), options, expected);
    progress.Stop();
    progress_ = nullptr;
    if (!result.ok()) return result.status().WithContext(file_);
    const Graph& made = result->graph;
    for (std::size_t i = known; i < made.notes.size(); ++i) PrintErr("note: {}\n", made.notes[i]);
    if (!output_.empty()) {
      auto text = TextOf(made, options.config);
      if (!text.ok()) return text.status().WithContext(file_);
      TW_RETURN_IF_ERROR(WriteFile(output_, *text));
    }
    auto left = options.passes.back() == "realize" ? quantize::FloatLayersOf(made, left_) : left_;
    Print({output_, std::move(options), *std::move(result), std::move(left), std::move(expected),
           synthetic_inputs_, IsAuto(), tried_});
    return kExitDone;
  }

 private:
  Status ReadConfig(quantize::Config& config) const {
    std::set<std::string> given;
    if (!config_file_.empty()) {
      TW_ASSIGN_OR_RETURN(auto text, ReadFile(config_file_));
      if (Status status = config.SetAll(text); !status.ok()) {
        return status.WithContext(config_file_);
      }
      const auto json = ParseJson(text);
      for (const auto& [field, value] : json->items()) given.insert(field);
    }
    for (const std::string& field : fields_) {
      const std::size_t mark = field.find('=');
      if (mark == std::string::npos) {
        return InvalidArgument("--set: " + field + ", expected FIELD=VALUE");
      }
      const Status status = config.Set(field.substr(0, mark), field.substr(mark + 1));
      if (!status.ok()) return status.WithContext("--set");
      given.insert(field.substr(0, mark));
    }
    if (reduce_range_ && given.contains("nbit_weight")) {
      return InvalidArgument("--reduce-range: nbit_weight is set, too; expected one of them");
    }
    if (reduce_range_) config.nbit_weight = 7;
    if (!calibrate_.empty()) TW_RETURN_IF_ERROR(SetCalibration(config, given));
    return config.Check();
  }

  /// Sets --calibrate: a mode, or auto, which also sets other fields that improve results on a CPU
  /// and are not given.
  Status SetCalibration(quantize::Config& config, const std::set<std::string>& given) const {
    if (given.contains("calibrate_mode")) {
      return InvalidArgument("--calibrate and calibrate_mode are the same; expected one of them");
    }
    if (!IsAuto()) return config.Set("calibrate_mode", calibrate_).WithContext("--calibrate");
    quantize::ImproveForCpu(config, given);
    return {};
  }

  static Result<std::string> TextOf(const Graph& graph, const quantize::Config& config) {
    if (config.partition_conversions != quantize::PartitionConversions::kEnabled) {
      return ExportRelay(graph);
    }
    TW_ASSIGN_OR_RETURN(auto split, quantize::SplitConversions(graph));
    return ExportRelay(graph, split);
  }

  /// Loads the graph. Missing contents become synthetic if a pass or the reader of the file needs
  /// them.
  Result<Graph> LoadForQuantizing(const std::vector<std::string>& passes) const {
    const bool listing_only =
        output_.empty() && std::ranges::all_of(passes, [](const std::string& pass) {
          return pass == "partition" || pass == "annotate";
        });
    TW_ASSIGN_OR_RETURN(const auto source, model_.Source(file_));
    TW_ASSIGN_OR_RETURN(auto graph, listing_only
                                        ? LoadGraph(source)
                                        : session::LoadForRunning(source, false, PrintNote));
    return UnrollRecurrences(std::move(graph));  // Relay text has no recurrences
  }

  Status CheckOptions(const quantize::PipelineOptions& options) const {
    const auto runs = [&](std::string_view pass) {
      return std::ranges::find(options.passes, pass) != options.passes.end();
    };
    if (output_.empty() && print_after_.empty()) {
      return InvalidArgument("nothing to do: give --output or --print-after");
    }
    if (!print_after_.empty() && !runs(print_after_)) {
      return InvalidArgument(fmt::format("--print-after: {} is none of the passes that run: {}",
                                         print_after_, fmt::join(options.passes, ", ")));
    }
    if (!data_.empty() && !IsAuto() &&
        options.config.calibrate_mode == quantize::CalibrateMode::kGlobalScale) {
      return InvalidArgument(
          "--data: calibrate_mode is global_scale, which looks at no data; expected --calibrate "
          "auto, percentile, mse or kl_divergence");
    }
    if (!data_.empty() && !runs("calibrate")) {
      return InvalidArgument("--data: calibrate is none of the passes that run");
    }
    if (IsAuto() && !(runs("calibrate") && quantize::EndsQuantized(options))) {
      return InvalidArgument(
          "--calibrate auto: expected calibrate and realize among the passes that run: modes are "
          "told apart by the results of the quantized network");
    }
    return {};
  }

  bool IsAuto() const { return calibrate_ == "auto"; }
  /// Returns the number of inputs on which results are compared.
  std::size_t JudgingCount(const Graph& graph, std::size_t samples) const {
    if (check_ >= 0) return static_cast<std::size_t>(check_);
    if (!IsAuto()) return synthetic_inputs_ ? 1 : 2;
    return quantize::InputsToCompare(graph, samples);
  }

  /// Computes the reference results of the float network, on synthetic inputs if none are given.
  Result<quantize::FloatResults> MeasureReference(const Graph& graph,
                                                  quantize::PipelineOptions& options) {
    quantize::FloatResults none;
    if (!quantize::EndsQuantized(options)) return none;
    synthetic_inputs_ = options.samples.empty();
    if (synthetic_inputs_ && IsAuto()) {
      constexpr int kSyntheticSamples = 8;
      options.samples = quantize::SyntheticSamples(graph, kSyntheticSamples);
      PrintErr(
          "note: ranges are measured on synthetic inputs (random numbers from -1 to 1), which "
          "may be far from real ones: give some with --data\n");
    }
    const std::size_t count = JudgingCount(graph, options.samples.size());
    if (count == 0) return none;
    std::span<const quantize::Sample> judging;
    if (options.samples.empty()) {
      made_ = quantize::SyntheticSamples(graph, static_cast<int>(count));
      judging = made_;
    } else {
      judging = std::span(options.samples).first(std::min(count, options.samples.size()));
    }
    auto expected = quantize::FloatResults::Of(graph, judging, threads_);
    if (!expected.ok()) return expected.status().WithContext("--check");
    return expected;
  }

  /// Runs the passes; with --calibrate auto once for each mode, and keeps the best result.
  Result<quantize::ModeResult> Quantize(Graph graph, quantize::PipelineOptions& options,
                                        const quantize::FloatResults& expected) {
    if (!IsAuto()) {
      options.after = [this](std::string_view pass, const Graph& now) -> Status {
        std::string listing;
        TW_RETURN_IF_ERROR(ListAfter(pass, now, listing));
        ShowListing(std::move(listing));
        return {};
      };
      quantize::ModeResult result{options.config.calibrate_mode, {}, {}, {}};
      TW_ASSIGN_OR_RETURN(result.graph,
                          quantize::RunPasses(std::move(graph), options, &result.values));
      TW_ASSIGN_OR_RETURN(result.quality, expected.Compare(result.graph));
      return result;
    }
    std::string printed, listing;
    options.after = [&](std::string_view pass, const Graph& now) {
      return ListAfter(pass, now, printed);
    };
    const auto tried = [&](const quantize::ModeResult& one, bool best) {
      tried_.emplace_back(quantize::CalibrateModeName(one.mode), one.quality.total);
      PrintErr("{}: {:.2f} dB\n", tried_.back().first, one.quality.total);
      if (best) listing = printed;
    };
    TW_ASSIGN_OR_RETURN(auto best, quantize::QuantizeInBestMode(graph, options, expected, tried));
    options.after = nullptr;
    ShowListing(std::move(listing));
    return best;
  }

  Status ListAfter(std::string_view pass, const Graph& graph, std::string& listing) const {
    if (progress_ != nullptr) progress_->Set(0, 0, "after " + std::string(pass));
    if (pass != print_after_) return Status();
    TW_ASSIGN_OR_RETURN(listing, PrintRelay(graph));
    return Status();
  }
  void ShowListing(std::string listing) {
    if (listing.empty()) return;
    if (json_) {
      listing_ = std::move(listing);
    } else {
      WriteText(listing);
    }
  }

  void Print(const report::QuantizedNetwork& network) const {
    if (json_) {
      Json out = network.ToJson();
      if (!print_after_.empty()) out["listing"] = listing_;
      PrintJson(out);
    } else if (!output_.empty()) {
      WriteText(network.ToText());
    }
    network.NoteWeakness([](const std::string& note) { PrintErr("{}\n", note); });
  }

  ModelArguments model_;
  std::string file_, output_, config_file_, print_after_, listing_, calibrate_;
  std::vector<std::string> fields_, data_, passes_;
  quantize::DataSetOptions data_options_;
  int threads_ = 2, check_ = -1;
  report::WorkProgress* progress_ = nullptr;  // while passes run
  bool json_ = false, reduce_range_ = false;

  std::vector<quantize::FloatLayer> left_;
  std::vector<quantize::Sample> made_;  // synthetic inputs, if none are given
  bool synthetic_inputs_ = false;
  std::vector<std::pair<std::string, double>> tried_;
};

}  // namespace

std::unique_ptr<Command> MakeQuantizeCommand() { return std::make_unique<QuantizeCommand>(); }

}  // namespace tilewright::cli
