// Hidden commands: `tilewright measure` repeats one trial; `tilewright child` is the measurer's
// child process.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "measure/device/simt_candidate.h"
#include "measure/supervisor/process_measurer.h"
#include "measure/workers.h"
#include "python_free_cli/arguments/device_argument.h"
#include "python_free_cli/arguments/task_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/measurer_setup.h"
#include "python_free_cli/print.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/base/text/plural.h"
#include "src/plugins/registries.h"
#include "src/session/device_support.h"
#include "src/session/format.h"
#include "src/session/user_paths.h"
#include "src/target/device.h"
#include "src/target/library.h"
#include "src/templates/device.h"

namespace tilewright::cli {
namespace {

class MeasureCommand final : public Command {
 public:
  const char* name() const override { return "measure"; }
  const char* summary() const override { return "Build, verify and time one config of a task"; }
  const char* examples() const override {
    return "  tilewright measure --task resnet18.onnx#1 --config 188 --template conv2d_NCHWc.x86\n"
           "  tilewright measure --task resnet18.onnx#1 --target 'cuda -arch=sm_80' --device "
           "simt\n";
  }
  void Declare(CLI::App& app) override {
    app.add_option("task,--task", candidate_.task,
                   "Workload key, AutoTVM tuple, or FILE#N for task N of a model")
        ->required();
    candidate_.Declare(app);
    app.add_option("--race", race_,
                   "Race the configs of a file instead: lines of {\"template\":T,\"config\":C}, as "
                   "`records best --json` prints them; prints one line of JSON for each");
    app.add_option("--wait", wait_, "With --race: seconds to wait for an undisturbed machine")
        ->check(CLI::NonNegativeNumber);
    device_.Declare(app);
    runner_.Declare(app);
  }
  Result<int> Run() override {
    TW_RETURN_IF_ERROR(runner_.Connect(candidate_.target.target));
    TW_ASSIGN_OR_RETURN(auto parsed, candidate_.Parse(templates()));
    const auto& [task, chosen] = parsed;
    const Candidate candidate = {task.task, task.epilogue, std::string(chosen.entry->key),
                                 chosen.entry->version, chosen.config};
    TW_RETURN_IF_ERROR(device_.Check(task.task.target));
    if (LibraryOfTemplate(chosen.entry->key) != nullptr && runner_.elsewhere()) {
      return InvalidArgument(
          "--libs: not allowed with --runner; libraries are called on this machine");
    }
    if (device_.simt() && runner_.elsewhere()) {
      return InvalidArgument(
          "--runner: not allowed with --device simt, which runs in this program");
    }
    if (device_.simt()) return Emulate(candidate);
    TW_ASSIGN_OR_RETURN(
        auto settings, session::MeasurerSettings(WorkersOf(registries()), task.task.target, runner_,
                                                 device_, PrintNote));
    TW_ASSIGN_OR_RETURN(auto measurer, measure::ProcessMeasurer::Create(std::move(settings)));
    if (!race_.empty()) return Race(candidate, *measurer);
    TW_ASSIGN_OR_RETURN(auto measured, TrialOf(candidate, *measurer));
    const Trial& trial = measured;
    const std::string outcome =
        fmt::format("{}{}{}\n", OutcomeName(trial.outcome), trial.reason.empty() ? "" : ": ",
                    Printable(trial.reason));
    trial.outcome == Outcome::kOk ? WriteText(outcome) : WriteMessage(outcome);
    if (trial.outcome != Outcome::kOk) return kExitFailed;
    if (trial.metric != "seconds") {
      PrintOut("{:.0f} {}, {}\n", trial.value, trial.metric,
               trial.verified ? "verified" : "not verified");
      return kExitDone;
    }
    PrintOut("{} +- {:.1f} % ({}), {:.1f} GFLOP/s, error {:.1e}{}{}\n",
             session::ShortSeconds(trial.value), 100 * trial.noise,
             Counted(std::ssize(trial.samples), "sample"),
             2e-9 * static_cast<double>(task.task.workload.macs()) / trial.value,
             trial.max_abs_error, ErrorBeside(*chosen.entry, candidate, *measurer),
             trial.noisy() ? ", disturbed: measured in noise" : "");
    return kExitDone;
  }

 private:
  static Result<Trial> TrialOf(const Candidate& candidate, measure::Measurer& measurer) {
    measure::Request request;
    request.candidate = candidate;
    TW_RETURN_IF_ERROR(measurer.Submit(std::move(request)));
    constexpr double kLimitSeconds = 1200;  // much longer than the measurer's own limits
    TW_ASSIGN_OR_RETURN(auto reply, measurer.Next(kLimitSeconds));
    if (!reply.has_value()) return Unavailable("no answer from the measurer");
    return reply->trial;
  }

  /// For an algorithm that rounds differently from plain sums: returns the error of the default
  /// kernel without such an algorithm, for the same operands.
  std::string ErrorBeside(const TemplateEntry& entry, const Candidate& candidate,
                          measure::Measurer& measurer) const {
    if (entry.only_reorders_sums) return {};
    const TemplateRegistry others = templates().OnlyReorderingSums();
    for (const TemplateEntry* other : others.For(candidate.task.workload, candidate.task.target)) {
      auto config = other->default_config(candidate.task.workload, candidate.task.target);
      if (!config.ok()) continue;
      auto trial = TrialOf({candidate.task, candidate.epilogue, std::string(other->key),
                            other->version, *std::move(config)},
                           measurer);
      if (!trial.ok() || trial->outcome != Outcome::kOk) continue;  // optional
      return fmt::format(" ({} {:.1e})", other->key, trial->max_abs_error);
    }
    return {};
  }

