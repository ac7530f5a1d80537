// `tilewright space` and `tilewright lower`: the config spaces of a task, and the code of one
// config.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "src/base/json.h"
#include "src/base/text/plural.h"
#include "src/codegen/codegen.h"
#include "src/codegen/nvptx/ptxas.h"
#include "src/report/code_forms.h"
#include "src/schedule/lower/lower.h"
#include "src/session/tasks.h"
#include "src/target/device.h"
#include "src/target/gpu.h"
#include "src/target/short_target.h"
#include "src/templates/knob_docs.h"
#include "src/templates/limits.h"
#include "src/templates/text/kernel_json.h"
#include "src/templates/vta/vta_target.h"
#include "src/vta/encoding.h"
#include "src/vta/simulator/simulator.h"
#include "src/vta/simulator/timing.h"

namespace tilewright::cli {
namespace {

// Number of values of one knob that are printed before "…".
constexpr std::int64_t kShownValues = 12;

class SpaceCommand final : public Command {
 public:
  const char* name() const override { return "space"; }
  const char* summary() const override {
    return "Show the templates, knobs and sizes of a task's config spaces";
  }
  const char* examples() const override {
    return "  tilewright space resnet18.onnx --task 1\n"
           "  tilewright space resnet18.onnx#1\n"
           "  tilewright space 'dense(float32[1,512]MK,float32[1000,512]NK)->float32' --json\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("task", task_,
                   "Workload key, AutoTVM tuple, FILE.tw, FILE#N for task N of a model, or FILE")
        ->required();
    number_.Declare(app);
    target_.DeclareWithResiduals(app);
    model_.Declare(app);
    app.add_flag("--json", json_, "Print JSON");
  }
  Result<int> Run() override {
    TW_ASSIGN_OR_RETURN(auto target, target_.Parse());
    TW_ASSIGN_OR_RETURN(const auto source, model_.Source(number_.Of(task_)));
    TW_ASSIGN_OR_RETURN(auto task, session::ParseTask(source, target, !target_.no_fuse_residuals));
    Json out = {{"task", task.task.workload.Key()}, {"target", target.ToString()}};
    for (const TemplateEntry* entry : templates().For(task.task.workload, target)) {
      TW_ASSIGN_OR_RETURN(auto space, entry->define_space(task.task.workload, target));
      TW_ASSIGN_OR_RETURN(auto standard, entry->default_config(task.task.workload, target));
      Json knobs = Json::array();
      for (const Knob& knob : space.knobs()) {
        Json values = Json::array();
        for (std::int64_t i = 0; i < knob.size(); ++i) values.push_back(knob[i].ToString());
        Json row = {{"name", knob.name()}, {"size", knob.size()}, {"values", values}};
        if (const KnobDoc* doc = FindKnobDoc(*entry, knob.name())) {
          row["description"] = std::string(doc->description);
        }
        knobs.push_back(std::move(row));
      }
      out["templates"].push_back({{"template", std::string(entry->key)},
                                  {"version", entry->version},
                                  {"size", space.size()},
                                  {"default", standard.ToString()},
                                  {"knobs", knobs}});
    }
    if (json_) {
      PrintJson(out);
    } else {
      Print(out);
    }
    return kExitDone;
  }

 private:
  static void Print(const Json& out) {
    const auto target = ShortTargetText(std::string_view(out["target"].get<std::string>()));
    PrintOut("task    {}\ntarget  {}\n", out["task"].get<std::string>(), target);
    for (const Json& space : out.value("templates", Json::array())) {
      PrintOut("\n{} v{}: {}, default {}\n", space["template"].get<std::string>(),
               space["version"].get<int>(), Counted(space["size"].get<std::int64_t>(), "config"),
               space["default"].get<std::string>());
      for (const Json& knob : space["knobs"]) {
        std::string values;
        std::int64_t shown = 0;
        for (const Json& value : knob["values"]) {
          if (shown++ == kShownValues) {
            values += " …";
            break;
          }
          values += " " + value.get<std::string>();
        }
        PrintOut("  {:<14} {:>4} {}\n", knob["name"].get<std::string>(),
                 knob["size"].get<std::int64_t>(), values);
        if (knob.contains("description")) {
          PrintOut("{:>21}  {}\n", "", knob["description"].get<std::string>());
        }
      }
    }
  }

