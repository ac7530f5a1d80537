// `tilewright verify`: compares a model with another version of it.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "python_free_cli/command.h"
#include "python_free_cli/device_network.h"
#include "python_free_cli/isolated_process.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/model_source.h"
#include "python_free_cli/print.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/strings.h"
#include "src/compiler/check/compare.h"
#include "src/compiler/check/verify.h"
#include "src/graph/ir/graph.h"
#include "src/graph/passes/passes.h"
#include "src/session/model.h"
#include "src/session/text_table.h"

namespace tilewright::cli {
namespace {

constexpr int kThreads = 2;  // of the reference evaluator

int Print(const VerifyReport& report, bool json) {
  if (json) {
    Json rows = Json::array();
    for (const OperatorCheck& check : report.checks) {
      rows.push_back({{"value", check.value},
                      {"op", check.op},
                      {"ok", check.comparison.ok},
                      {"max_abs_error", check.comparison.max_abs_error},
                      {"unlike", check.non_finite_mismatches},
                      {"reference_rms", check.comparison.reference_rms}});
    }
    PrintJson({{"ok", report.ok()},
               {"summary", report.Summary()},
               {"made_up_constants", SyntheticConstantsJson(report.synthetic_constants)},
               {"operators", rows}});
  } else {
    session::TextTable table({{""}, {"value", false, 16}, {"operator", false, 16}, {"error"}});
    for (const OperatorCheck& check : report.checks) {
      table.AddRow({check.comparison.ok ? "ok" : "BAD", Printable(check.value), Printable(check.op),
                    fmt::format("{:.2e} of {:.2e}", check.comparison.max_abs_error,
                                check.comparison.reference_rms)});
    }
    PrintTable(table);
    PrintOut("{}\n", report.Summary());
  }
  return report.ok() ? kExitDone : kExitFailed;
}

/// Accepts finite numbers only: CLI::Range accepts nan.
CLI::Validator FiniteFrom(double least) {
  const auto check = [least](const std::string& text) -> std::string {
    const auto number = ParseDouble(text);
    if (number.ok() && std::isfinite(*number) && *number >= least) return "";
    return "'" + text + "', expected a finite number" + (least == 0 ? ", not below 0" : "");
  };
  return {check, "NUMBER"};
}

const char* NameOf(ScaleSource scale_source) {
  switch (scale_source) {
    case ScaleSource::kAsIs:
      return "as is";
    case ScaleSource::kSource:
      return "source";
    case ScaleSource::kFit:
      return "fit";
  }
  return "";
}

Json RowOf(const LayerDifference& layer) {
  Json row = {{"value", layer.value},
              {"other", layer.other},
              {"op", layer.op},
              {"type", layer.type},
              {"other_type", layer.other_type},
              {"scale", layer.scale},
              {"scale_from", NameOf(layer.scale_source)},
              {"max_abs_error", layer.max_abs_error},
              {"rms_error", layer.rms_error},
              {"reference_rms", layer.reference_rms},
              {"sqnr_db", std::isfinite(layer.sqnr_db) ? Json(layer.sqnr_db) : Json(nullptr)},
              {"factor", layer.factor},
              {"unlike", layer.non_finite_mismatches},
              {"equal", layer.sqnr_db > 0 && std::isinf(layer.sqnr_db)},
              {"ok", layer.ok}};
  if (layer.same_top) row["same_top"] = *layer.same_top;
  return row;
}

/// Prints the layers as a table, with fewer columns on a narrow terminal.
void PrintLayers(const std::vector<LayerDifference>& layers) {
  constexpr int kAllColumns = 130;
  const int columns = OutputColumns();
  const bool all = columns == 0 || columns >= kAllColumns;
  std::vector<session::TextTable::Column> titles = {
      {""}, {"value", false, 16}, {"operator", false, 12}};
  if (all) titles.insert(titles.end(), {{"scale from"}, {"type"}, {"max error", true}});
  titles.insert(titles.end(), {{"RMS error", true}, {"RMS", true}, {"SQNR", true}});
  session::TextTable table(std::move(titles));
  for (const LayerDifference& layer : layers) {
    const bool equal = std::isinf(layer.sqnr_db) && layer.sqnr_db > 0;
    std::vector<std::string> cells = {layer.ok ? "ok" : "BAD", Printable(layer.value),
                                      Printable(layer.op)};
    if (all) {
      const std::string scale =
          layer.scale_source == ScaleSource::kAsIs
              ? NameOf(layer.scale_source)
              : fmt::format("{} {:.3g}", NameOf(layer.scale_source), layer.scale);
      cells.insert(cells.end(), {scale, Printable(layer.other_type),
                                 fmt::format("{:.2e}", layer.max_abs_error)});
    }
    cells.insert(cells.end(), {fmt::format("{:.2e}", layer.rms_error),
                               fmt::format("{:.2e}", layer.reference_rms),
                               equal ? "equal" : fmt::format("{:.1f} dB", layer.sqnr_db)});
    table.AddRow(std::move(cells));
    std::string note;
    if (layer.IsOffScale()) note = fmt::format("  off by x{:.3g}", layer.factor);
    if (layer.same_top) note += *layer.same_top ? "  top-1 same" : "  top-1 DIFFERS";
    if (!note.empty()) table.AddLines("   " + note);
  }
  PrintTable(table);
}

int Print(const DifferenceReport& report, bool json) {
  if (json) {
    Json rows = Json::array();
    for (const LayerDifference& layer : report.layers) rows.push_back(RowOf(layer));
    Json out = {{"ok", report.ok()},
                {"summary", report.Summary()},
                {"by_position", report.by_position},
                {"unmatched", report.unmatched},
                {"made_up_constants", SyntheticConstantsJson(report.synthetic_constants)},
                {"first_divergence", nullptr},
                {"layers", rows}};
    if (report.first_bad) out["first_divergence"] = *report.first_bad;
    PrintJson(out);
    return report.ok() ? kExitDone : kExitFailed;
  }
  PrintLayers(report.layers);
  PrintOut("{}\n", report.Summary());
  return report.ok() ? kExitDone : kExitFailed;
}

class VerifyCommand final : public Command {
 public:
  const char* name() const override { return "verify"; }
  const char* summary() const override {
    return "Compare the operators of a model with those of another form of it";
  }
  const char* examples() const override {
    return "  tilewright verify resnet18.onnx resnet18.so\n"
           "  tilewright verify resnet18.onnx resnet18_int8.onnx --input cat.npy\n"
           "  tilewright verify resnet18.onnx resnet18_quantized.relay --min-sqnr 15 --json\n"
           "  tilewright verify resnet18_packed.relay --target vta --vta-config sim\n"
           "If OTHER is a library or bundle made of FILE, integers have to be equal and floats "
           "within the tolerance.\n"
           "If OTHER is another model file, or a library made of one, values with the same name "
           "are compared; convolutions and matrix products without a common name are compared in "
           "their order. Quantized integers are compared as real numbers. The first layer below "
           "--min-sqnr is reported.\n"
           "Exit code 1 if an operator differs.\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("file", file_, "Model file that is the reference")->required();
    app.add_option("other", other_,
                   "Library, bundle or model file to compare with; optional for a VTA");
    tolerance_option_ =
        app.add_option("--tolerance", options_.tolerance,
                       "Allowed error of floats, relative to the RMS of the reference")
            ->check(FiniteFrom(0))
            ->capture_default_str();
    app.add_option(
           "--min-sqnr", min_sqnr_,
           "Minimum signal-to-noise ratio of a layer in dB (default: 10 if one of two different "
           "models is quantized; otherwise integers must be equal and floats within the tolerance)")
        ->check(FiniteFrom(std::numeric_limits<double>::lowest()))
        ->excludes(tolerance_option_);
    app.add_flag("--seeded", seeded_, "The library was compiled with --seeded");
    app.add_flag("--json", json_, "Print JSON");
    model_.Declare(app);
    inputs_.Declare(app);
    network_.Declare(app, /*traces=*/false);
    process_.Declare(app);
  }
  Result<int> Run() override {
    network_.Use(templates());
    return process_.Run(name(), [&](CheckProgress& progress) {
      options_.progress = &progress;
      return RunHere();
    });
  }

