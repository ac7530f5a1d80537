#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/run/run.h"
#include "src/graph/ir/graph.h"
#include "src/graph/partition/partition.h"
#include "src/tensor/reference/reference.h"

namespace tilewright {

class CheckProgress;
struct Plan;
struct PositionNetwork;
struct SequenceNetwork;

/// Result of comparing one operator of a network with the reference evaluator.
struct OperatorCheck {
  std::string value, op;
  Comparison comparison;
  std::int64_t non_finite_mismatches = 0;  ///< elements that are infinite or no numbers on one side
};

struct VerifyReport {
  std::vector<OperatorCheck> checks;     ///< in the order of execution
  std::optional<std::size_t> first_bad;  ///< position in `checks`
  std::int64_t elements = 0;             ///< compared elements of all operators
  std::int64_t synthetic_constants = 0;  ///< of the graph
  bool ok() const { return !first_bad.has_value(); }
  /// Returns a sentence: "operator 12 (r45, conv2d + add, relu): element 1034 differs …", or "312
  /// operators agree".
  std::string Summary() const;
};

struct VerifyOptions {
  /// Tolerance of floats, relative to the reference's root mean square. If none, Compare's
  /// tolerance for the type of each value applies, more if an operator rounds to float16 or a
  /// kernel multiplies tf32; larger differences are then judged by the magnitudes that were summed
  /// (see CompareBounded).
  std::optional<double> tolerance = std::nullopt;
  int threads = 1;                    ///< of the reference evaluator
  CheckProgress* progress = nullptr;  ///< gets the kernel that runs
};

/// Returns true if the names and types of the library's values are those of the graph (as
/// imported).
bool IsLibraryOf(const Graph& graph, const ModelLibrary& model);

/// Partitions a graph (as imported, constants with contents) as `network` was: its values have the
/// names that the network's operators have. Errors: those of Partition.
Result<PartitionedGraph> PartitionLike(Graph graph, const RunnableNetwork& network);

/// Runs a network and compares operator by operator with the reference evaluator. source: by
/// PartitionLike, of the graph that the network was made from. Each operator is evaluated on the
/// values that the network gave it, so that errors do not add up. Integers must be equal. Values
/// that the reference evaluator computed itself are not compared.
/// Errors: kInvalidArgument if the graph is not the one the network was made from (inputs, outputs
/// or values it lacks); those of the run.
Result<VerifyReport> Verify(const PartitionedGraph& source, const RunnableNetwork& network,
                            std::span<const Tensor> inputs, const VerifyOptions& options);

/// Verifies a library in a file on random inputs. set: the graph's shape variant in the library.
/// With an open dimension, the graph is that of one entry.
Result<VerifyReport> VerifyFile(const Graph& graph, const std::string& library_path, int set,
                                CheckProgress& progress);

/// Verifies a library for lengths of a sequence operator by operator, with one length whose last
/// block of positions is partial. Errors: those of the run and of Verify.
Result<VerifyReport> VerifyLength(const SequenceNetwork& network, const std::string& library_path,
                                  CheckProgress& progress);

/// Verifies a library for positions that windows read operator by operator, with a size whose
/// positions are no whole number of blocks. Errors: those of the run and of Verify.
Result<VerifyReport> VerifyPositions(const PositionNetwork& network,
                                     const std::string& library_path, CheckProgress& progress);

/// Verifies the steps of a plan (PlannedNetwork), and its outputs against those of `source`, the
/// model as imported. If `source` is null, the outputs are those of the steps.
Result<VerifyReport> VerifyPlanned(const Plan& plan, const RunnableNetwork& network,
                                   const Graph* source, std::span<const Tensor> inputs,
                                   const VerifyOptions& options);

}  // namespace tilewright