  /// `like`: a candidate of the task.
  Result<int> Race(const Candidate& like, measure::Measurer& measurer) const {
    TW_ASSIGN_OR_RETURN(auto text, ReadFile(race_, std::int64_t{1} << 20));
    std::vector<Candidate> candidates;
    for (const std::string& line : Split(text, '\n')) {
      if (line.empty()) continue;
      const std::string where = race_ + ":" + std::to_string(candidates.size() + 1) + ": ";
      auto json = ParseJson(line);
      if (!json.ok() || !json->is_object() || !json->contains("template") ||
          !(*json)["template"].is_string() || !json->contains("config")) {
        return InvalidArgument(where + "expected an object with \"template\" and \"config\"");
      }
      const auto key = (*json)["template"].get<std::string>();
      const TemplateEntry* entry = templates().Find(key);
      if (entry == nullptr) return InvalidArgument(where + "no template " + key);
      TW_ASSIGN_OR_RETURN(auto values, session::ParseConfig(DumpJson((*json)["config"])));
      TW_ASSIGN_OR_RETURN(auto space, entry->define_space(like.task.workload, like.task.target));
      auto config = space.Locate(values);
      if (!config.ok()) return InvalidArgument(where + config.status().message());
      candidates.push_back({like.task, like.epilogue, key, entry->version, *std::move(config)});
    }
    if (candidates.empty()) return InvalidArgument(race_ + ": no config in it");
    measure::RaceSettings terms;
    terms.wait_seconds = wait_;
    TW_ASSIGN_OR_RETURN(auto trials, measurer.Race(candidates, terms));
    for (const Trial& trial : trials) {
      const Json out = {{"template", trial.candidate.template_key},
                        {"index", trial.candidate.config.index},
                        {"outcome", std::string(OutcomeName(trial.outcome))},
                        {"reason", trial.reason},
                        {"value", trial.value},
                        {"noise", trial.noise},
                        {"samples", trial.samples.size()},
                        {"quiet_share", trial.clean_fraction},
                        {"disturbed", trial.noisy()}};
      PrintJson(out);
    }
    return kExitDone;
  }

  /// Verifies the candidate in the SIMT emulator, without a time.
  Result<int> Emulate(const Candidate& candidate) const {
    const measure::SimtResult verdict = measure::VerifyInSimt(templates(), candidate);
    if (verdict.outcome != Outcome::kOk) {
      PrintErr("{}: {}\n", OutcomeName(verdict.outcome), verdict.reason);
      return kExitFailed;
    }
    PrintOut("verified in the emulator, largest error {:.2g}; the emulator does not time\n",
             verdict.max_abs_error);
    return kExitDone;
  }

  CandidateArguments candidate_;
  std::string race_;
  double wait_ = 0;
  DeviceArgument device_;
  RunnerArguments runner_;
};

class RunnerCommand final : public Command {
 public:
  const char* name() const override { return "runner"; }
  const char* summary() const override {
    return "Run candidates for a tuner on another machine, over standard input and output";
  }
  const char* examples() const override {
    return "  tilewright tune resnet18.onnx --runner 'ssh board tilewright runner' --target "
           "rasp4b64 --trials 100 --records records.db\n"
           "A board needs only the program tilewright-runner, the same runner without a "
           "compiler.\n";
  }
  void Declare(CLI::App&) override {}
  Result<int> Run() override { return measure::RunWorkerMain(0, 1); }
};

class ChildCommand final : public Command {
 public:
  const char* name() const override { return "child"; }
  const char* summary() const override { return "Child process of a measurement"; }
  bool hidden() const override { return true; }
  void Declare(CLI::App& app) override {
    app.add_option("kind", kind_)->required()->check(CLI::IsMember({"build", "run"}));
  }
  Result<int> Run() override {
    return kind_ == "build" ? measure::BuildWorkerMain(templates(), 0, 1)
                            : measure::RunWorkerMain(0, 1);
  }

 private:
  std::string kind_;
};

}  // namespace

void RunnerArguments::Declare(CLI::App& app) {
  app.add_option("--runner", commands,
                 "Command that starts tilewright-runner on the device: 'ssh board "
                 "tilewright-runner'; repeat it for several equal devices")
      ->allow_extra_args(false)
      ->check([](const std::string& text) {  // the command comes from an unset variable
        return text.empty() ? std::string("expected a command") : std::string();
      });
}

session::WorkerCommands WorkersOf(const plugins::Registries& registries) {
  session::WorkerCommands workers{{"/proc/self/exe", "child", "build"},
                                  {"/proc/self/exe", "child", "run"}};
  for (const std::string& file : registries.plugins) {
    workers.build.insert(workers.build.end(), {"--plugin", file});
  }
  for (const std::string& text : registries.texts) {
    workers.build.insert(workers.build.end(), {"--schedule-text", text});
  }
  return workers;
}

std::unique_ptr<Command> MakeMeasureCommand() { return std::make_unique<MeasureCommand>(); }
std::unique_ptr<Command> MakeRunnerCommand() { return std::make_unique<RunnerCommand>(); }
std::unique_ptr<Command> MakeChildCommand() { return std::make_unique<ChildCommand>(); }

}  // namespace tilewright::cli
