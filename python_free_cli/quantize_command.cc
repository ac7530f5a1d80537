// `tilewright quantize`: a float graph to one of integers, pass by pass.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "python_free_cli/command.h"
#include "python_free_cli/model_io.h"
#include "src/base/file.h"
#include "src/base/json.h"
#include "src/graph/quantize/data_set.h"
#include "src/graph/quantize/integral.h"
#include "src/graph/quantize/pipeline.h"
#include "src/graph/relay/export.h"

namespace tilewright::cli {
namespace {

class QuantizeCommand final : public Command {
 public:
  const char* name() const override { return "quantize"; }
  const char* summary() const override {
    return "Make a graph of integers of a float model and write it as Relay text";
  }
  const char* examples() const override {
    return "  tilewright quantize resnet18.onnx -o resnet18_int8.relay\n"
           "  tilewright quantize resnet18.onnx --set skip_conv_layers=None -o "
           "resnet18_int8.relay\n"
           "  tilewright quantize resnet18.onnx --set calibrate_mode=kl_divergence "
           "--set weight_scale=max --set per_channel=True --data images --image-fit crop -o "
           "out.relay\n"
           "  tilewright quantize before.relay --passes partition --print-after partition\n"
           "  tilewright quantize resnet18.onnx --passes fold,partition,annotate -o marked.relay\n"
           "  tilewright quantize marked.relay --passes calibrate,realize -o out.relay\n"
           "Passes: fold, partition, annotate, calibrate, realize (with do_simulation: simulate). "
           "Fields of the configuration: docs/graphs.md.\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("file", file_, "Model file (ONNX or Relay text)")->required();
    app.add_option("-o,--output", output_, "Relay text to write, with the weights");
    app.add_option("--config", config_file_, "JSON file with fields of the configuration");
    app.add_option("--set", fields_, "A field of the configuration, FIELD=VALUE; repeat for more");
    CLI::Option* data = app.add_option(
        "--data", data_,
        "Calibration data: .npy, .npz, .jpg, .png, .ppm or .pgm files, or folders of them");
    DeclarePictureOptions(app, data_options_.picture, data);
    app.add_option("--samples", data_options_.limit, "Samples read at most")
        ->needs(data)
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--passes", passes_, "Passes to run, in order (default: all)")->delimiter(',');
    app.add_option("--print-after", print_after_, "Print the text, without contents, after a pass");
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
    options.after = [this](std::string_view pass, const Graph& graph) {
      return PrintAfter(pass, graph);
    };
    if (output_.empty() && print_after_.empty()) {
      return InvalidArgument("nothing to do: give --output or --print-after");
    }
    if (!print_after_.empty() &&
        std::ranges::find(options.passes, print_after_) == options.passes.end()) {
      return InvalidArgument(fmt::format("--print-after: {} is none of the passes that run: {}",
                                         print_after_, fmt::join(options.passes, ", ")));
    }
    if (!data_.empty() && options.config.calibrate_mode == quantize::CalibrateMode::kGlobalScale) {
      return InvalidArgument(
          "--data: calibrate_mode is global_scale, which looks at no data; expected --set "
          "calibrate_mode=percentile or kl_divergence");
    }
    if (!data_.empty() && std::ranges::find(options.passes, "calibrate") == options.passes.end()) {
      return InvalidArgument("--data: calibrate is none of the passes that run");
    }
    auto graph = LoadForQuantizing(options.passes);
    TW_RETURN_IF_ERROR(graph);
    data_options_.note = [](const std::string& text) { fmt::print(stderr, "note: {}\n", text); };
    auto samples = quantize::LoadDataSet(data_, *graph, data_options_);
    TW_RETURN_IF_ERROR(samples);
    if (!data_.empty() && samples->empty()) return InvalidArgument("--data: not one whole sample");
    options.samples = *std::move(samples);
    std::vector<quantize::IntegerValue> values;
    const std::size_t known = graph->notes.size();  // printed while it was read
    auto result = quantize::RunPasses(*std::move(graph), options, &values);
    if (!result.ok()) return result.status().WithContext(file_);
    for (std::size_t i = known; i < result->notes.size(); ++i) {
      fmt::print(stderr, "note: {}\n", result->notes[i]);
    }
    if (!output_.empty()) {
      auto text = TextOf(*result, options.config);
      if (!text.ok()) return text.status().WithContext(file_);
      TW_RETURN_IF_ERROR(WriteFile(output_, *text));
    }
    Print(options, values, result->made_up_constants);
    return kExitDone;
  }

 private:
  Status ReadConfig(quantize::Config& config) const {
    if (!config_file_.empty()) {
      auto text = ReadFile(config_file_);
      TW_RETURN_IF_ERROR(text);
      if (Status status = config.SetAll(*text); !status.ok()) {
        return status.WithContext(config_file_);
      }
    }
    for (const std::string& field : fields_) {
      const std::size_t mark = field.find('=');
      if (mark == std::string::npos) {
        return InvalidArgument("--set: " + field + ", expected FIELD=VALUE");
      }
      const Status status = config.Set(field.substr(0, mark), field.substr(mark + 1));
      if (!status.ok()) return status.WithContext("--set");
    }
    return config.Check();
  }

  static Result<std::string> TextOf(const Graph& graph, const quantize::Config& config) {
    if (config.partition_conversions != quantize::PartitionConversions::kEnabled) {
      return ExportRelay(graph);
    }
    auto split = quantize::SplitConversions(graph);
    TW_RETURN_IF_ERROR(split);
    return ExportRelay(graph, *split);
  }

  /// Missing contents are made up where something looks at them: a pass, or a file's reader.
  Result<Graph> LoadForQuantizing(const std::vector<std::string>& passes) const {
    const bool listing_only =
        output_.empty() && std::ranges::all_of(passes, [](const std::string& pass) {
          return pass == "partition" || pass == "annotate";
        });
    return listing_only ? LoadGraph(file_) : LoadForRunning(file_, false);
  }

  Status PrintAfter(std::string_view pass, const Graph& graph) {
    if (pass != print_after_) return Status();
    auto listing = ListRelay(graph);
    TW_RETURN_IF_ERROR(listing);
    if (json_) {
      listing_ = *std::move(listing);
    } else {
      fmt::print("{}", *listing);
    }
    return Status();
  }

  void Print(const quantize::PipelineOptions& options,
             const std::vector<quantize::IntegerValue>& values, std::int64_t made_up) const {
    if (json_) {
      Json list = Json::array();
      for (const quantize::IntegerValue& value : values) {
        list.push_back({{"value", value.value}, {"scales", value.scales}});
      }
      Json report = {{"file", output_},
                     {"passes", options.passes},
                     {"samples", options.samples.size()},
                     {"made_up_constants", MadeUpJson(made_up)},
                     {"integers", std::move(list)}};
      if (!print_after_.empty()) report["listing"] = listing_;
      PrintJson(report);
    } else if (!output_.empty()) {
      fmt::print("{}: {}; {} operators work on integers\n", output_,
                 fmt::join(options.passes, ", "), values.size());
    }
  }

  std::string file_, output_, config_file_, print_after_, listing_;
  std::vector<std::string> fields_, data_, passes_;
  quantize::DataSetOptions data_options_;
  int threads_ = 2;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeQuantizeCommand() { return std::make_unique<QuantizeCommand>(); }

}  // namespace tilewright::cli