  std::string task_;
  TaskNumberArgument number_;
  ModelArguments model_;
  TargetArguments target_;
  bool json_ = false;
};

class LowerCommand final : public Command {
 public:
  const char* name() const override { return "lower"; }
  const char* summary() const override {
    return "Show the loops or the code of one config of a task";
  }
  const char* examples() const override {
    return "  tilewright lower resnet18.onnx#1 --emit loops\n"
           "  tilewright lower resnet18.onnx#1 --config 188 --template conv2d_NCHWc.x86 --emit "
           "asm\n"
           "  tilewright lower resnet18.onnx#1 --target 'cuda -arch=sm_75' --emit ptx\n"
           "  tilewright lower resnet18.onnx#1 --target opencl --emit opencl\n"
           "  tilewright lower resnet18.onnx#1 --target 'rocm -model=gfx906' --emit hsaco > "
           "kernel.hsaco\n"
           "  tilewright lower resnet18_v1_vta_packed.relay#1 --target vta --vta-config "
           "sim --emit cost\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("task", candidate_.task,
                   "Workload key, AutoTVM tuple, FILE.tw, FILE#N for task N of a model, or FILE")
        ->required();
    candidate_.number.Declare(app);
    app.add_option("--emit", emit_, "Output (default: loops; vta for a VTA target)")
        ->check(CLI::IsMember({"schedule", "stages", "loops", "llvm", "asm", "ptx", "opencl",
                               "hsaco", "resources", "vta", "cost"}));
    candidate_.Declare(app);
  }
  Result<int> Run() override {
    TW_ASSIGN_OR_RETURN(auto parsed, candidate_.Parse(templates()));
    const auto& [task, chosen] = parsed;
    const Target& target = task.task.target;
    if (chosen.entry->build_stream != nullptr || emit_ == "vta" || emit_ == "cost") {
      return PrintStream(task, chosen);
    }
    TW_RETURN_IF_ERROR(report::CheckCodeForm(emit_, target));
    TW_ASSIGN_OR_RETURN(auto kernel, ApplyTemplate(*chosen.entry, task.task.workload, task.epilogue,
                                                   target, chosen.config));
    if (emit_ == "schedule") {
      auto text = CommentedScheduleText(*chosen.entry, kernel, task.task.workload, task.epilogue,
                                        target, chosen.config);
      if (!text.ok()) return text.status().WithContext("--emit schedule");
      WriteText(*text);
      return kExitDone;
    }
    if (emit_ == "stages") {
      WriteText(kernel.schedule.ToString());
      return kExitDone;
    }
    // `kernel` is a word of OpenCL C.
    const char* name = emit_ == "opencl" ? "tw_kernel" : "kernel";
    TW_ASSIGN_OR_RETURN(auto program, Lower(kernel.schedule, name, LowerLimitsFor(target)));
    if (emit_.empty() || emit_ == "loops") {
      WriteText(ToString(program));
      return kExitDone;
    }
    const bool of_object = emit_ == "hsaco" || emit_ == "resources";
    TW_ASSIGN_OR_RETURN(auto code, Generate({program}, target,
                                            emit_ == "llvm" ? Emit::kLlvmIr
                                            : of_object     ? Emit::kObject
                                                            : Emit::kAssembly));
    if (emit_ == "resources") {
      if (!DeviceTraitsOf(target).grids_are_code_objects)
        return PrintResources(program, code, target);
      TW_ASSIGN_OR_RETURN(code, report::AmdResourcesText(program, code));
    }
    if (emit_ == "hsaco") return WriteFile(code);
    WriteText(code);
    return kExitDone;
  }

