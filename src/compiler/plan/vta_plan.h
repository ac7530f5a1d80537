#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "records/package/catalog.h"
#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/graph/passes/passes.h"
#include "src/target/target.h"
#include "src/vta/design.h"
#include "src/vta/stream_builder.h"

namespace tilewright {

struct VtaKernel;

struct VtaOptions {
  Target target;  ///< of kind vta; its -model is the design
  /// Asked for each operator. Not owned; null: everything gets its default config.
  records::Catalog* catalog = nullptr;
  records::AnswerLevel accept = records::AnswerLevel::kDefault;
  /// Not none: the catalog is asked by AutoTVM's rule: imported records, unverified, and only those
  /// of boards of this design. Only operators that AutoTVM has templates for are given to the
  /// accelerator.
  std::optional<records::AutotvmQuestion> autotvm;
  FuseRule fuse = FuseRule::kNarrow;
  /// Given, nothing is chosen: these are the kernels there are (of a bundle). Not owned.
  const std::vector<VtaKernel>* kernels = nullptr;
};

/// What the accelerator executes for operators of equal shapes, attributes and followers.
struct VtaKernel {
  std::string workload;  ///< key of the workload
  Epilogue epilogue;
  std::string template_key;
  std::string config;  ///< Config::ToString
  bool tuned = false;  ///< the config comes from a record
  std::string source;  ///< store, package or file and line of the record; empty without one
  std::string explanation;
  vta::Stream stream;
  /// For each tensor operand of the ALU's steps, in order: added to its elements before the launch.
  std::vector<std::int32_t> operand_addends;
  TensorType result;
};

/// A group of operators, in the order of execution.
struct VtaStep {
  std::vector<int> nodes;  ///< operators, topological; the last one is the result
  std::string op;          ///< "conv2d + add, relu"
  int kernel = -1;         ///< of the accelerator; -1: the host evaluates the nodes
  std::string reason;      ///< why it runs where it does
  std::vector<int> loads;  ///< accelerator: data, weight or second tensor, operands
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

/// Gives packed int8 convolutions with their followers, and what its ALU computes alone
/// (src/graph/passes/alu_group.h), to the accelerator; the rest to the host. An operator that no
/// stream can be built for goes to the host, with the reason.
///
/// Errors: kInvalidArgument if the target is no VTA, its design's widths are not 8 bits, or a
/// constant has no contents; those of the stores.
Result<VtaPlan> PlanVta(Graph graph, const VtaOptions& options);

}  // namespace tilewright
