#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "records/catalog.h"
#include "src/base/status.h"
#include "src/compiler/vta_alu_group.h"
#include "src/graph/graph.h"
#include "src/graph/passes.h"
#include "src/target/target.h"
#include "src/vta/design.h"
#include "src/vta/stream_builder.h"

namespace tilewright {

struct VtaKernel;

struct VtaOptions {
  Target target;  ///< of kind vta; its -model is the design
  /// Asked for each convolution. Not owned; null: everything gets its default config.
  records::Catalog* catalog = nullptr;
  records::AnswerLevel accept = records::AnswerLevel::kDefault;
  /// Given, it is asked instead of the catalog, as AutoTVM asks its logs and packages: imported
  /// records, unverified, and only those of this design. Not owned.
  const records::Store* imported = nullptr;
  std::string tophub;  ///< of `imported` only this TopHub package; empty: as AutoTVM looks
  FuseRule fuse = FuseRule::kNarrow;
  /// Given, nothing is chosen: these are the kernels there are (of a bundle). Not owned.
  const std::vector<VtaKernel>* kernels = nullptr;
};

/// What the accelerator executes for operators of equal shapes, attributes and followers.
struct VtaKernel {
  std::string workload;  ///< key of the workload; "add(int8[…],int8[…])->int8" without a product
  Epilogue epilogue;
  std::string template_key;
  std::string config;  ///< Config::ToString
  bool tuned = false;  ///< the config comes from a record
  std::string source;  ///< store, package or file and line of the record; empty without one
  std::string explanation;
  vta::Stream stream;
  /// For each tensor operand of the epilogue, in order: added to its elements before the launch.
  std::vector<std::int32_t> operand_addends;
  TensorType result;
};

/// A group of operators, in the order of execution.
struct VtaStep {
  std::vector<int> nodes;  ///< operators, topological; the last one is the result
  std::string op;          ///< "conv2d + add, relu"
  int kernel = -1;         ///< of the accelerator; -1: the host evaluates the nodes
  std::string reason;      ///< why it runs where it does
  std::vector<int> loads;  ///< accelerator: data, weight (if there is one), operands
};

/// A graph cut into what an accelerator and its host do.
struct VtaPlan {
  Graph graph;  ///< optimized
  Target target;
  vta::Design design = vta::Design::Default();
  FuseRule fuse = FuseRule::kNarrow;
  std::vector<VtaKernel> kernels;
  std::vector<VtaStep> steps;
};

/// Gives packed int8 convolutions with their followers, and chains of elementwise operators on
/// packed integers that begin with an addition or a product, to the accelerator; the rest to the
/// host. An operator that no stream can be built for goes to the host, with the reason.
///
/// Errors: kInvalidArgument if the target is no VTA, its design's widths are not 8 bits, or a
/// constant has no contents; those of the stores.
Result<VtaPlan> PlanVta(Graph graph, const VtaOptions& options);

}  // namespace tilewright
