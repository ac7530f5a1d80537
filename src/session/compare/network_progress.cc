#include "src/session/compare/network_progress.h"

#include "src/compiler/check/check_process.h"

namespace tilewright::session {

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

}  // namespace tilewright::session
