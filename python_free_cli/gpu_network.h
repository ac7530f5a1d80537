#pragma once

#include <memory>
#include <string>

#include "python_free_cli/device_argument.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/record_sources.h"
#include "src/compiler/gpu_run.h"

namespace tilewright::cli {

/// A network on a GPU or in its emulator: what `run` and `verify` do with --target cuda.
struct GpuNetwork {
  std::unique_ptr<GpuPlan> plan;  // its executor points to it
  std::unique_ptr<GpuExecutor> executor;

  /// Plans a model file with the best configs of the sources. seeded: as for LoadForRunning.
  /// Errors: those of PlanGpu and DeviceArgument.
  static Result<GpuNetwork> Open(const std::string& file, bool seeded, const Target& target,
                                 const DeviceArgument& device, RecordSources& sources);
  Result<int> Run(const InputArguments& inputs, const OutputArguments& outputs, bool json) const;
  Result<VerifyReport> Verify(const InputArguments& inputs, const VerifyOptions& options) const;
};

}  // namespace tilewright::cli
