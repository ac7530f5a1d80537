// `tilewright inspect`, `tasks` and `model`: contents of model files, and built-in networks.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/print.h"
#include "python_free_cli/tune_display.h"
#include "python_free_cli/usage.h"
#include "records/autotvm/tuple.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/compiler/compile.h"
#include "src/graph/ir/check_memory.h"
#include "src/graph/ir/describe.h"
#include "src/graph/ir/graph.h"
#include "src/graph/partition/partition.h"
#include "src/graph/partition/tasks.h"
#include "src/graph/passes/passes.h"
#include "src/models/models.h"
#include "src/session/format.h"
#include "src/session/model.h"
#include "src/session/target.h"
#include "src/templates/device.h"

namespace tilewright::cli {
namespace {

/// Checks that `compile` accepts a network. Errors: those of compile.
Status CheckTaken(const TemplateRegistry& templates, const std::string& file, Graph graph,
                  const Target& target) {
  if (Status status = CheckMemory(graph); !status.ok()) return status.WithContext(file);
  SeedConstants(graph, SeedRule::kMissing);
  CompileOptions options;
  options.templates = &templates;
  options.target = target;
  auto device = DeviceFor(target);
  if (device.ok()) options.device = *std::move(device);  // otherwise a device without records
  const Status status = CheckCompiles(std::move(graph), options);
  return status.ok() ? status : status.WithContext(file);
}

class InspectCommand final : public Command {
 public:
  const char* name() const override { return "inspect"; }
  const char* summary() const override {
    return "Show what a model file holds: inputs, outputs, operators, sizes";
  }
  const char* examples() const override {
    return "  tilewright inspect resnet18.onnx\n  tilewright inspect resnet18_packed.relay "
           "--json\n  tilewright inspect resnet18.onnx --check --target rasp4b64\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("file", file_, "Model file (ONNX or Relay text)")->required();
    auto* check = app.add_flag(
        "--check", check_, "Say whether compile would take the file; exit code 2 if it would not");
    app.add_option("--target", target_, "What --check is for")->capture_default_str()->needs(check);
    app.add_flag("--json", json_, "Print JSON");
    model_.Declare(app);
  }
  Result<int> Run() override {
    TW_ASSIGN_OR_RETURN(const auto source, model_.Source(file_));
    TW_ASSIGN_OR_RETURN(auto graph, LoadGraph(source));
    session::NoteImport(graph, PrintNote);
    if (json_) {
      PrintJsonText(DescribeGraphJson(graph));
    } else {
      WriteText(DescribeGraph(graph));
    }
    if (!check_) return kExitDone;
    TW_ASSIGN_OR_RETURN(auto target, session::ParseTarget(target_, 1, {}, {}, PrintNote));
    TW_RETURN_IF_ERROR(CheckTaken(templates(), file_, std::move(graph), target));
    PrintErr("compile takes {} for {}\n", file_, target.ToString());
    return kExitDone;
  }

 private:
  std::string file_;
  ModelArguments model_;
  std::string target_ = "native";
  bool check_ = false;
  bool json_ = false;
};

class TasksCommand final : public Command {
 public:
  const char* name() const override { return "tasks"; }
  const char* summary() const override { return "List the tunable workloads of a model file"; }
  const char* examples() const override {
    return "  tilewright tasks resnet18.onnx\n"
           "  tilewright tasks resnet18.onnx --json | jq .total_macs\n"
           "  tilewright tasks resnet18_packed.relay --target vta --vta-config "
           "sim\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("file", file_, "Model file (ONNX or Relay text)")->required();
    app.add_option("--target", target_, "What code is generated for")->capture_default_str();
    app.add_option("--vta-config", vta_config_,
                   "Design of a VTA target: a file, or sim, pynq, ultra96, … (configs/vta)");
    app.add_flag("--no-fuse-residuals", no_fuse_residuals_,
                 "On a VTA, additions of residuals are tasks of their own");
    app.add_flag(
        "--groups", groups_,
        "List the groups of operators without an anchor instead, with their keys and their "
        "share of the network's estimated time");
    app.add_flag("--json", json_, "Print JSON");
    model_.Declare(app);
  }
  Result<int> Run() override {
    TW_ASSIGN_OR_RETURN(auto target, session::ParseTarget(target_, 1, vta_config_, {}, PrintNote));
    TW_RETURN_IF_ERROR(session::CheckResiduals(target, no_fuse_residuals_));
    TW_ASSIGN_OR_RETURN(const auto source, model_.Source(file_));
    auto graph = LoadGraph(source);
    TW_RETURN_IF_ERROR(graph);
    session::NoteImport(*graph, PrintNote);
    const std::string name = graph->name;
    const PartitionRule rule = PartitionRuleFor(target, !no_fuse_residuals_);
    graph = UnfusedOperators(*std::move(graph), rule);
    TW_RETURN_IF_ERROR(graph);
    TW_ASSIGN_OR_RETURN(auto tasks, ExtractTasks(*graph, rule.fuse));
    if (groups_) return PrintGroups(source, target);
    const Status taken = CheckTaken(templates(), file_, *std::move(graph), target);
    if (!taken.ok()) PrintErr("warning: compile would refuse it: {}\n", taken.message());
    if (json_) {
      PrintJsonText(TasksToJson(name, tasks, records::AutotvmTuplesOn(target)));
      return kExitDone;
    }
    PrintOut("{:>3}  {:<38} {:>4} {:>9}  {}\n", "#", "task", "uses", "MMACs", "fused with");
    std::int64_t uses = 0;
    std::int64_t macs = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const ExtractedTask& task = tasks[i];
      PrintOut("{:>3}  {:<38} {:>4} {:>9.2f}  {}\n", i, session::ShortName(task.workload),
               task.occurrences(), 1e-6 * static_cast<double>(task.workload.macs()),
               task.epilogue.ToString());
      uses += task.occurrences();
      macs += task.occurrences() * task.workload.macs();
    }
    PrintOut("{} tasks, {} uses, {:.3f} GMACs\n", tasks.size(), uses,
             1e-9 * static_cast<double>(macs));
    return kExitDone;
  }

