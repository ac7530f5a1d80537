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

void RegisterOperators(const RunnableNetwork& network, CheckProgress& progress,
                       std::int64_t factor) {
  std::vector<OperatorReport> operators;
  for (const ModelOperator& op : network.operators()) {
    OperatorReport& report = operators.emplace_back();
    report.value = op.result.name;
    report.op = op.op;
    report.kernel = op.kernel;
    report.macs = factor * op.macs;
    report.bytes = factor * op.bytes;
  }
  progress.SetOperators(operators);
}

Result<std::vector<Tensor>> RunWithProgress(const RunnableNetwork& network,
                                            std::span<const Tensor> inputs,
                                            CheckProgress& progress) {
  if (network.on_gpu()) {
    progress.End();  // its operators are not reported one by one
    return network.Run(inputs);
  }
  auto outputs =
      network.Run(inputs, [&](std::size_t op) { progress.Begin(static_cast<std::int64_t>(op)); });
  progress.End();
  return outputs;
}

}  // namespace tilewright::cli
