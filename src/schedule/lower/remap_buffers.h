#pragma once

// Internal to src/schedule: statements on other memory.

#include <unordered_map>
#include <vector>

#include "src/ir/stmt.h"
#include "src/ir/visit.h"

namespace tilewright {

/// What takes a buffer's place: another one, with more indices in front of its own.
struct BufferRemap {
  Buffer buffer;
  std::vector<Expr> prefix = {};
};
using BufferRemaps = std::unordered_map<const BufferNode*, BufferRemap>;

/// The statement with variables and buffers replaced, in everything inside it, too.
Stmt RemapBuffers(const Stmt& stmt, const Substitution& vars, const BufferRemaps& buffers);

/// ... and with new buffers for those allocated inside it, so that it and the original can be parts
/// of one program.
Stmt Duplicate(const Stmt& stmt, const Substitution& vars, BufferRemaps buffers);

}  // namespace tilewright
