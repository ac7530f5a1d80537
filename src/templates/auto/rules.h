#pragma once

#include "src/templates/registry.h"

namespace tilewright {

// Spaces that follow from what an expression computes, by rules: each is a template of its own,
// with its key, for all expressions that have the structure it looks for.

/// What the rules have in common: they serve expressions, on targets with CPU features or a grid.
std::string RefusesAnyExpression(const Workload& workload, const Target& target);
/// Whether a stage of the expression sums, or looks for an extreme or its place.
bool HasReduction(const Expression& expression);

/// `auto.cpu/fixed`, `auto.cuda/fixed`: the schedule of operators that are not tuned, as the only
/// config. Nothing that is tuned gets slower than it.
struct AutoFixed {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// `auto.cpu/flat`: every stage over its own loops, vectors along the innermost axis; sums in
/// registers inside of what finishes them, or row by row. Knobs: lanes, joined (neighbouring
/// dimensions as one), across (blocks of rows turned in registers), repeat (vectors written out);
/// with reductions tile (vectors of sums in registers), unroll, rows, blocks (sums of sums).
struct AutoFlat {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// `auto.cpu/tiles`: a contraction in register tiles, with what follows it element by element.
/// Knobs: tile (the axis of the result that vectors are along, steps of up to two other axes,
/// vectors), mid_<axis> (about how many steps of the axis belong to one cached tile), innermost
/// (which axis those go on along), unroll (of the reduction), window (short reduced axes written
/// out), operands (what a stage makes of them: before, for a cached tile or where they are read),
/// pack (a constant operand as the tiles read it).
struct AutoTiles {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// `auto.cpu/windows`: windows that move over pictures, one for each other axis of the result, by
/// joined rows (joined_rows.h) or columns of some rows. Knobs: tile (rows, columns in registers;
/// rows joined: 1), band (rows of which a padded picture is made at a time), picture (where it is
/// made: in a local buffer, all before, or where it is read), write_out (all taps, or those of the
/// innermost axis), turn_windows (the outermost axis of the windows innermost).
struct AutoWindows {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
  /// Where windows multiply: a row of data is read once for all rows of the result that need it.
  static bool IsPreferred(const Workload& workload, const Target& target);
};

/// `auto.cuda/tiles`: a contraction in blocks, virtual threads and threads, with what follows it
/// element by element. Knobs: tile_<axis> (blocks, virtual threads, threads, sums of a thread, of
/// up to four axes of the result), reduce_<axis> (steps, and what one step adds, of up to four
/// reduced axes), shared_<operand> (whether a step's part of the operand, one of up to four, is
/// copied to shared memory, by all threads together), copy_bytes (of one access of a thread there),
/// copies (there: 1, or several that are made ahead of their use; like copy_bytes without effect
/// where no operand is there), made_before (operands that a stage makes are made by a launch of
/// their own, not where they are read), auto_unroll_max_step, unroll_explicit.
struct AutoTilesCuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// `auto.cuda/mma`: a contraction that is a matrix product of tensor cores, or a grid of them, with
/// the knobs of the templates for those (cuda/mma.h).
struct AutoMmaCuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

/// `auto.cuda/flat`: every stage a launch over its own elements, or whole rows of the result in
/// one. Knobs: threads (of a block), elements (of a thread; launches of elements alone), vector
/// (neighbours in one access; not in launches of sums), joined (neighbouring dimensions as one);
/// with reductions row_threads (that share a sum, or a row), rows (all stages of a row in one
/// block, where one fits), blocks (sums of sums).
struct AutoFlatCuda {
  static std::string Refuses(const Workload& workload, const Target& target);
  static Result<ConfigSpace> DefineSpace(const Workload& workload, const Target& target);
  static Result<Config> DefaultConfig(const Workload& workload, const Target& target);
  static Result<Kernel> Apply(const Workload& workload, const Epilogue& epilogue,
                              const Target& target, const Config& config);
};

}  // namespace tilewright
