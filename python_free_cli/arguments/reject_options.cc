#include "python_free_cli/arguments/reject_options.h"

#include <CLI/CLI.hpp>
#include <string>

namespace tilewright::cli {

Status RejectOptions(const CLI::App& app, std::initializer_list<const char*> options,
                     std::string_view why) {
  for (const char* name : options) {
    const CLI::Option* option = app.get_option_no_throw(name);
    TW_CHECK(option != nullptr, name);
    if (option->count() > 0) return InvalidArgument(std::string(name) + ": " + std::string(why));
  }
  return {};
}

}  // namespace tilewright::cli
