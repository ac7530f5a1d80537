#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "src/ir/stmt.h"

namespace tilewright {

// Loops over the entries of an open dimension, whose number only the run has. Both are statements
// of kind kFor with members that other loops leave empty; the back end for CPUs takes them.

/// Creates a loop with `count` iterations, a run-time value from 1 to `extent`: a kFor with
/// `value`.
Stmt MakeOpenFor(Expr var, Expr count, std::int64_t extent, LoopKind loop, Stmt body,
                 std::map<std::string, std::int64_t> attributes = {});

/// Creates a variable with a run-time value in [0, extent): a serial kFor over the one value in
/// `indices`.
Stmt MakeLet(Expr var, Expr value, std::int64_t extent, Stmt body);
/// Returns true for the result of MakeLet.
inline bool IsLet(const StmtNode& stmt) {
  return stmt.kind == StmtKind::kFor && !stmt.indices.empty();
}

}  // namespace tilewright
