#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "python_free_cli/doctor/doctor.h"

namespace tilewright::cli {

/// The files of a machine below a root.
class MachineFiles {
 public:
  explicit MachineFiles(std::string root) : root_(std::move(root)) {}
  /// Contents without the white space around them; nullopt if the file is not there or cannot be
  /// read, or is larger than files of its kind are.
  std::optional<std::string> Read(std::string_view path) const;
  /// Names in a folder that begin so, sorted as numbers behind that are; empty without the folder.
  std::vector<std::string> Names(std::string_view folder, std::string_view begin) const;
  bool Has(std::string_view path) const;

 private:
  std::string root_;
};

/// What a check may look at.
struct CheckInput {
  const MachineFiles& files;
  const MachineProbe& probe;
};

/// One check: its name, why it matters, and what it finds (is, verdict and command).
struct Check {
  std::string_view name;
  std::string_view why;
  void (*inspect)(const CheckInput& input, Finding& finding);
};

/// Clock, threads and time of the processor.
std::vector<Check> ProcessorChecks();
/// Memory, limits, clock, what keeps candidates apart.
std::vector<Check> SystemChecks();
/// Disk, drivers, libraries, programs.
std::vector<Check> InstalledChecks();

}  // namespace tilewright::cli
