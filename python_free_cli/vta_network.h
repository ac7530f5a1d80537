#pragma once

#include <string>
#include <vector>

#include "python_free_cli/model_io.h"
#include "python_free_cli/network_target.h"
#include "python_free_cli/record_sources.h"
#include "src/base/status.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/vta_plan.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// How a network is put on a VTA: `--fuse-residuals` and `--no-fuse-residuals`.
struct VtaChoice {
  bool fuse_residuals = false, no_fuse_residuals = false;

  void Declare(CLI::App& app);
  bool given() const { return fuse_residuals || no_fuse_residuals; }
  /// Where groups end: residuals are fused unless told otherwise, but by AutoTVM's rule only if
  /// told to, as its packages were tuned without.
  /// Errors: kInvalidArgument if both are given.
  Result<FuseRule> Rule(bool autotvm) const;
  /// The plan of a model file. seeded, load: as for LoadForRunning.
  Result<VtaPlan> Plan(const std::string& file, bool seeded, const LoadOptions& load,
                       const Target& target, RecordSources& sources) const;
};

/// True for a folder that `compile --target vta` made.
bool IsVtaBundle(const std::string& path);

/// `compile --target vta`: writes the plan of a model file as a folder. Returns the exit code: with
/// OnMiss::kFail a convolution without a record is a failure, and nothing is written.
Result<int> CompileForVta(const VtaPlan& plan, OnMiss on_miss, const std::string& folder,
                          bool json);

/// `run` and `verify` of a model file or a bundle on a simulated VTA.
class VtaNetwork {
 public:
  explicit VtaNetwork(NetworkTarget& place) : place_(place) {}
  /// The choice.
  void Declare(CLI::App& app) { choice_.Declare(app); }
  /// `--vta-trace` and `--vta-cycles`.
  void DeclareTrace(CLI::App& app);
  /// True if the command line asks for a VTA, or names a bundle.
  bool wanted(const std::string& file) const {
    return !place_.device().grids && (place_.given() || IsVtaBundle(file));
  }
  /// Errors: kInvalidArgument if arguments were given that mean nothing without a VTA.
  Status CheckUnused() const;

  /// Runs the network and prints what it made, the statistics and a row for each kind of layer.
  /// seeded: as for LoadForRunning.
  Result<int> Run(const std::string& file, bool seeded, const InputArguments& inputs,
                  const OutputArguments& outputs, int threads, bool json);
  /// Compares what the accelerator makes with the reference, and the results with those of `file`.
  /// bundle: made of it by compile; empty: the file itself is planned. seeded, load: as for
  /// LoadForRunning.
  Result<VerifyReport> Verify(const std::string& file, const std::string& bundle, bool seeded,
                              const LoadOptions& load, const InputArguments& inputs,
                              const VerifyOptions& options);

 private:
  Result<VtaPlan> Plan(const std::string& file, bool seeded, const LoadOptions& load);

  NetworkTarget& place_;
  VtaChoice choice_;
  std::string trace_file_;
  std::string trace_model_ = "pynq";
};

}  // namespace tilewright::cli
