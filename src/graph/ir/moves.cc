#include "src/graph/ir/moves.h"

namespace tilewright {

bool OnlyMoves(OpKind kind) {
  switch (kind) {
    case OpKind::kIdentity:
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kSlice:
    case OpKind::kGather:
    case OpKind::kBroadcastTo:
      return true;
    default:
      return false;
  }
}

}  // namespace tilewright
