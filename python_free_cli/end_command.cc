#include "python_free_cli/end_command.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "src/base/files/file.h"
#include "src/session/setting_names.h"

namespace tilewright::cli {
namespace {

int ExitCodeOf(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kInternal ? kExitFailed
                                                                           : kExitBadInput;
}

/// Returns a message of the library with the option instead of the setting that it begins with:
/// "--target: WHY" for "target: WHY".
std::string WithOption(const std::string& message) {
  const std::string_view first = std::string_view(message).substr(0, message.find_first_of(": "));
  const bool is_context = message.find(": ") < message.find('\n');
  if (!is_context || std::ranges::count(session::kSettingNames, first) == 0) return message;
  return "--" + message;
}

}  // namespace

int CheckOutput(int exit_code) {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if ((flushed && std::ferror(stdout) == 0) || errno == EPIPE) return exit_code;
  PrintErr("tilewright: standard output: not written completely: {}\n",
           flushed ? "an earlier write failed" : ErrnoReason());
  return exit_code == kExitDone ? kExitFailed : exit_code;
}

int EndCommand(const char* name, const std::function<Result<int>()>& run) {
  Result<int> exit_code = kExitFailed;
  try {
    exit_code = run();
  } catch (const std::system_error& error) {  // the formatter throws this if a write fails
    if (error.code().value() != EPIPE) {
      PrintErr("tilewright {}: standard output: {}\n", name, error.what());
    }
    return kExitFailed;
  } catch (const std::bad_alloc&) {
    exit_code = Unavailable("out of memory");
  }
  if (exit_code.ok()) return CheckOutput(*exit_code);
  const std::string message = PrintableMessage(WithOption(exit_code.status().message()));
  PrintErr("tilewright {}: {}\n", name, MultilineText{message});
  return ExitCodeOf(exit_code.status().code());
}

}  // namespace tilewright::cli
