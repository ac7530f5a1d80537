// `tilewright pack`: changes the layout of a quantized graph for a VTA.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/model_source.h"
#include "python_free_cli/print.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/graph/passes/pack.h"
#include "src/graph/passes/passes.h"
#include "src/graph/relay/export.h"
#include "src/report/networks/compiled.h"
#include "src/session/model.h"
#include "src/session/target.h"

namespace tilewright::cli {
namespace {

class PackCommand final : public Command {
 public:
  const char* name() const override { return "pack"; }
  const char* summary() const override {
    return "Pack the layouts of a quantized model for a VTA and write it as Relay text";
  }
  const char* examples() const override {
    return "  tilewright model resnet50_v1 --int8 -o resnet50.onnx\n"
           "  tilewright pack resnet50.onnx --vta-config sim -o resnet50.relay\n"
           "  tilewright run resnet50.relay --target vta --vta-config sim\n"
           "  tilewright pack resnet50.onnx --vta-config sim --start max_pool2d --stop mean -o "
           "resnet50.relay\n"
           "The packed model computes exactly the same results. The text includes the weights. If "
           "nothing can be packed, no file is written and the exit code is 1.\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("file", file_, "Model file (ONNX or Relay text), quantized to int8")->required();
    app.add_option("--vta-config", vta_config_,
                   "Design of the VTA: a file, or a name such as sim or pynq")
        ->required();
    app.add_option("-o,--output", output_, "Relay text to write")->required();
    app.add_option("--start", options_.start,
                   "First value or operator to pack (default: chosen automatically)");
    app.add_option("--stop", options_.stop, "First value or operator after it that stays unpacked");
    app.add_flag("--json", json_, "Print JSON");
    model_.Declare(app);
  }
  Result<int> Run() override {
    TW_ASSIGN_OR_RETURN(auto design, session::ReadDesign(vta_config_));
    TW_ASSIGN_OR_RETURN(const auto source, model_.Source(file_));
    TW_ASSIGN_OR_RETURN(auto graph, session::LoadForRunning(source, false, PrintNote));
    auto unrolled = UnrollRecurrences(std::move(graph));  // Relay text has no recurrences
    TW_RETURN_IF_ERROR(unrolled);
    PackReport report;
    auto packed = PackForVta(*std::move(unrolled), design, options_, &report);
    if (!packed.ok()) return packed.status().WithContext(file_);
    if (report.convolutions + report.products == 0) {
      Print(report, design.Name(), packed->synthetic_constants);
      PrintErr("tilewright pack: nothing to pack, so {} is not written; {}\n", output_,
               report.left.empty() ? "the model has no int8 convolutions or matrix products, as "
                                     "`tilewright quantize` writes them"
                                   : "the reasons are listed above");
      return kExitFailed;
    }
    auto relay = ExportRelay(*packed);
    if (!relay.ok()) return relay.status().WithContext(file_);
    TW_RETURN_IF_ERROR(WriteFile(output_, *relay));
    Print(report, design.Name(), packed->synthetic_constants);
    return kExitDone;
  }

 private:
  void Print(const PackReport& report, const std::string& design,
             std::int64_t synthetic_constants) const {
    if (json_) {
      Json left = Json::array();
      for (const auto& [value, why] : report.left) {
        left.push_back({{"value", value}, {"why", why}});
      }
      PrintJson({{"file", output_},
                 {"design", design},
                 {"convolutions", report.convolutions},
                 {"products", report.products},
                 {"entering", report.entering},
                 {"leaving", report.leaving},
                 {"made_up_constants", report::SyntheticConstantsJson(synthetic_constants)},
                 {"left", std::move(left)}});
      return;
    }
    for (const auto& [value, why] : report.left) PrintOut("left as it is: {}: {}\n", value, why);
    PrintOut(
        "{}: {} convolutions and {} matrix products packed for {}, {} left; {} values enter, {} "
        "leave\n",
        output_, report.convolutions, report.products, design, report.left.size(), report.entering,
        report.leaving);
  }

  ModelArguments model_;
  std::string file_, vta_config_, output_;
  PackOptions options_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakePackCommand() { return std::make_unique<PackCommand>(); }

}  // namespace tilewright::cli
