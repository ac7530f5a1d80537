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
  Compute compute;        ///< neighbouring dimensions joined (src/tensor/expression/collapse.h)
  std::size_t main = 0;   ///< position of the stage
  int vector_axis = 0;    ///< its innermost axis of more than one element
  std::vector<int> rows;  ///< up to two other axes, of which a few steps are in registers
  /// What the main stage loads that has its elements for neighbours along vector_axis apart in
  /// memory, and along one dimension: number of the dimension, by load; -1 for the others.
  struct Operand {
    Buffer buffer;
    std::vector<bool> has_axis;  ///< by axis of the result: whether it is read anew along it
    int across = -1;
    int input = -1;          ///< of the expression; -1 for a stage's
    bool constant = false;   ///< the input is known when code is made
    int row_dimension = -1;  ///< that rows[0] or rows[1] is the index of, by itself
    int row_axis = -1;
  };
  std::vector<Operand> operands;

  const ComputeOp& op() const { return compute.stages[main]; }
  std::int64_t extent(int axis) const { return op().axes[static_cast<std::size_t>(axis)].extent; }
};

/// Errors: kUnsupported if the expression has none.
Result<Contraction> FindContraction(const Expression& expression);

/// Steps of each of `rows`, then vectors along vector_axis: what is in registers at a time.
using RegisterTile = std::vector<std::int64_t>;
/// Those that fit into the registers.
std::vector<RegisterTile> RegisterTiles(const Contraction& contraction, const CpuFeatures& features,
                                        std::int64_t lanes);
/// The one that by a count of loads and multiply-adds keeps a core busiest.
RegisterTile BestRegisterTile(const Contraction& contraction, const CpuFeatures& features,
                              std::int64_t lanes);

/// Has the main stage read operand `number` with the dimension it is read across innermost: from a
/// new stage "<buffer>.turned" before it.
void TurnOperand(Contraction& contraction, std::size_t number);
/// ... or, a constant, from a parameter in its place in blocks of `block` elements of `dimension`;
/// gives its layout for AnchorForm::weight.
std::string PackOperand(Contraction& contraction, std::size_t number, int dimension,
                        std::int64_t block);

}  // namespace tilewright
