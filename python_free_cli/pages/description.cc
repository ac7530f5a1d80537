#include "python_free_cli/pages/description.h"

#include <CLI/CLI.hpp>

#include "python_free_cli/option_table.h"
#include "python_free_cli/usage.h"

namespace tilewright::cli {
namespace {

ArgumentPage DescribeArgument(const CLI::Option& option, const plugins::Registries& registries) {
  ArgumentPage page;
  for (const std::string& name : option.get_lnames()) page.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) page.names.push_back("-" + name);
  if (page.names.empty()) page.names.push_back(option.get_single_name());
  page.positional = page.names.front().front() != '-';
  page.flag = TypeOf(option).empty();
  page.required = option.get_required();
  page.text = option.get_description();
  if (page.flag) return page;
  page.repeated = TakesAnyNumber(option);
  page.choices = ChoicesOf(option);
  page.type = TypeOf(option);
  page.default_value = DefaultToShow(option);
  page.suggestions = SuggestedValues(page.type, registries);
  page.path = IsPathValue(page.type);
  return page;
}

CommandPage Describe(const CLI::App& app, const plugins::Registries& registries) {
  CommandPage page;
  page.name = app.get_name();
  page.summary = app.get_description();
  page.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    page.arguments.push_back(DescribeArgument(*option, registries));
  }
  for (const CLI::App* subcommand : app.get_subcommands({})) {
    if (!subcommand->get_group().empty())
      page.subcommands.push_back(Describe(*subcommand, registries));
  }
  return page;
}

/// Offers the names of commands for arguments that name one.
void SuggestCommands(const std::vector<std::string>& names, CommandPage& page) {
  for (ArgumentPage& argument : page.arguments) {
    if (argument.type == "COMMAND") argument.suggestions = names;
  }
  for (CommandPage& subcommand : page.subcommands) SuggestCommands(names, subcommand);
}

}  // namespace

CommandPage DescribeProgram(const CLI::App& app, const plugins::Registries& registries) {
  CommandPage program = Describe(app, registries);
  std::vector<std::string> names;
  for (const CommandPage& command : program.subcommands) names.push_back(command.name);
  SuggestCommands(names, program);
  return program;
}

}  // namespace tilewright::cli
