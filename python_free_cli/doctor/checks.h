#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "python_free_cli/doctor/doctor.h"

namespace tilewright::cli {

/// Files of a machine below a root.
class MachineFiles {
 public:
  explicit MachineFiles(std::string root) : root_(std::move(root)) {}
  /// Returns the contents without surrounding white space; nullopt if the file is missing,
  /// unreadable, or larger than files of its kind.
  std::optional<std::string> Read(std::string_view path) const;
  /// Returns names in a folder with this beginning, sorted by the number after it; empty if the
  /// folder is missing.
  std::vector<std::string> Names(std::string_view folder, std::string_view begin) const;
  bool Has(std::string_view path) const;

 private:
  std::string root_;
};

/// Inputs of a check.
struct CheckInput {
  const MachineFiles& files;
  const MachineProbe& probe;
};

/// One check: its name, why it matters, and a function that fills in state, severity and command.
struct Check {
  std::string_view name;
  std::string_view why;
  void (*inspect)(const CheckInput& input, Finding& finding);
};

/// Returns the checks of the program itself.
std::vector<Check> ProgramChecks();
/// Returns the checks of clock, threads and time of the processor.
std::vector<Check> ProcessorChecks();
/// Returns the checks of memory, limits, clock and sandbox.
std::vector<Check> SystemChecks();
/// Returns the checks of disk, drivers, libraries and programs.
std::vector<Check> InstalledChecks();

}  // namespace tilewright::cli
