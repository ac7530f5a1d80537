// `tilewright quantize`: quantizes a float graph to integers, pass by pass.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "python_free_cli/command.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/model_source.h"
#include "python_free_cli/print.h"
#include "python_free_cli/progress.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/graph/passes/passes.h"
#include "src/graph/quantize/integral.h"
#include "src/graph/quantize/pipeline.h"
#include "src/graph/quantize/quality.h"
#include "src/graph/relay/export.h"
#include "src/media/data_set.h"
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
    WorkProgress progress("quantize");
    progress_ = &progress;
    progress.Set(0, 0, "reference results");
    TW_RETURN_IF_ERROR(MeasureReference(graph, options));
    std::vector<quantize::IntegerValue> values;
    const std::size_t known = graph.notes.size();  // number of notes printed during reading
    auto result = Quantize(std::move(graph), options, values);
    progress.Stop();
    progress_ = nullptr;
    if (!result.ok()) return result.status().WithContext(file_);
    for (std::size_t i = known; i < result->notes.size(); ++i) {
      PrintErr("note: {}\n", result->notes[i]);
    }
    if (!output_.empty()) {
      auto text = TextOf(*result, options.config);
      if (!text.ok()) return text.status().WithContext(file_);
      TW_RETURN_IF_ERROR(WriteFile(output_, *text));
    }
    Print(options, values, *result);
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
    if (!given.contains("weight_scale")) config.weight_scale = quantize::WeightScale::kMax;
    if (!given.contains("per_channel")) config.per_channel = true;
    const bool narrow = config.nbit_input == 8 && config.dtype_input == kInt8;
    if (!given.contains("unsigned") && config.rules >= quantize::kAccurateRules && narrow) {
      config.unsigned_inputs = true;
    }
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
    if (IsAuto() && !(runs("calibrate") && Ends(options))) {
      return InvalidArgument(
          "--calibrate auto: expected calibrate and realize among the passes that run: modes are "
          "told apart by the results of the quantized network");
    }
    return {};
  }

  bool IsAuto() const { return calibrate_ == "auto"; }
  /// Returns true if the passes end with a network whose results approximate the float network's.
  static bool Ends(const quantize::PipelineOptions& options) {
    return options.passes.back() == "realize" || options.passes.back() == "simulate";
  }

  /// Returns the number of inputs on which results are compared. If it is used to choose a mode, it
  /// is the number of samples, but fewer for networks that the reference evaluator would run for
  /// minutes. The result is deterministic.
  std::size_t JudgingCount(const Graph& graph, std::size_t samples) const {
    constexpr double kMaxMacs = 2e10;  // summed over the inputs, for each mode
    if (check_ >= 0) return static_cast<std::size_t>(check_);
    if (!IsAuto()) return synthetic_inputs_ ? 1 : 2;
    const double fit = kMaxMacs / std::max(quantize::MacsOf(graph), 1.0);
    return std::max<std::size_t>(
        2, static_cast<std::size_t>(std::min(fit, static_cast<double>(samples))));
  }

  /// Computes the reference results of the float network, on synthetic inputs if none are given.
  Status MeasureReference(const Graph& graph, quantize::PipelineOptions& options) {
    if (!Ends(options)) return {};
    synthetic_inputs_ = options.samples.empty();
    if (synthetic_inputs_ && IsAuto()) {
      constexpr int kSyntheticSamples = 8;
      options.samples = quantize::SyntheticSamples(graph, kSyntheticSamples);
      PrintErr(
          "note: ranges are measured on synthetic inputs (random numbers from -1 to 1), which "
          "may be far from real ones: give some with --data\n");
    }
    const std::size_t count = JudgingCount(graph, options.samples.size());
    if (count == 0) return {};
    if (options.samples.empty()) {
      made_ = quantize::SyntheticSamples(graph, static_cast<int>(count));
      judging_ = made_;
    } else {
      judging_ = std::span(options.samples).first(std::min(count, options.samples.size()));
    }
    auto expected = quantize::OutputsFor(graph, judging_, threads_);
    if (!expected.ok()) return expected.status().WithContext("--check");
    expected_ = *std::move(expected);
    for (int id : graph.outputs()) output_names_.push_back(graph.node(id).name);
    return {};
  }

  /// Runs the passes; with --calibrate auto once for each mode, and keeps the best result.
  Result<Graph> Quantize(Graph graph, quantize::PipelineOptions& options,
                         std::vector<quantize::IntegerValue>& values) {
    if (!IsAuto()) {
      options.after = [this](std::string_view pass, const Graph& now) {
        return PrintAfter(pass, now);
      };
      auto result = quantize::RunPasses(std::move(graph), options, &values);
      if (result.ok()) TW_RETURN_IF_ERROR(Judge(*result, quality_));
      return result;
    }
    using Mode = quantize::CalibrateMode;
    std::optional<Graph> best;
    Mode chosen = Mode::kPercentile;
    std::string listing;
    for (Mode mode : {Mode::kPercentile, Mode::kMse, Mode::kKlDivergence, Mode::kGlobalScale}) {
      if (mode == Mode::kPercentile && options.config.rules < quantize::kSkipCountsConvolutions) {
        continue;
      }
      options.config.calibrate_mode = mode;
      std::string printed;
      options.after = [&](std::string_view pass, const Graph& now) {
        return ListAfter(pass, now, printed);
      };
      std::vector<quantize::IntegerValue> made;
      left_.clear();
      TW_ASSIGN_OR_RETURN(auto result, quantize::RunPasses(graph.Clone(), options, &made));
      quantize::Quality quality;
      TW_RETURN_IF_ERROR(Judge(result, quality));
      candidates_.push_back({std::string(quantize::CalibrateModeName(mode)), quality.total});
      PrintErr("{}: {:.2f} dB\n", candidates_.back().first, quality.total);
      if (best && quality.total <= quality_.total) continue;
      quality_ = quality;
      best = std::move(result);
      values = std::move(made);
      listing = std::move(printed);
      chosen = mode;
    }
    options.after = nullptr;
    options.config.calibrate_mode = chosen;
    ShowListing(std::move(listing));
    return *std::move(best);
  }

  Status Judge(const Graph& result, quantize::Quality& quality) const {
    if (expected_.empty()) return {};
    TW_ASSIGN_OR_RETURN(auto actual, quantize::OutputsFor(result, judging_, threads_));
    quality = quantize::QualityOf(expected_, actual);
    return {};
  }

  Status PrintAfter(std::string_view pass, const Graph& graph) {
    std::string listing;
    TW_RETURN_IF_ERROR(ListAfter(pass, graph, listing));
    ShowListing(std::move(listing));
    return Status();
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

  std::vector<quantize::FloatLayer> Left(const quantize::PipelineOptions& options,
                                         const Graph& result) const {
    return options.passes.back() == "realize" ? quantize::FloatLayersOf(result, left_) : left_;
  }

  void Print(const quantize::PipelineOptions& options,
             const std::vector<quantize::IntegerValue>& values, const Graph& result) const {
    const std::vector<quantize::FloatLayer> left = Left(options, result);
    if (json_) {
      PrintAsJson(options, values, left, result.synthetic_constants);
    } else if (!output_.empty()) {
      PrintOut("{}: {}; {} operators work on integers\n", output_, fmt::join(options.passes, ", "),
               values.size());
      if (Ends(options)) PrintFloatLayers(left, result);
      if (!expected_.empty()) PrintQuality(options);
    }
    if (!Ends(options)) return;
    const bool measured =
        options.config.calibrate_mode != quantize::CalibrateMode::kGlobalScale || IsAuto();
    if (!measured && std::ranges::find(options.passes, "calibrate") != options.passes.end()) {
      PrintErr(
          "note: ranges were not measured: what is beyond +-{:g} (global_scale) is clipped; "
          "--calibrate auto --data FILES measures them\n",
          options.config.global_scale);
    }
    constexpr double kMinDecibels = 10;  // below, more than a third of the signal is error
    if (!expected_.empty() && !(quality_.total >= kMinDecibels)) {
      PrintErr(
          "warning: little of the results is left ({:.1f} dB): see --calibrate auto, "
          "--data, and skip_conv_layers\n",
          quality_.total);
    }
  }

  static void PrintFloatLayers(const std::vector<quantize::FloatLayer>& left, const Graph& result) {
    const auto count = std::ranges::count_if(result.nodes(), [](const Node& node) {
      return node.kind == NodeKind::kOperator && IsAnchor(node.op.kind);
    });
    PrintOut("{} of {} convolutions and matrix products are of integers{}\n",
             count - std::ssize(left), count, left.empty() ? "" : "; float stay:");
    std::map<std::string, std::vector<std::string>> names;
    for (const auto& layer : left) names[layer.reason].emplace_back(SourceName(layer.name));
    for (auto& [reason, list] : names) {
      constexpr std::size_t kShown = 4;
      const std::size_t more = list.size() - std::min(list.size(), kShown);
      list.resize(list.size() - more);
      PrintOut("  {}: {}{}\n", reason, fmt::join(list, ", "),
               more == 0 ? "" : fmt::format(" and {} more (--json names all)", more));
    }
  }

  void PrintQuality(const quantize::PipelineOptions& options) const {
    std::string each;
    for (std::size_t i = 0; quality_.outputs.size() > 1 && i < quality_.outputs.size(); ++i) {
      each +=
          fmt::format("{}{} {:.2f}", i == 0 ? " (" : ", ", output_names_[i], quality_.outputs[i]);
    }
    PrintOut("outputs beside the float network's: {:.2f} dB{}{} on {} {}; {}\n", quality_.total,
             each, each.empty() ? "" : ")", judging_.size(),
             synthetic_inputs_ ? (judging_.size() == 1 ? "synthetic input" : "synthetic inputs")
                               : (judging_.size() == 1 ? "input of --data" : "inputs of --data"),
             quantize::CalibrateModeName(options.config.calibrate_mode));
  }

  void PrintAsJson(const quantize::PipelineOptions& options,
                   const std::vector<quantize::IntegerValue>& values,
                   const std::vector<quantize::FloatLayer>& left,
                   std::int64_t synthetic_constants) const {
    Json list = Json::array(), floats = Json::array(), tried = Json::array();
    for (const quantize::IntegerValue& value : values) {
      list.push_back({{"value", value.value}, {"scales", value.scales}});
    }
    for (const quantize::FloatLayer& layer : left) {
      floats.push_back({{"value", SourceName(layer.name)},
                        {"operator", OpName(layer.op)},
                        {"reason", layer.reason}});
    }
    const auto decibels = [](double db) { return std::isfinite(db) ? Json(db) : Json(); };
    for (const auto& [mode, db] : candidates_) {
      tried.push_back({{"calibrate_mode", mode}, {"sqnr_db", decibels(db)}});
    }
    Json sqnr;
    if (!expected_.empty()) {
      Json each = Json::array();
      for (std::size_t i = 0; i < quality_.outputs.size(); ++i) {
        each.push_back({{"output", output_names_[i]}, {"sqnr_db", decibels(quality_.outputs[i])}});
      }
      sqnr = {{"sqnr_db", decibels(quality_.total)},
              {"inputs", judging_.size()},
              {"made_up_inputs", synthetic_inputs_},
              {"outputs", std::move(each)}};
    }
    Json report = {{"file", output_},
                   {"passes", options.passes},
                   {"samples", options.samples.size()},
                   {"made_up_constants", SyntheticConstantsJson(synthetic_constants)},
                   {"calibrate_mode", quantize::CalibrateModeName(options.config.calibrate_mode)},
                   {"quality", std::move(sqnr)},
                   {"candidates", std::move(tried)},
                   {"float", std::move(floats)},
                   {"integers", std::move(list)}};
    if (!print_after_.empty()) report["listing"] = listing_;
    PrintJson(report);
  }

  ModelArguments model_;
  std::string file_, output_, config_file_, print_after_, listing_, calibrate_;
  std::vector<std::string> fields_, data_, passes_;
  quantize::DataSetOptions data_options_;
  int threads_ = 2, check_ = -1;
  WorkProgress* progress_ = nullptr;  // while passes run
  bool json_ = false, reduce_range_ = false;

  std::vector<quantize::FloatLayer> left_;
  std::vector<quantize::Sample> made_;         // synthetic inputs, if none are given
  std::span<const quantize::Sample> judging_;  // these inputs, or samples of the options
  std::vector<quantize::Sample> expected_;     // outputs of the float network; empty: no comparison
  std::vector<std::string> output_names_;
  bool synthetic_inputs_ = false;
  quantize::Quality quality_;
  std::vector<std::pair<std::string, double>> candidates_;
};

}  // namespace

std::unique_ptr<Command> MakeQuantizeCommand() { return std::make_unique<QuantizeCommand>(); }

}  // namespace tilewright::cli
