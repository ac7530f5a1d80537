#pragma once

#include <functional>
#include <string>
#include <vector>

#include "search/tuner.h"
#include "src/session/model.h"
#include "src/target/target.h"

namespace CLI {
class App;
}  // namespace CLI

namespace tilewright::bench {

/// Selection of the networks and layers that a benchmark compares.
struct LayerArguments {
  std::vector<std::string> tasks;  ///< model files, built-in models, workload keys
  std::string only;                ///< substring of the layers' keys
  session::ModelOptions model;

  void Declare(CLI::App& app);
};

/// Reads the layers. change: replaces a layer that was read by the compared one. Errors: those of
/// reading the models and of the workloads' keys.
Result<std::vector<search::TuneTask>> ReadLayers(const LayerArguments& arguments,
                                                 const Target& target,
                                                 const std::function<void(Workload&)>& change);

/// Returns the epilogue of a layer, equal on all compared sides: bias and relu, for 8-bit integers
/// with requantization to uint8; none for batched matrix products.
Result<Epilogue> EpilogueOf(const Workload& workload, bool int8);

/// Converts a float layer to 8-bit integers: uint8 by int8 to int32.
void MakeInt8(Workload& workload);

}  // namespace tilewright::bench
