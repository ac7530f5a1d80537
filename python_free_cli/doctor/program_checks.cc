// Checks of this program: what it was built with, its data files, and its C library.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "python_free_cli/doctor/checks.h"

namespace tilewright::cli {
namespace {

void InspectProgram(const CheckInput& in, Finding& out) {
  const ProgramProbe& program = in.probe.program;
  out.is = fmt::format("version {}, {} fleet support (NATS)", program.version,
                       program.fleet ? "with" : "without");
  if (!program.fleet) {
    out.verdict = Severity::kNote;
    out.command =
        "scripts/setup.sh --with-fleet, then build again    # only for --fleet, worker and fleet";
  }
  if (program.missing_data.empty()) return;
  out.verdict = Severity::kProblem;
  out.is += fmt::format("; missing data files: {}", fmt::join(program.missing_data, ", "));
  out.command = "install it again with its folder share/tilewright, or run it from its build tree";
}

/// Returns whether the system's loader searches a folder.
/// library_path: LD_LIBRARY_PATH.
bool IsLoaderFolder(const std::string& folder, const std::string& library_path) {
  constexpr std::array<std::string_view, 8> kFolders = {"/lib",
                                                        "/usr/lib",
                                                        "/lib64",
                                                        "/usr/lib64",
                                                        "/usr/lib/x86_64-linux-gnu",
                                                        "/usr/lib/aarch64-linux-gnu",
                                                        "/usr/lib/arm-linux-gnueabihf",
                                                        "/usr/local/lib"};
  if (std::ranges::find(kFolders, folder) != kFolders.end()) return true;
  return (":" + library_path + ":").find(":" + folder + ":") != std::string::npos;
}

void InspectCLibrary(const CheckInput& in, Finding& out) {
  const std::string& folder = in.probe.program.c_library;
  if (folder.empty()) {
    out.verdict = Severity::kNote;
    out.is = "libtilewright.so is not installed with this program";
    out.command = "install the package libtilewright-dev    # only for C and C++ programs";
    return;
  }
  out.is = folder + "/libtilewright.so";
  if (IsLoaderFolder(folder, in.probe.program.library_path)) return;
  out.verdict = Severity::kNote;
  out.is += ", not in a folder of the loader";
  out.command = fmt::format("link with -Wl,-rpath,{0}, or export LD_LIBRARY_PATH={0}", folder);
}

}  // namespace

std::vector<Check> ProgramChecks() {
  return {
      {"program", "what it was built with decides which commands work", &InspectProgram},
      {"C library", "C and C++ programs that link libtilewright.so have to find it",
       &InspectCLibrary},
  };
}

}  // namespace tilewright::cli
