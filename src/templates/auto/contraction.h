#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/target/cpu.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Contraction of a computation: the stage that does most of its work, if it is a reduction whose
/// operands are reused, because each load is independent of an axis of the result.
struct Contraction {
  Compute compute;         ///< neighbouring dimensions joined (src/tensor/expression/collapse.h)
  std::size_t main = 0;    ///< position of the stage
  int vector_axis = 0;     ///< its innermost axis of more than one element
  std::vector<int> rows;   ///< up to two other axes of register tiles
  std::vector<int> order;  ///< for each axis of the stage: the axis of the written result
  int result_axis = 0;     ///< axis of the stage along which the result is contiguous in memory
  /// Load of the main stage.
  struct Operand {
    Buffer buffer;
    std::vector<bool> has_axis;  ///< for each axis of the result: whether the load depends on it
    int across = -1;             ///< dimension in which vector_axis is strided; -1: none
    bool gathers = false;        ///< vector_axis is strided in several dimensions
    int input = -1;              ///< of the expression; -1 if a stage computes the buffer
    bool constant = false;       ///< the input is known when code is generated
    int row_dimension = -1;      ///< dimension whose index is rows[0] or rows[1]; -1: none
    int row_axis = -1;
  };
  std::vector<Operand> operands;

  const ComputeOp& op() const { return compute.stages[main]; }
  std::int64_t extent(int axis) const { return op().axes[static_cast<std::size_t>(axis)].extent; }
  /// Whether vectors are along another axis than the one along which the result is contiguous: the
  /// stage after the main one transposes its tiles.
  bool transposed() const { return vector_axis != result_axis; }
  /// Returns the axis of the stage that is axis `axis` of the result.
  int AxisOfResult(int axis) const;
};

/// Returns the contraction of an expression with vectors along an axis of its result; -1: the
/// innermost axis with more than one element. For another axis, the axes of the main stage are
/// reordered, and a stage copies its result back to the old order.
/// Errors: kUnsupported if the expression has no contraction, or if an operand is strided along the
/// axis in more than one dimension.
Result<Contraction> FindContraction(const Expression& expression, int axis = -1);
/// Returns the contractions for all axes that can have vectors, the innermost first.
/// Errors: kUnsupported if the expression has none.
Result<std::vector<Contraction>> FindContractions(const Expression& expression);

/// Transposes operand `number`: the main stage reads it from a new stage "<buffer>.turned", where
/// `dimension` (-1: Operand::across) is innermost.
void TransposeOperand(Contraction& contraction, std::size_t number, int dimension = -1);
/// Replaces a constant operand by a parameter packed in blocks of `block` elements of `dimension`;
/// returns its layout for KernelLayouts::weight.
std::string PackOperand(Contraction& contraction, std::size_t number, int dimension,
                        std::int64_t block);

}  // namespace tilewright
