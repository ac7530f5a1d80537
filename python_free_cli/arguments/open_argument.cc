#include "python_free_cli/arguments/open_argument.h"

#include <CLI/CLI.hpp>

#include "python_free_cli/arguments/reject_options.h"
#include "python_free_cli/print.h"
#include "src/base/format_printable.h"
#include "src/templates/open/environment.h"

namespace tilewright::cli {

void OpenArgument::Declare(CLI::App& app) {
  app_ = &app;
  app.add_option("--space", texts_.space,
                 "Tune a program: its space of parameters, a T1 file or a text of knobs "
                 "(docs/howto-open.md)");
  app.add_option("--command", texts_.command,
                 "Program to tune, with {NAME} for parameters and {out} for the built file");
  app.add_option("--build", texts_.build, "Command that builds {out} for a config first");
  app.add_option("--check", texts_.check, "Command that fails if the result of a config is wrong");
  app.add_flag("--shell", texts_.shell, "Run the commands by /bin/sh");
  app.add_option("--input", texts_.input,
                 "Config on standard input: none, json, or server (one process for all configs)")
      ->check(CLI::IsMember({"none", "json", "server"}));
  app.add_option("--env", texts_.environment, "Variable of the commands; repeatable")
      ->allow_extra_args(false);
  app.add_option("--environment", environment_,
                 "Where the program runs, if not on this machine's CPU: "
                 "'{\"match\": {\"gpu\": \"A100\"}, \"differ\": {\"driver\": \"535.1\"}}'");
  app.add_option("--name", texts_.name, "Name of the task (default: that of the space)");
  app.add_option("--time-limit", time_limit_, "Maximum time of one run of the program")
      ->check(CLI::PositiveNumber);
  app.add_option("--build-limit", build_limit_, "Maximum time of one build")
      ->check(CLI::PositiveNumber);
}

void OpenArgument::Take(search::JobSettings& settings) {
  const search::JobSettings none;
  session::OpenTaskTexts job = session::TakeOpenTaskTexts(settings);
  const auto take = [this](const char* option, auto& to, auto& from) {
    if (app_->count(option) == 0) to = std::move(from);
  };
  take("--space", texts_.space, job.space);
  take("--command", texts_.command, job.command);
  take("--build", texts_.build, job.build);
  take("--check", texts_.check, job.check);
  take("--shell", texts_.shell, job.shell);
  take("--input", texts_.input, job.input);
  take("--env", texts_.environment, job.environment);
  take("--environment", environment_, settings.environment);
  take("--name", texts_.name, job.name);
  take("--time-limit", time_limit_, settings.time_limit);
  take("--build-limit", build_limit_, settings.build_limit);
  texts_.metrics = std::move(job.metrics);
  settings.time_limit = none.time_limit;
  settings.build_limit = none.build_limit;
}

Result<OpenTask> OpenArgument::Load() const {
  TW_RETURN_IF_ERROR(RejectOptions(
      *app_,
      {"file", "--target", "--libs", "--vta-config", "--no-fuse-residuals", "--device", "--runner",
       "--threads", "--template", "--groups", "--shape", "--dim", "--sizes", "--value",
       "--requantize", "--precision", "--float-error", "--plan"},
      "--space tunes a program, not a model"));
  auto task = session::LoadOpenTask(texts_);
  if (task.ok() && task->space.walks()) {
    PrintNote(
        "note: space: the conditions are too entangled to be counted and leave few configs; "
        "configs near those that a search found are proposed, not all of them");
  }
  return task;
}

Status OpenArgument::CheckUnused() const {
  return RejectOptions(*app_,
                       {"--command", "--build", "--check", "--shell", "--input", "--env",
                        "--environment", "--name", "--time-limit", "--build-limit"},
                       "expected --space with it");
}

Status OpenArgument::ReadEnvironment(search::JobSettings& settings) {
  if (environment_.empty()) return {};
  auto device = ParseEnvironment(environment_);
  if (!device.ok()) return device.status().WithContext("--environment");
  if (!settings.fleet.empty()) {
    return InvalidArgument(
        "--environment: not allowed with --fleet; records belong to the workers' machines");
  }
  device_ = *std::move(device);
  settings.environment = EnvironmentJson(*device_);
  return {};
}

measure::ProgramMeasurerSettings OpenArgument::Settings() const {
  measure::ProgramMeasurerSettings settings;
  settings.device = device_;
  settings.run.seconds = time_limit_;
  settings.build.seconds = build_limit_;
  settings.note = [](const std::string& note) { PrintNote(FormatPrintable("note: {}", note)); };
  return settings;
}

}  // namespace tilewright::cli
