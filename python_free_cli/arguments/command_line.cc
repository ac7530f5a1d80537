#include "python_free_cli/arguments/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>

#include "src/base/shell/quote.h"
#include "src/session/device_choice.h"
#include "src/target/cpu.h"
#include "src/target/device.h"

namespace tilewright::cli {

std::string CommandLine(const CLI::App& app, const std::string& verb, const std::string& argument,
                        std::span<const std::string_view> options) {
  std::string line = "tilewright " + verb;
  if (!argument.empty()) line += " " + ShellWord(argument);
  for (const std::string_view name : options) {
    const CLI::Option* option = app.get_option_no_throw(std::string(name));
    if (option == nullptr || option->count() == 0) continue;
    if (option->get_items_expected_max() == 0) {  // a flag
      line += " " + std::string(name);
      continue;
    }
    for (const std::string& value : option->results()) {
      line += " " + std::string(name) + " " + ShellWord(value);
    }
  }
  return line;
}

std::string TuneCommandLine(const CLI::App& app, const std::string& file, const Target& target) {
  constexpr std::array<std::string_view, 13> kOptions = {
      "--job",        "--target",    "--threads",    "--libs",  "--vta-config",
      "--shape",      "--dim",       "--sizes",      "--value", "--no-fuse-residuals",
      "--requantize", "--precision", "--float-error"};
  std::string line = CommandLine(app, "tune", file, kOptions);
  // The emulator (simt) measures nothing.
  const CLI::Option* device = app.get_option_no_throw("--device");
  if (device != nullptr && device->count() > 0 && device->results().front() != "simt") {
    line += " --device " + ShellWord(device->results().front());
  }
  const CLI::Option* records = app.get_option_no_throw("--records");
  if (records != nullptr && records->count() > 0) {
    line += " --records " + ShellWord(records->results().front());
  }
  const auto here = Target::Parse("native");
  const bool cpu = DeviceTraitsOf(target).machine_code;
  if (cpu && here.ok() && !IsCodeCompatible(target, *here)) {
    line += " --runner 'ssh BOARD tilewright-runner'";
  }
  return file.empty() ? line : line + " --budget 10m";
}

std::string TuneCommandHere(const CLI::App& app, const std::string& file, const Target& target) {
  if (DeviceTraitsOf(target).launches_grids) {
    const CLI::Option* device = app.get_option_no_throw("--device");
    const bool given = device != nullptr && device->count() > 0;
    const session::DeviceChoice choice{given ? device->results().front() : std::string()};
    if (!choice.CheckRuns(target).ok()) return "";
  }
  return TuneCommandLine(app, file, target);
}

}  // namespace tilewright::cli
