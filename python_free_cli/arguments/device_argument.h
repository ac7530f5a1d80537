#pragma once

#include "src/session/device_choice.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Option `--device` of a command.
struct DeviceArgument : session::DeviceChoice {
  void Declare(CLI::App& app);
};

}  // namespace tilewright::cli
