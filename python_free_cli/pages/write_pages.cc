#include <filesystem>

#include "python_free_cli/pages/pages.h"
#include "src/base/files/file.h"

namespace tilewright::cli {

Status WritePages(const CommandPage& program, const std::string& folder) {
  const auto write = [&folder](const std::string& name, const std::string& text) -> Status {
    const std::string path = folder + "/" + name;
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    std::error_code failed;
    std::filesystem::create_directories(parent, failed);
    if (failed) return Unavailable("cannot make " + parent.string() + ": " + failed.message());
    return WriteFile(path, text);
  };
  TW_RETURN_IF_ERROR(write("bash-completion/completions/" + program.name, BashCompletion(program)));
  TW_RETURN_IF_ERROR(write("zsh/vendor-completions/_" + program.name, ZshCompletion(program)));
  TW_RETURN_IF_ERROR(
      write("fish/vendor_completions.d/" + program.name + ".fish", FishCompletion(program)));
  TW_RETURN_IF_ERROR(write("man/man1/" + program.name + ".1", ProgramManual(program)));
  for (const CommandPage& command : program.subcommands) {
    TW_RETURN_IF_ERROR(write("man/man1/" + program.name + "-" + command.name + ".1",
                             CommandManual(program, command)));
  }
  return {};
}

}  // namespace tilewright::cli
