#include "src/graph/ir/data_movement.h"

namespace tilewright {

bool IsDataMovement(OpKind kind) {
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

bool IsRearrangement(OpKind kind) {
  return kind == OpKind::kReshape || kind == OpKind::kTranspose || kind == OpKind::kSlice ||
         kind == OpKind::kIdentity;
}

}  // namespace tilewright