 private:
  Result<int> PrintGroups(const ModelSource& source, const Target& target) const {
    std::vector<double> shares;
    TW_ASSIGN_OR_RETURN(auto tasks, session::GroupTasksOfFile(templates(), source, target,
                                                              /*least_share=*/0, &shares));
    Json list = Json::array();
    double all = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const search::TuneTask& task = tasks[i];
      list.push_back(
          {{"key", task.task.workload.Key()}, {"uses", task.occurrences}, {"share", shares[i]}});
      all += shares[i];
      if (json_) continue;
      PrintOut("{:>3}  {:<38} {:>4} uses {:>6.2f} %\n", i, session::ShortName(task.task.workload),
               task.occurrences, 100 * shares[i]);
    }
    if (json_) {
      PrintJson({{"groups", list}});
    } else {
      PrintOut("{} groups, {:.1f} % of the estimated time\n", tasks.size(), 100 * all);
    }
    return kExitDone;
  }

  std::string file_;
  ModelArguments model_;
  std::string target_ = "native";
  std::string vta_config_;
  bool no_fuse_residuals_ = false;
  bool groups_ = false;
  bool json_ = false;
};

class ModelCommand final : public Command {
 public:
  const char* name() const override { return "model"; }
  const char* summary() const override {
    return "Make one of the built-in networks, with seeded weights";
  }
  const char* examples() const override {
    return "  tilewright model resnet18_v1 -o resnet18.onnx\n"
           "  tilewright model mobilenet_v2 --batch 8 -o mobilenet.onnx\n"
           "  tilewright model resnet18_v1 --int8 -o resnet18_int8.onnx\n"
           "  tilewright model resnet18_v1 --float16 -o resnet18_half.onnx\n"
           "  tilewright model bert_base_encoder -o encoder.onnx\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("name", name_,
                   "resnet18_v1, resnet50_v1, mobilenet_v2, squeezenet1_1 or bert_base_encoder")
        ->required();
    app.add_option("--batch", options_.batch, "Images or sequences per run")->capture_default_str();
    app.add_flag("--int8", options_.int8, "The quantized form: int8 operands, int32 sums");
    app.add_flag("--float16", options_.float16, "Every tensor in half precision");
    app.add_option("-o,--output", output_, "File to write")->required();
  }
  Result<int> Run() override {
    auto bytes = MakeModelOnnx(name_, options_);
    if (!bytes.ok()) {
      const auto names = ModelNames();
      return Status(bytes.status().code(),
                    bytes.status().message() + DidYouMean(name_, {names.begin(), names.end()}));
    }
    TW_RETURN_IF_ERROR(WriteFile(output_, *bytes));
    return kExitDone;
  }

 private:
  std::string name_, output_;
  ModelOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeInspectCommand() { return std::make_unique<InspectCommand>(); }
std::unique_ptr<Command> MakeTasksCommand() { return std::make_unique<TasksCommand>(); }
std::unique_ptr<Command> MakeModelCommand() { return std::make_unique<ModelCommand>(); }

}  // namespace tilewright::cli
