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

/// Makes the help say defaults and choices in words. For an app that has no commands yet: they take
/// it over.
void SetUpHelp(CLI::App& app);

/// The values of an option that takes one of a few, in the order of its declaration; else empty.
std::vector<std::string> ChoicesOf(const CLI::Option& option);
/// The kind of value it takes, "TEXT" or "INT".
std::string TypeOf(const CLI::Option& option);
/// It takes any number of values.
bool TakesAnyNumber(const CLI::Option& option);
/// Its default as the parser knows it; empty where there is none, where none and zero mean
/// something else, and where its description tells.
std::string DefaultToShow(const CLI::Option& option);

/// Makes options of commands and verbs that have positional arguments take one value each time they
/// are given: `--key a b` must not take the command's own argument b. Lists with a delimiter stay
/// lists, and so do those of files (--data, --input, --output), which leave required arguments.
/// app: with all of its options declared.
void TakeOneValueEach(CLI::App& app);

/// Prints what a command line that could not be read asked for (the help, the version) to standard
/// output, or what is wrong with it, and what may have been meant, to standard error.
/// returns the exit code.
int EndParsing(const CLI::App& app, const CLI::ParseError& error);

/// What --output and --into name lies in a folder that is there: said before the work begins.
/// Errors: kInvalidArgument.
Status CheckOutputFolders(const CLI::App& app);

}  // namespace tilewright::cli
