#include "python_free_cli/arguments/device_argument.h"

#include <CLI/CLI.hpp>

namespace tilewright::cli {

void DeviceArgument::Declare(CLI::App& app) {
  app.add_option("--device", device,
                 "What code for CUDA runs on: number of a GPU (default 0), or simt, an emulator of "
                 "its threads, which verifies but has no times");
}

}  // namespace tilewright::cli
