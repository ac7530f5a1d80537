#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/target/cpu.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// The stage of a computation that does most of its work, where that is a reduction whose operands
/// are read again and again: each load lacks an axis of the result.
struct Contraction {
  Compute compute;         ///< neighbouring dimensions joined (src/tensor/expression/collapse.h)
  std::size_t main = 0;    ///< position of the stage
  int vector_axis = 0;     ///< its innermost axis of more than one element
  std::vector<int> rows;   ///< up to two other axes, of which a few steps are in registers
  std::vector<int> order;  ///< by axis of the stage: that of the result as it is written
  int result_axis = 0;     ///< along which the result lies in memory: an axis of the stage
  /// What the main stage loads that has its elements for neighbours along vector_axis apart in
  /// memory, and along one dimension: number of the dimension, by load; -1 for the others.
  struct Operand {
    Buffer buffer;
    std::vector<bool> has_axis;  ///< by axis of the result: whether it is read anew along it
    int across = -1;
    bool gathers = false;    ///< they are apart, and along no dimension by itself
    int input = -1;          ///< of the expression; -1 for a stage's
    bool constant = false;   ///< the input is known when code is made
    int row_dimension = -1;  ///< that rows[0] or rows[1] is the index of, by itself
    int row_axis = -1;
  };
  std::vector<Operand> operands;

  const ComputeOp& op() const { return compute.stages[main]; }
  std::int64_t extent(int axis) const { return op().axes[static_cast<std::size_t>(axis)].extent; }
  /// Whether vectors are made along another axis than the result lies along: the stage behind the
  /// main one turns its tiles.
  bool transposed() const { return vector_axis != result_axis; }
  /// The axis of the stage that is axis `axis` of the result.
  int AxisOfResult(int axis) const;
};

/// The contraction of an expression with vectors along an axis of its result; -1: the innermost one
/// of more than one element. For another one the main stage gets its axes in another order, and a
/// stage that copies it into the old one.
/// Errors: kUnsupported if the expression has none, or what is read along the axis lies apart in
/// more than one dimension.
Result<Contraction> FindContraction(const Expression& expression, int axis = -1);
/// ... for every axis that there can be vectors along, the innermost first.
/// Errors: kUnsupported if the expression has none.
Result<std::vector<Contraction>> FindContractions(const Expression& expression);

/// Has the main stage read operand `number` with a dimension innermost (-1: the one it is read
/// across): from a new stage "<buffer>.turned" before it.
void TransposeOperand(Contraction& contraction, std::size_t number, int dimension = -1);
/// ... or, a constant, from a parameter in its place in blocks of `block` elements of `dimension`;
/// gives its layout for KernelLayouts::weight.
std::string PackOperand(Contraction& contraction, std::size_t number, int dimension,
                        std::int64_t block);

}  // namespace tilewright
