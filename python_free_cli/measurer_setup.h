#pragma once

#include "src/plugins/registries.h"
#include "src/session/measurer.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Option `--runner`: command of a runner on another machine.
struct RunnerArguments : session::Runners {
  void Declare(CLI::App& app);
};

/// Returns the command lines of workers: this program, with its plugins and schedules.
session::WorkerCommands WorkersOf(const plugins::Registries& registries);

}  // namespace tilewright::cli
