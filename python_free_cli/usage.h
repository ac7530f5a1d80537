#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/did_you_mean.h"
#include "src/base/status.h"

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace tilewright::cli {

/// Makes the help print defaults and choices in words. Call before commands are added: they inherit
/// it.
void SetUpHelp(CLI::App& app);

/// Returns the names of an app's commands that are not hidden.
std::vector<std::string> CommandNames(const CLI::App& app);

/// Returns the values of an option that takes one of a few, in the order of its declaration; else
/// empty.
std::vector<std::string> ChoicesOf(const CLI::Option& option);
/// Returns the type of the option's value, "TEXT" or "INT".
std::string TypeOf(const CLI::Option& option);
/// Returns true if the option takes any number of values.
bool TakesAnyNumber(const CLI::Option& option);
/// Returns the default of an option as the parser has it. Empty without a default, if unset and
/// zero differ, and if the description states the default.
std::string DefaultToShow(const CLI::Option& option);

/// Makes options of commands and subcommands with positional arguments take one value each time
/// they are given: `--key a b` must not take the command's own argument b. Lists with a delimiter
/// stay lists, and so do those of files (--data, --input, --output), which leave required
/// arguments.
/// app: with all of its options declared.
void TakeOneValueEach(CLI::App& app);

/// Handles the result of a failed parse: prints help or version to standard output if requested,
/// otherwise the error and suggestions to standard error. Returns the exit code.
int EndParsing(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tilewright::cli
