#include "python_free_cli/isolated_process.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "python_free_cli/end_command.h"
#include "src/base/json.h"

namespace tilewright::cli {

void IsolatedProcess::Declare(CLI::App& app) {
  app.add_option("--operator-seconds", operator_seconds, "Time limit for one operator, in seconds")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
}

Result<int> IsolatedProcess::Run(const char* command,
                                 const std::function<Result<int>(CheckProgress&)>& body) const {
  (void)std::fflush(nullptr);  // buffered output must not be written twice
  const auto whole = [&](CheckProgress& progress) -> Result<Json> {
    return Json{{"exit", EndCommand(command, [&] { return body(progress); })}};
  };
  const CheckProcessResult answer = RunCheckProcess(whole, {}, operator_seconds);
  TW_RETURN_IF_ERROR(answer.status);
  TW_ASSIGN_OR_RETURN(const auto json, ParseJson(answer.json));
  return json.at("exit").get<int>();
}

}  // namespace tilewright::cli