 private:
  /// Writes bytes to the standard output. Errors: kInvalidArgument if it is a terminal.
  static Result<int> WriteFile(const std::string& bytes) {
    if (::isatty(STDOUT_FILENO) == 1) {
      return InvalidArgument("--emit hsaco: writes an ELF file, expected a redirection (> FILE)");
    }
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
      return Unavailable("--emit hsaco: the standard output cannot be written");
    }
    return kExitDone;
  }

  Result<int> PrintStream(const search::TuneTask& task, const session::ChosenConfig& chosen) const {
    if (!emit_.empty() && emit_ != "vta" && emit_ != "cost") {
      return InvalidArgument("--emit " + emit_ +
                             ": a VTA schedule is a stream, expected vta or cost");
    }
    TW_ASSIGN_OR_RETURN(auto stream,
                        BuildVtaStream(*chosen.entry, task.task.workload, task.epilogue,
                                       task.task.target, chosen.config));
    if (emit_ == "cost") return PrintCost(task.task.target, stream);
    WriteText(vta::Listing(stream.instructions));
    return kExitDone;
  }

  /// Prints the simulator's counters, and the utilization of each engine by every cycle model.
  static Result<int> PrintCost(const Target& target, const vta::Stream& stream) {
    auto vta = VtaTargetOf(target);
    TW_RETURN_IF_ERROR(vta);
    vta::RunOptions options;
    options.allow_tokens_left = true;
    const auto run = vta::RunStream(vta->design, stream.instructions, nullptr, options);
    TW_RETURN_IF_ERROR(run.status());
    const std::string statistics = vta::ToString(run.summary.statistics);
    PrintOut("{}dram_bytes {}\ninstructions {}\n", MultilineText{statistics},
             run.summary.dram_bytes, run.summary.counts.Total());
    for (const vta::CycleModel& model :
         {vta::CycleModel::Pynq(), vta::CycleModel::PynqSharedBus(), vta::CycleModel::Rtl()}) {
      const auto timing = vta::Simulate(vta->design, stream.instructions, run.pipeline, model);
      PrintOut("\n{:<16} {:>12.0f} cycles   busy  starved  stalled   idle\n", model.name,
               timing.cycles);
      for (int i = 0; i < vta::kEngineCount; ++i) {
        const vta::EngineTime& time = timing.engines[static_cast<std::size_t>(i)];
        const double all = time.busy + time.starved + time.stalled + time.idle;
        PrintOut("  {:<33} {:>5.1f}% {:>7.1f}% {:>7.1f}% {:>5.1f}%\n",
                 vta::EngineName(static_cast<vta::Engine>(i)), 100 * time.busy / all,
                 100 * time.starved / all, 100 * time.stalled / all, 100 * time.idle / all);
      }
    }
    return kExitDone;
  }

  static Result<int> PrintResources(const Program& program, const std::string& ptx,
                                    const Target& target) {
    const std::string ptxas = FindPtxas();
    if (ptxas.empty()) return NotFound("--emit resources: needs NVIDIA's ptxas, which is not here");
    TW_ASSIGN_OR_RETURN(auto capability, ComputeCapabilityOf(target));
    TW_ASSIGN_OR_RETURN(auto kernels, RunPtxas(ptxas, ptx, capability));
    const LaunchPlan plan = PlanLaunches(program);
    for (const KernelResources& kernel : kernels) {
      const auto launch = std::ranges::find(plan.launches, kernel.kernel, &Launch::name);
      // ptxas does not include the shared memory that the launch allocates.
      const std::int64_t given = launch == plan.launches.end() ? 0 : launch->dynamic_shared_bytes();
      PrintOut(
          "{}: {} registers, {} bytes of shared memory, {} bytes of stack, spills: {} bytes "
          "stored, {} loaded\n",
          kernel.kernel, kernel.registers, kernel.shared_bytes + given, kernel.stack_bytes,
          kernel.spill_store_bytes, kernel.spill_load_bytes);
    }
    return kExitDone;
  }

  CandidateArguments candidate_;
  std::string emit_;
};

}  // namespace

std::unique_ptr<Command> MakeSpaceCommand() { return std::make_unique<SpaceCommand>(); }
std::unique_ptr<Command> MakeLowerCommand() { return std::make_unique<LowerCommand>(); }

}  // namespace tilewright::cli
