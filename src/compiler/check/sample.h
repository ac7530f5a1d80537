#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/compiler/plan/physical_layout.h"
#include "src/graph/ir/graph.h"
#include "src/tensor/reference/error_bound.h"

namespace tilewright {

/// A value of a graph in memory.
struct TensorView {
  const void* memory = nullptr;
  PhysicalLayout layouts;
};
/// Where a value is; nothing for one that is to be computed.
using FindValue = std::function<std::optional<TensorView>(int node)>;

/// Single elements of values of a graph, computed one by one from what lies in memory: convolutions
/// tap by tap, reductions row by row, what only moves elements by asking for the element it was.
/// Shares no code with definitions or lowering of kernels.
class SampledReference {
 public:
  /// One-dimensional: an element for each position. Shared, as several users may ask.
  using Sample = std::shared_ptr<const BoundedTensor>;

  /// graph outlives this. max_reads: of elements that one call of At may look at in memory.
  SampledReference(const Graph& graph, FindValue find, std::int64_t max_reads)
      : graph_(graph), find_(std::move(find)), reads_left_(max_reads) {}

  /// The elements at row-major positions of a value.
  /// Errors: kUnsupported for what is not computed by element, or takes too many reads;
  /// kInvalidArgument for a constant without contents.
  Result<Sample> At(int node, std::span<const std::int64_t> positions);
  /// Of max_reads.
  std::int64_t reads_left() const { return reads_left_; }
  /// Whether some value on the way was rounded to float16.
  bool rounded_to_half() const { return rounded_to_half_; }

 private:
  using Positions = std::vector<std::int64_t>;

  // What lies in memory, and what only moves (sample.cc).
  Result<Sample> Compute(int node, std::span<const std::int64_t> positions);
  Result<Sample> Read(const TensorType& type, const TensorView& value,
                      std::span<const std::int64_t> positions);
  Result<Sample> Elementwise(const Node& node, std::span<const std::int64_t> positions);
  Result<Sample> Moved(const Node& node, std::span<const std::int64_t> positions);
  Result<Sample> Concatenated(const Node& node, std::span<const std::int64_t> positions);
  Result<Sample> Gathered(const Node& node, std::span<const std::int64_t> positions);
  /// Elements of `input`, `fill` where a position is below 0.
  Result<Sample> Filled(int input, const Positions& positions, double fill);

  // Sums, windows and rows (sample_sums.cc).
  /// Errors: kUnsupported if so many elements, made of so many each, are more than may be read.
  Status CheckReadBounds(std::int64_t count, std::int64_t each) const;
  Result<Sample> SumOfProducts(const Node& node, std::span<const std::int64_t> positions);
  Result<Sample> Pooled(const Node& node, std::span<const std::int64_t> positions);
  Result<Sample> Reduced(const Node& node, std::span<const std::int64_t> positions);
  Result<Sample> OfRow(const Node& node, std::span<const std::int64_t> positions);
  Result<Sample> Normalized(const Node& node, std::span<const std::int64_t> positions);

  // Parts of an expression (sample_expression.cc).
  Result<Sample> OfExpression(const Node& node, std::span<const std::int64_t> positions);

  // Steps that follow one another (sample_steps.cc).
  Result<Sample> Stepped(const Node& node, std::span<const std::int64_t> positions);

  const Graph& graph_;
  FindValue find_;
  std::int64_t reads_left_;
  bool rounded_to_half_ = false;
  std::map<std::pair<int, Positions>, Sample> known_;
};

/// How many steps of a recurrence, from its first one on, At takes on.
std::int64_t StepsWithinReach(const Graph& graph, const Node& node);

/// Index of each dimension at a row-major position.
std::vector<std::int64_t> IndexAt(std::int64_t position, const std::vector<std::int64_t>& shape);
/// The row-major position of an index.
std::int64_t PositionOf(std::span<const std::int64_t> index,
                        const std::vector<std::int64_t>& shape);

}  // namespace tilewright
