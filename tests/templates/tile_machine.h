#pragma once

#include <string>

#include "src/base/status.h"
#include "src/ir/stmt.h"
#include "src/target/target.h"

namespace tilewright {

// Tile registers (AMX) in memory, for CPUs without them: the rules of Intel's architecture manual,
// palette 1. Each thread has its own registers.

/// Compiles a program for `target`, whose tile instructions become calls of functions that work on
/// the registers in memory; all other code runs on this machine.
/// Errors: those of Generate; kInternal for a tile instruction that the functions lack.
Result<std::string> ObjectWithTileMachine(const Program& program, const Target& target);

/// Events of all threads since the last call of TakeTileEvents.
struct TileEvents {
  std::string
      fault;  ///< first violation of a rule, where the CPU would raise an exception; or empty
  int configurations = 0, products = 0, releases = 0;
};
TileEvents TakeTileEvents();

}  // namespace tilewright
