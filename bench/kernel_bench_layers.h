#pragma once

#include <functional>
#include <string>
#include <vector>

#include "python_free_cli/model_source.h"
#include "search/tuner.h"
#include "src/target/target.h"

namespace CLI {
class App;
}  // namespace CLI

namespace tilewright::bench {

/// Which layers of which networks a benchmark compares.
struct LayerArguments {
  std::vector<std::string> tasks;  ///< model files, built-in models, workload keys
  std::string only;                ///< in the keys of the layers
  cli::ModelArguments model;

  void Declare(CLI::App& app);
};

/// change: what is compared in the place of a layer that was read.
/// Errors: those of reading the models and of the workloads' keys.
Result<std::vector<search::TuneTask>> ReadLayers(const LayerArguments& arguments,
                                                 const Target& target,
                                                 const std::function<void(Workload&)>& change);

/// What stands behind the sums of a layer on each side that is compared: bias and relu, of 8-bit
/// integers requantized to uint8; nothing behind matrix products of batches.
Result<Epilogue> EpilogueOf(const Workload& workload, bool int8);

/// The same layer of 8-bit integers, if it is one of floats: uint8 by int8 to int32.
void MakeInt8(Workload& workload);

}  // namespace tilewright::bench
