#pragma once

#include <optional>
#include <string>
#include <vector>

#include "python_free_cli/arguments/device_argument.h"
#include "python_free_cli/arguments/network_target.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/model_source.h"
#include "python_free_cli/record_sources.h"
#include "src/base/status.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"
#include "src/session/session.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// Options that control fusion for a VTA: `--fuse-residuals` and `--no-fuse-residuals`.
struct FuseArguments {
  bool fuse_residuals = false, no_fuse_residuals = false;

  void Declare(CLI::App& app);
  bool given() const { return fuse_residuals || no_fuse_residuals; }
  /// Returns the given choice (SessionSettings::fuse_residuals).
  /// Errors: kInvalidArgument if both are given.
  Result<std::optional<bool>> Choice() const;
};

/// Returns true for a folder that `compile --target vta` wrote.
bool IsVtaBundle(const std::string& path);
/// Runs `compile --target vta`: writes the plan of a model file as a folder. Returns the exit code.
/// With OnMiss::kFail a convolution without a record is a failure, and nothing is written.
/// tune_command: named in the note on these convolutions.
Result<int> CompileForVta(const Plan& plan, OnMiss on_miss, const std::string& folder, bool json,
                          const std::string& tune_command);

/// Network that `run` and `verify` execute: a library, a VTA bundle, or a model file with a target.
/// A model file runs step by step on a simulated VTA or in the SIMT emulator, or is compiled to a
/// library for a GPU. Records of other GPUs of the target's generation are used too, with a note on
/// standard error.
class DeviceNetwork {
 public:
  /// Declares the options of target, record sources, fusion for a VTA, and device.
  /// traces: also `--vta-trace` and `--vta-cycles`.
  void Declare(CLI::App& app, bool traces);
  /// Sets the templates. Required before the network runs; they outlive this.
  void Use(const TemplateRegistry& templates) { templates_ = &templates; }
  /// True if the command line has a target, or names a VTA's bundle; otherwise the file is a
  /// library.
  bool planned(const std::string& file) const { return place_.given() || IsVtaBundle(file); }
  /// True if the target's kernels run on a GPU.
  bool on_gpu() const { return place_.device().launches_grids; }
  const DeviceArgument& device() const { return device_; }
  /// Errors: kInvalidArgument if arguments were given that only planned networks use.
  Status CheckUnused() const;

  /// Runs the network and prints its outputs; for a VTA also the statistics, and a row for each
  /// kind of layer. seeded: as for LoadForRunning. threads: 0: one, or as the library was compiled.
  /// Errors: kInvalidArgument for options of a source that is a library or a VTA's bundle.
  Result<int> Run(const ModelSource& source, bool seeded, const InputArguments& inputs,
                  const OutputArguments& outputs, int threads, bool json,
                  CheckProgress& progress) const;
  /// Compares every operator of a planned network with the reference; for a VTA also the results
  /// with those of `file`. bundle: compiled from the file; empty: the file itself is planned.
  /// seeded: as for LoadForRunning. options.progress: receives progress on a GPU.
  Result<VerifyReport> Verify(const ModelSource& source, const std::string& bundle, bool seeded,
                              const InputArguments& inputs, VerifyOptions options) const;

 private:
  /// Opens a library, a VTA's bundle or a model file. threads: of a VTA's host, or a library.
  /// timed: on a VTA, with all cycle models. verified: keep the original graph.
  Result<session::OpenNetwork> Open(const ModelSource& source, bool seeded, int threads, bool timed,
                                    bool verified) const;
  Result<session::OpenNetwork> OpenLibrary(const ModelSource& source, bool seeded,
                                           int threads) const;
  Result<session::Session> MakeSession(bool seeded) const;
  Result<Plan> ReadBundle(const std::string& folder, bool seeded) const;
  Status WriteTrace(const Plan& plan) const;
  /// Errors: kInvalidArgument if an option was given that only a VTA has.
  Status CheckNoVta() const;

  const CLI::App* app_ = nullptr;
  const TemplateRegistry* templates_ = nullptr;
  NetworkTarget place_;
  DeviceArgument device_;
  FuseArguments fuse_;
  std::string trace_file_;
  std::string trace_model_ = "pynq";
};

}  // namespace tilewright::cli
