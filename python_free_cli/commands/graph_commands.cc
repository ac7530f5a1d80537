// `tilewright inspect`, `tasks` and `model`: contents of model files, and built-in networks.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/print.h"
#include "python_free_cli/usage.h"
#include "records/autotvm/tuple.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/text/plural.h"
#include "src/compiler/compile.h"
#include "src/graph/ir/check_memory.h"
#include "src/graph/ir/describe.h"
#include "src/graph/ir/graph.h"
#include "src/graph/open/resize.h"
#include "src/graph/partition/partition.h"
#include "src/graph/partition/tasks.h"
#include "src/graph/passes/passes.h"
#include "src/models/models.h"
#include "src/session/format.h"
#include "src/session/model.h"
#include "src/session/names.h"
#include "src/session/open/open_sizes.h"
#include "src/session/target.h"
#include "src/session/tasks.h"
#include "src/session/text_table.h"
#include "src/target/device.h"
#include "src/target/short_target.h"
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
    return "Show the inputs, outputs, operators and sizes of a model file";
  }
  const char* examples() const override {
    return "  tilewright inspect resnet18.onnx\n  tilewright inspect resnet18_packed.relay "
           "--json\n  tilewright inspect resnet18.onnx --check --target rasp4b64\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("file", file_, "Model file (ONNX or Relay text)")->required();
    auto* check = app.add_flag("--check", check_,
                               "Check whether the file can be compiled; exit code 2 if not");
    app.add_option("--target", target_, "Target of --check")->capture_default_str()->needs(check);
    app.add_flag("--json", json_, "Print JSON");
    model_.Declare(app);
  }
  Result<int> Run() override {
    TW_ASSIGN_OR_RETURN(const auto range, model_.TakeRange(file_));
    auto symbols = session::OpenSymbolsOf(model_, file_);
    TW_ASSIGN_OR_RETURN(auto target, session::ParseTarget(target_, 1, {}, {}, PrintNote));
    auto loaded = session::LoadToInspect(model_, file_, symbols, /*all_sizes=*/check_);
    if (!loaded.ok()) return session::WithRanges(loaded.status(), model_, file_, target);
    Graph graph = *std::move(loaded);
    session::NoteImport(graph, PrintNote);
    if (range) NameRange(*range, graph);
    if (check_) session::FindRanges(model_, file_, target, symbols);
    if (json_) {
      PrintJsonText(session::GraphJson(graph, symbols));
    } else {
      WriteText(DescribeGraph(graph) + session::OpenSymbolsText(symbols));
    }
    if (!check_) return kExitDone;
    if (range) TW_RETURN_IF_ERROR(session::CheckRange(model_, file_, *range, target));
    TW_RETURN_IF_ERROR(CheckTaken(templates(), file_, std::move(graph), target));
    PrintErr("compile takes {} for {}{}\n", file_, ShortTargetText(target),
             range ? " with --dim " + range->ToString() : "");
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
    app.add_option("--target", target_, "Target: native, a board, or a target string")
        ->capture_default_str();
    app.add_option("--vta-config", vta_config_,
                   "Design of a VTA target: a file, or a name such as sim or pynq");
    app.add_flag("--no-fuse-residuals", no_fuse_residuals_,
                 "On a VTA, make residual additions separate tasks");
    app.add_flag("--groups", groups_,
                 "List the groups of operators without an anchor instead, with their keys and "
                 "shares of the estimated time");
    app.add_flag("--json", json_, "Print JSON");
    model_.Declare(app, /*with_ranges=*/true);
  }
  Result<int> Run() override {
    TW_ASSIGN_OR_RETURN(auto target, session::ParseTarget(target_, 1, vta_config_, {}, PrintNote));
    TW_RETURN_IF_ERROR(session::CheckResiduals(target, no_fuse_residuals_));
    TW_ASSIGN_OR_RETURN(const auto range, model_.TakeRange(file_));
    if (range) PrintNote(session::RangeNote(*range));
    TW_ASSIGN_OR_RETURN(const auto source, model_.Source(file_));
    auto graph = LoadGraph(source);
    TW_RETURN_IF_ERROR(graph);
    session::NoteImport(*graph, PrintNote);
    const std::string name = graph->name;
    const PartitionRule rule = PartitionRuleFor(target, !no_fuse_residuals_);
    graph = UnfusedOperators(*std::move(graph), rule);
    TW_RETURN_IF_ERROR(graph);
    TW_ASSIGN_OR_RETURN(auto tasks, ExtractTasks(*graph, rule));
    if (range) {
      TW_ASSIGN_OR_RETURN(tasks, session::TasksOfRange(model_, file_, *range, target, tasks));
    }
    if (groups_) return PrintGroups(source, target);
    const Status taken = CheckTaken(templates(), file_, *std::move(graph), target);
    if (!taken.ok()) PrintErr("warning: compile would reject it: {}\n", taken.message());
    if (json_) {
      PrintJsonText(TasksToJson(name, tasks, records::AutotvmTuplesOn(target)));
      return kExitDone;
    }
    std::vector<session::NamedTask> named;
    for (const ExtractedTask& task : tasks) named.push_back({&task.workload});
    const std::vector<std::string> names = session::DistinctNames(named);
    session::TextTable table({{"#", true},
                              {"task", false, 28},
                              {"uses", true},
                              {"MMACs", true},
                              {"fused with", false, 10}});
    std::int64_t uses = 0;
    std::int64_t macs = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const ExtractedTask& task = tasks[i];
      table.AddRow({std::to_string(i), Printable(names[i]), std::to_string(task.occurrences()),
                    fmt::format("{:.2f}", 1e-6 * static_cast<double>(task.workload.macs())),
                    Printable(task.epilogue.ToString())});
      uses += task.occurrences();
      macs += task.occurrences() * task.workload.macs();
    }
    PrintTable(table);
    PrintOut("{}, {}, {:.3f} GMACs\n", Counted(std::ssize(tasks), "task"), Counted(uses, "use"),
             1e-9 * static_cast<double>(macs));
    return kExitDone;
  }

 private:
  Result<int> PrintGroups(const ModelSource& source, const Target& target) const {
    std::vector<double> shares;
    TW_ASSIGN_OR_RETURN(auto tasks, session::GroupTasksOfFile(templates(), source, target,
                                                              /*least_share=*/0, &shares));
    const std::vector<std::string> names = session::DistinctNames(tasks);
    session::TextTable table({{"#", true}, {"group", false, 28}, {"uses", true}, {"time", true}});
    Json list = Json::array();
    double all = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const search::TuneTask& task = tasks[i];
      list.push_back(
          {{"key", task.task.workload.Key()}, {"uses", task.occurrences}, {"share", shares[i]}});
      all += shares[i];
      table.AddRow({std::to_string(i), Printable(names[i]), std::to_string(task.occurrences),
                    fmt::format("{:.2f} %", 100 * shares[i])});
    }
    if (json_) {
      PrintJson({{"groups", list}});
    } else {
      PrintTable(table);
      PrintOut("{}, {:.1f} % of the estimated time\n", Counted(std::ssize(tasks), "group"),
               100 * all);
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
    return "Write a built-in network as an ONNX file, with synthetic weights";
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
    app.add_option("--batch", options_.batch, "Batch size: images or sequences per run")
        ->capture_default_str();
    app.add_flag("--int8", options_.int8, "Write the quantized form: int8 operands, int32 sums");
    app.add_flag("--float16", options_.float16, "Write the float16 form");
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
