#pragma once

#include <string>

#include "python_free_cli/model_source.h"
#include "search/tuner.h"
#include "src/base/status.h"
#include "src/session/target.h"
#include "src/session/tasks.h"
#include "src/target/target.h"
#include "src/templates/registry.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// `--target`, `--threads`, `--libs` and `--vta-config` of a command.
struct TargetArguments {
  std::string target = "native";
  int threads = 1;
  std::string vta_config, libraries;
  bool no_fuse_residuals = false;
  void Declare(CLI::App& app);
  /// Also declares `--no-fuse-residuals`, for commands that name tasks of a file.
  void DeclareWithResiduals(CLI::App& app);
  /// Parses the target. Errors: those of ParseTarget and CheckResiduals.
  Result<Target> Parse() const;
};

/// `--task`: number of a task of a model file, for commands that take one task.
struct TaskNumberArgument {
  int number = -1;  ///< -1: not given
  void Declare(CLI::App& app);
  /// Returns the text of the task: FILE#N for a model file and a number.
  std::string Of(const std::string& file) const;
};

/// Task, its target, and one config of it: the arguments of `lower` and `measure`.
struct CandidateArguments {
  TargetArguments target;
  ModelArguments model;
  TaskNumberArgument number;  ///< of `lower` only
  std::string task, template_key, config, epilogue;
  /// Declares all options except for the task.
  void Declare(CLI::App& app);
  struct Parsed {
    search::TuneTask task;
    session::ChosenConfig chosen;
  };
  Result<Parsed> Parse(const TemplateRegistry& templates) const;
};

}  // namespace tilewright::cli