 private:
  Result<int> RunHere() {
    options_.threads = kThreads;
    if (network_.planned(other_)) return VerifyPlan();
    TW_RETURN_IF_ERROR(network_.CheckUnused());
    if (other_.empty()) {
      return InvalidArgument("other: missing, expected a library made by compile, or a model file");
    }
    TW_ASSIGN_OR_RETURN(const auto source, model_.Source(file_));
    TW_ASSIGN_OR_RETURN(auto graph, session::LoadForRunning(source, seeded_, PrintNote));
    TW_ASSIGN_OR_RETURN(auto inputs, inputs_.Make(ValuesOf(graph, graph.inputs())));
    TW_ASSIGN_OR_RETURN(auto library, IsLibrary(other_));
    return library ? VerifyLibrary(std::move(graph), inputs)
                   : VerifyGraph(std::move(graph), inputs);
  }

  Result<int> VerifyPlan() {
    if (min_sqnr_) {
      return InvalidArgument("--min-sqnr: needs a library or a model file to compare with");
    }
    if (!other_.empty() && network_.on_gpu()) {
      return InvalidArgument(other_ +
                             ": with --target the kernels are built from the model; expected no "
                             "second file (a library contains its target)");
    }
    if (!other_.empty() && !IsVtaBundle(other_)) {
      return InvalidArgument(other_ + ": not a folder made by compile --target vta");
    }
    TW_ASSIGN_OR_RETURN(const auto source, model_.Source(file_));
    TW_ASSIGN_OR_RETURN(auto report, network_.Verify(source, other_, seeded_, inputs_, options_));
    return Print(report, json_);
  }

