#pragma once

#include <memory>
#include <string>

#include "python_free_cli/device_argument.h"
#include "python_free_cli/model_io.h"
#include "python_free_cli/network_target.h"
#include "src/base/status.h"
#include "src/compiler/check/verify.h"
#include "src/compiler/compile.h"

namespace CLI {
class App;
}

namespace tilewright::cli {

/// `run` and `verify` of a model file with --target cuda: on a GPU, compiled to a library like
/// compile's, or in the emulator of threads, kernel by kernel. Records of other devices of the
/// target's generation are taken too, which is told on standard error, operator by operator.
class GpuNetwork {
 public:
  explicit GpuNetwork(NetworkTarget& place) : place_(place) {}
  /// `--device`.
  void Declare(CLI::App& app) { device_.Declare(app); }
  bool wanted() const { return place_.device().grids; }
  /// Errors: kInvalidArgument if a device was given, which only code for CUDA has.
  Status CheckUnused() const;

  /// seeded, load: as for LoadForRunning.
  Result<int> Run(const std::string& file, bool seeded, const InputArguments& inputs,
                  const OutputArguments& outputs, bool json, CheckProgress& progress) const;
  /// Compares every operator with the reference. options.progress is told of what runs.
  Result<VerifyReport> Verify(const std::string& file, bool seeded, const LoadOptions& load,
                              const InputArguments& inputs, const VerifyOptions& options) const;
  /// Gives a library the device of the command line.
  /// Errors: kInvalidArgument if one was given and the library is not for a GPU.
  Status Prepare(ModelLibrary& library) const;

 private:
  /// A model file and how it is to be compiled.
  struct Order {
    Graph graph;
    std::unique_ptr<records::Catalog> catalog;  // options point to it
    CompileOptions options;
    bool tells = false;  // operators without a record are named
  };
  Result<Order> Read(const std::string& file, bool seeded, const LoadOptions& load) const;
  /// A library for this process alone, with its device open.
  Result<ModelLibrary> CompileHere(Graph graph, const Order& order) const;

  NetworkTarget& place_;
  DeviceArgument device_;
};

/// What operators get that no record was measured for, one line each, to standard error.
void PrintMisses(const std::vector<OperatorReport>& operators);

}  // namespace tilewright::cli
