#include "python_free_cli/arguments/device_argument.h"

#include <CLI/CLI.hpp>

namespace tilewright::cli {

void DeviceArgument::Declare(CLI::App& app) {
  app.add_option("--device", device,
                 "Device for CUDA code: number of a GPU (default 0), or simt, an emulator on the "
                 "CPU that verifies but does not time");
}

}  // namespace tilewright::cli
