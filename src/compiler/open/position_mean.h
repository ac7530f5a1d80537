#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/compiler/open/position_program.h"
#include "src/ir/stmt.h"

namespace tilewright {

/// Mean of float32 over all positions of a tensor, and over some dimensions outside of them.
struct PositionMean {
  PositionRows rows;        ///< of the operand
  std::int64_t begin = 0;   ///< elements of a row before the first position
  std::int64_t joined = 1;  ///< neighbouring rows that are one result
  PositionCount count;      ///< of the operand
  std::int64_t most = 1;    ///< positions
  bool parallel = false;
};

/// Returns the kernel. Its parameters are the size of the dimension (one int64), the operand, and
/// the result, which has the elements of one position in one of each `joined` rows.
Program MakePositionMean(const PositionMean& mean);

}  // namespace tilewright