  // Returns true for a library, or a bundle with one.
  static Result<bool> IsLibrary(const std::string& path) {
    if (FileExists(path + "/graph.json")) return true;
    TW_ASSIGN_OR_RETURN(auto bytes, ReadFile(path));
    return bytes.starts_with("\177ELF");
  }

  Result<int> VerifyLibrary(Graph graph, const std::vector<Tensor>& inputs) {
    TW_ASSIGN_OR_RETURN(const auto set, session::VariantFor(other_, graph));
    TW_ASSIGN_OR_RETURN(auto model, network_.device().OpenLibrary(other_, 0, set));
    TW_RETURN_IF_ERROR(model.FitSize(ValuesOf(graph, graph.inputs())));
    RegisterOperators(model, *options_.progress);
    if (!min_sqnr_ && IsLibraryOf(graph, model)) {
      const bool open = model.open_dimension() != nullptr;
      Graph own = open ? graph.Clone() : std::exchange(graph, Graph());
      TW_ASSIGN_OR_RETURN(const auto made_from, PartitionLike(std::move(own), model));
      auto report = Verify(made_from, model, inputs, options_);
      // A library of a range has the operators of its least size; at this one they may differ.
      const bool other = !report.ok() && report.status().code() == StatusCode::kInvalidArgument;
      if (!open || !other) {
        TW_RETURN_IF_ERROR(report);
        return Print(*report, json_);
      }
    }
    session::NoteSyntheticConstants(other_, model.synthetic_constants(), PrintNote);
    TW_ASSIGN_OR_RETURN(auto fed, InputsFor(model.inputs(), ValuesOf(graph, graph.inputs()), inputs,
                                            model.quantization_map(), graph.quantization));
    TW_ASSIGN_OR_RETURN(auto trace, TraceLibrary(model, fed, options_.progress));
    return Compare(graph, inputs, trace);
  }

  // Compares two graphs. Constants of both are folded, because pack writes a bias as operators on a
  // constant.
  Result<int> VerifyGraph(Graph unfolded, const std::vector<Tensor>& inputs) {
    options_.progress->End();  // there is no library
    TW_RETURN_IF_ERROR(network_.device().CheckUnused());
    TW_ASSIGN_OR_RETURN(auto folded, FoldConstants(std::move(unfolded)));
    const Graph& graph = folded;
    auto source = model_.Source(other_);  // its names may differ, and its sizes may be fixed
    TW_RETURN_IF_ERROR(source);
    source->options.ignore_unknown_names = true;
    TW_ASSIGN_OR_RETURN(auto loaded, session::LoadForRunning(*source, seeded_, PrintNote));
    TW_ASSIGN_OR_RETURN(auto other, FoldConstants(std::move(loaded)));
    TW_ASSIGN_OR_RETURN(auto fed,
                        InputsFor(ValuesOf(other, other.inputs()), ValuesOf(graph, graph.inputs()),
                                  inputs, other.quantization, graph.quantization));
    TW_ASSIGN_OR_RETURN(auto trace, TraceGraph(other, fed, kThreads));
    return Compare(graph, inputs, trace);
  }

  Result<int> Compare(const Graph& graph, const std::vector<Tensor>& inputs, const Trace& other) {
    TW_ASSIGN_OR_RETURN(auto reference, TraceGraph(graph, inputs, kThreads));
    DifferenceOptions options{.tolerance = options_.tolerance,
                              .min_sqnr_db = min_sqnr_,
                              .graph = &graph,
                              .inputs = inputs,
                              .threads = kThreads};
    TW_ASSIGN_OR_RETURN(auto report, CompareTraces(reference, other, options));
    if (report.min_sqnr_db && tolerance_option_->count() > 0) {
      return InvalidArgument("--tolerance: one of the models is quantized, expected --min-sqnr");
    }
    return Print(report, json_);
  }

  CLI::Option* tolerance_option_ = nullptr;
  std::string file_, other_;
  VerifyOptions options_;
  std::optional<double> min_sqnr_;
  ModelArguments model_;
  InputArguments inputs_;
  DeviceNetwork network_;
  IsolatedProcess process_;
  bool seeded_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeVerifyCommand() { return std::make_unique<VerifyCommand>(); }

}  // namespace tilewright::cli
