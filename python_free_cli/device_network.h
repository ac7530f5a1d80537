#pragma once

#include <memory>
#include <string>
#include <vector>

#include "python_free_cli/device_argument.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/network_target.h"
#include "python_free_cli/record_sources.h"
#include "src/base/status.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"
#include "src/compiler/plan/plan.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// How a network is cut for a VTA: `--fuse-residuals` and `--no-fuse-residuals`.
struct FuseArguments {
  bool fuse_residuals = false, no_fuse_residuals = false;

  void Declare(CLI::App& app);
  bool given() const { return fuse_residuals || no_fuse_residuals; }
  /// Residuals are fused unless told otherwise, but by AutoTVM's rule only if told to, as its
  /// packages were tuned without.
  /// Errors: kInvalidArgument if both are given.
  Result<bool> Residuals(bool autotvm) const;
};

/// A model file and how it is to be compiled.
struct CompileOrder {
  Graph graph;
  std::unique_ptr<records::Catalog> catalog;  ///< options point to it
  CompileOptions options;
};
/// seeded, load: as for LoadForRunning.
Result<CompileOrder> ReadOrder(const std::string& file, bool seeded, const LoadOptions& load,
                               const Target& target, const RecordSources& sources,
                               const DeviceArgument& device, const FuseArguments& fuse);

/// The plan of a model file for a VTA; standard error is told if the VTA gets none of it.
Result<Plan> PlanForVta(const std::string& file, Graph graph, const CompileOptions& options);
/// True for a folder that `compile --target vta` made.
bool IsVtaBundle(const std::string& path);
/// `compile --target vta`: writes the plan of a model file as a folder. Returns the exit code: with
/// OnMiss::kFail a convolution without a record is a failure, and nothing is written.
Result<int> CompileForVta(const Plan& plan, OnMiss on_miss, const std::string& folder, bool json);

/// `run` and `verify` of a model file with a target, step by step on a simulated VTA (also of its
/// bundles) or in the emulator of a GPU's threads, or on a GPU as a library like compile's. Records
/// of other GPUs of the target's generation are taken too, which is told on standard error,
/// operator by operator.
class DeviceNetwork {
 public:
  /// Both outlive this.
  DeviceNetwork(NetworkTarget& place, const DeviceArgument& device)
      : place_(place), device_(device) {}
  /// How it is cut.
  void Declare(CLI::App& app) { fuse_.Declare(app); }
  /// `--vta-trace` and `--vta-cycles`.
  void DeclareTrace(CLI::App& app);
  /// True if the command line has a target, or names a VTA's bundle.
  bool wanted(const std::string& file) const { return place_.given() || IsVtaBundle(file); }
  /// Errors: kInvalidArgument if arguments were given that mean nothing for a library.
  Status CheckUnused() const;

  /// Runs the network and prints what it made; of a VTA also the statistics, and a row for each
  /// kind of layer. seeded: as for LoadForRunning.
  Result<int> Run(const std::string& file, bool seeded, const InputArguments& inputs,
                  const OutputArguments& outputs, int threads, bool json,
                  CheckProgress& progress) const;
  /// Compares every operator with the reference; for a VTA also the results with those of `file`.
  /// bundle: made of it by compile; empty: the file itself is planned. seeded, load: as for
  /// LoadForRunning. options.progress is told what runs on a GPU.
  Result<VerifyReport> Verify(const std::string& file, const std::string& bundle, bool seeded,
                              const LoadOptions& load, const InputArguments& inputs,
                              VerifyOptions options) const;

 private:
  struct Opened;
  bool on_gpu() const { return place_.device().grids; }
  /// What runs the file, or a VTA's bundle. threads: of a VTA's host. timed: on a VTA, by all
  /// cycle models.
  Result<Opened> Open(const std::string& file, bool seeded, const LoadOptions& load, int threads,
                      bool timed) const;
  Result<CompileOrder> Read(const std::string& file, bool seeded, const LoadOptions& load) const;
  Result<Plan> ReadBundle(const std::string& folder, bool seeded) const;
  static Status OpenVta(Plan plan, int threads, bool timed, Opened& opened);
  Status OpenGpu(CompileOrder order, Opened& opened) const;
  static Status Emulate(CompileOrder order, bool tells, Opened& opened);

  NetworkTarget& place_;
  const DeviceArgument& device_;
  FuseArguments fuse_;
  std::string trace_file_;
  std::string trace_model_ = "pynq";
};

/// What operators get that no record was measured for, one line each, to standard error.
void PrintMisses(const std::vector<OperatorReport>& operators);

}  // namespace tilewright::cli
