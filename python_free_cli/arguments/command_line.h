#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/target/target.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Returns a command line for a shell: "tilewright VERB ARGUMENT", then those of `options` that
/// were given to the running command. argument: may be empty.
std::string CommandLine(const CLI::App& app, const std::string& verb, const std::string& argument,
                        std::span<const std::string_view> options);

/// Returns the command that tunes a file, with the options of target, model and record store that
/// were given to the running command, and a job file in place of an empty `file`. The first of
/// several stores is used. A target that this machine does not run gets a runner.
std::string TuneCommandLine(const CLI::App& app, const std::string& file, const Target& target);

/// As TuneCommandLine; empty if no GPU of this machine runs the target, for which the command would
/// fail.
std::string TuneCommandHere(const CLI::App& app, const std::string& file, const Target& target);

}  // namespace tilewright::cli
