#include "python_free_cli/arguments/task_argument.h"

#include <CLI/CLI.hpp>

#include "python_free_cli/print.h"

namespace tilewright::cli {

void TargetArguments::Declare(CLI::App& app) {
  app.add_option("--target", target, "Target: native, a board, or a target string")
      ->capture_default_str();
  app.add_option("--threads", threads, "Maximum number of threads of a kernel")
      ->capture_default_str();
  app.add_option("--libs", libraries,
                 "Libraries whose functions can replace kernels: dnnl; cudnn,cublas");
  app.add_option("--vta-config", vta_config,
                 "Design of a VTA target: a file, or a name such as sim or pynq");
}

Result<Target> TargetArguments::Parse() const {
  TW_ASSIGN_OR_RETURN(auto parsed,
                      session::ParseTarget(target, threads, vta_config, libraries, PrintNote));
  TW_RETURN_IF_ERROR(session::CheckResiduals(parsed, no_fuse_residuals));
  return parsed;
}

void TargetArguments::DeclareWithResiduals(CLI::App& app) {
  Declare(app);
  app.add_flag("--no-fuse-residuals", no_fuse_residuals,
               "On a VTA, make residual additions separate tasks");
}

void TaskNumberArgument::Declare(CLI::App& app) {
  app.add_option("--task", number, "Number of the task of a model file, as FILE#N")
      ->check(CLI::NonNegativeNumber);
}

std::string TaskNumberArgument::Of(const std::string& file) const {
  return number < 0 ? file : file + "#" + std::to_string(number);
}

void CandidateArguments::Declare(CLI::App& app) {
  app.add_option("--config", config,
                 "Config: its index, or its values as JSON (default: the default config)");
  app.add_option("--template", template_key, "Template (default: the preferred one)");
  app.add_option("--epilogue", epilogue, "Epilogue to fuse (default: that of the task)");
  target.DeclareWithResiduals(app);
  model.Declare(app);
}

Result<CandidateArguments::Parsed> CandidateArguments::Parse(
    const TemplateRegistry& templates) const {
  TW_ASSIGN_OR_RETURN(auto parsed_target, target.Parse());
  TW_ASSIGN_OR_RETURN(auto source, model.Source(number.Of(task)));
  TW_ASSIGN_OR_RETURN(auto parsed_task,
                      session::ParseTask(source, parsed_target, !target.no_fuse_residuals));
  if (!epilogue.empty()) {
    auto parsed = Epilogue::Parse(epilogue);
    if (!parsed.ok()) return parsed.status().WithContext("--epilogue");
    parsed_task.epilogue = std::move(*parsed);
  }
  TW_ASSIGN_OR_RETURN(auto chosen,
                      session::ChooseConfig(templates, parsed_task.task, template_key, config));
  return Parsed{std::move(parsed_task), std::move(chosen)};
}

}  // namespace tilewright::cli
