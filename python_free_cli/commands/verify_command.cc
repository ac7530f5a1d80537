// `tilewright verify`: compares a model with another version of it.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "python_free_cli/command.h"
#include "python_free_cli/device_network.h"
#include "python_free_cli/isolated_process.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/model_source.h"
#include "python_free_cli/print.h"
#include "src/base/strings.h"
#include "src/compiler/check/compare.h"
#include "src/compiler/check/verify.h"
#include "src/report/networks/verification.h"
#include "src/session/compare/compare_forms.h"
#include "src/session/model.h"

namespace tilewright::cli {
namespace {

constexpr int kThreads = 2;  // of the reference evaluator

template <typename Report>
int Print(const Report& report, bool json) {
  json ? PrintJson(report::VerificationJson(report))
       : WriteText(report::VerificationText(report, OutputColumns()));
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
    session::FormComparison comparison;
    TW_ASSIGN_OR_RETURN(comparison.reference, model_.Source(file_));
    TW_ASSIGN_OR_RETURN(comparison.other, model_.Source(other_));
    comparison.seeded = seeded_;
    comparison.inputs = inputs_;
    comparison.device = network_.device();
    comparison.verify = options_;
    comparison.min_sqnr_db = min_sqnr_;
    comparison.note = PrintNote;
    TW_ASSIGN_OR_RETURN(const auto compared, session::CompareForms(std::move(comparison)));
    const auto* layers = std::get_if<DifferenceReport>(&compared);
    if (layers != nullptr && layers->min_sqnr_db && tolerance_option_->count() > 0) {
      return InvalidArgument("--tolerance: one of the models is quantized, expected --min-sqnr");
    }
    return std::visit([this](const auto& report) { return Print(report, json_); }, compared);
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
