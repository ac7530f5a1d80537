#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/plan/physical_layout.h"
#include "src/graph/ir/graph.h"
#include "src/tensor/reference/error_bound.h"

namespace tilewright {

/// Memory of a value of a graph, with its layout.
struct TensorView {
  const void* memory = nullptr;
  PhysicalLayout layouts;
};
/// Returns the memory of a value; nothing if the value must be computed.
using FindValue = std::function<std::optional<TensorView>(int node)>;

/// Evaluator of single elements of a graph's values, from operands in memory: convolutions tap by
/// tap, reductions row by row, data movement by mapping positions. Shares no code with definitions
/// or lowering of kernels.
class SampledReference {
 public:
  /// Elements in one dimension, one for each position. Shared among users.
  using Sample = std::shared_ptr<const BoundedTensor>;

  /// graph: outlives this. max_reads: limit of elements that one call of At reads from memory.
  SampledReference(const Graph& graph, FindValue find, std::int64_t max_reads)
      : graph_(graph), find_(std::move(find)), reads_left_(max_reads) {}

  /// Returns the elements at row-major positions of a value.
  /// Errors: kUnsupported for operators that are not computed by element, or if the limit of reads
  /// is exceeded; kInvalidArgument for a constant without contents.
  Result<Sample> At(int node, std::span<const std::int64_t> positions);
  /// Returns the rest of max_reads.
  std::int64_t reads_left() const { return reads_left_; }
  /// Returns true if a value on the way was rounded to float16.
  bool rounded_to_half() const { return rounded_to_half_; }

 private:
  using Positions = std::vector<std::int64_t>;

  // Elements in memory, and data movement (sample.cc).
  Result<Sample> Compute(int node, std::span<const std::int64_t> positions);
  Result<Sample> Read(const TensorType& type, const TensorView& value,
                      std::span<const std::int64_t> positions);
  Result<Sample> Elementwise(const Node& node, std::span<const std::int64_t> positions);
  Result<Sample> Moved(const Node& node, std::span<const std::int64_t> positions);
  Result<Sample> Concatenated(const Node& node, std::span<const std::int64_t> positions);
  Result<Sample> Gathered(const Node& node, std::span<const std::int64_t> positions);
  /// Returns elements of `input`, and `fill` for positions below 0.
  Result<Sample> Filled(int input, const Positions& positions, double fill);

  // Sums, windows and rows (sample_sums.cc).
  /// Errors: kUnsupported if `count` elements of `each` reads exceed the limit.
  Status CheckReadCount(std::int64_t count, std::int64_t each) const;
  Result<Sample> SumOfProducts(const Node& node, std::span<const std::int64_t> positions);
  Result<Sample> Pooled(const Node& node, std::span<const std::int64_t> positions);
  Result<Sample> Reduced(const Node& node, std::span<const std::int64_t> positions);
  Result<Sample> OfRow(const Node& node, std::span<const std::int64_t> positions);
  Result<Sample> Normalized(const Node& node, std::span<const std::int64_t> positions);

  // Parts of an expression (sample_expression.cc).
  Result<Sample> OfExpression(const Node& node, std::span<const std::int64_t> positions);

  // Recurrences, step after step (sample_steps.cc).
  Result<Sample> Stepped(const Node& node, std::span<const std::int64_t> positions);

  const Graph& graph_;
  FindValue find_;
  std::int64_t reads_left_;
  bool rounded_to_half_ = false;
  std::map<std::pair<int, Positions>, Sample> known_;
};

/// Returns the number of first steps of a recurrence that At can evaluate.
std::int64_t StepsWithinReach(const Graph& graph, const Node& node);

/// Returns the index in each dimension of a row-major position.
std::vector<std::int64_t> IndexAt(std::int64_t position, const std::vector<std::int64_t>& shape);
/// Returns the row-major position of an index.
std::int64_t PositionOf(std::span<const std::int64_t> index,
                        const std::vector<std::int64_t>& shape);

/// Returns positions of `count` elements of a value, all if it has fewer, with the last one. Half
/// of the others are at ends of dimensions, where tiles and blocks are partial. name: of the value,
/// by which they are drawn.
std::vector<std::int64_t> ChoosePositions(const TensorType& type, const std::string& name,
                                          std::int64_t count);

}  // namespace tilewright
