#pragma once

#include "src/plugins/registries.h"
#include "src/session/measurer.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Option `--runner`: where candidates run, if not here.
struct RunnerArguments : session::Runners {
  void Declare(CLI::App& app);
};

/// Workers that are this program again, with its plugins and schedules.
session::WorkerCommands WorkersOf(const plugins::Registries& registries);

}  // namespace tilewright::cli
