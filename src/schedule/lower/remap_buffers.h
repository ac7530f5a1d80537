#pragma once

// Internal to src/schedule: replacement of buffers in statements.

#include <unordered_map>
#include <vector>

#include "src/ir/stmt.h"
#include "src/ir/visit.h"

namespace tilewright {

/// Replacement of a buffer: another one, with additional leading indices.
struct BufferRemap {
  Buffer buffer;
  std::vector<Expr> prefix = {};
};
using BufferRemaps = std::unordered_map<const BufferNode*, BufferRemap>;

/// Returns the statement with variables and buffers replaced, also in nested statements.
Stmt RemapBuffers(const Stmt& stmt, const Substitution& vars, const BufferRemaps& buffers);

/// Like RemapBuffers, but also replaces the buffers allocated inside the statement by new ones, so
/// that the copy and the original can be parts of one program.
Stmt Duplicate(const Stmt& stmt, const Substitution& vars, BufferRemaps buffers);

}  // namespace tilewright
