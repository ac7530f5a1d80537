#include "python_free_cli/arguments/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "src/base/shell/quote.h"
#include "src/graph/open/size_range.h"
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
  constexpr std::array<std::string_view, 12> kOptions = {
      "--job",   "--target", "--threads", "--libs",       "--vta-config", "--no-fuse-residuals",
      "--shape", "--dim",    "--value",   "--requantize", "--precision",  "--float-error"};
  std::string line = CommandLine(app, "tune", file, kOptions);
  // Tasks of a range of sizes are those of one entry and of small blocks.
  if (const CLI::Option* dim = app.get_option_no_throw("--dim"); dim != nullptr) {
    for (const std::string& value : dim->results()) {
      const auto range = ParseSizeRange(value);
      if (!range.ok() || !range->has_value()) continue;
      const std::string sizes =
          (*range)->most > 1 ? fmt::format("1,{}", std::min<std::int64_t>((*range)->most, 8)) : "1";
      const std::size_t at = line.find(ShellWord(value));
      if (at != std::string::npos) {
        line.replace(at, ShellWord(value).size(), ShellWord((*range)->name + "=" + sizes));
      }
    }
  }
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

}  // namespace tilewright::cli
