#pragma once

// Internal to src/schedule: loop construction of Lower. nest.cc makes the loops of one stage,
// attach.cc infers the part of a stage that is needed at its attach point, body.cc makes the
// innermost statements.

#include <optional>
#include <string>
#include <vector>

#include "src/ir/simplify.h"
#include "src/ir/stmt.h"
#include "src/ir/visit.h"
#include "src/schedule/loops.h"
#include "src/schedule/lower/gpu_passes.h"
#include "src/schedule/lower/lower.h"
#include "src/schedule/lower/region.h"
#include "src/schedule/schedule.h"

namespace tilewright {

/// Loops of one stage during emission, from the outermost in. Copied where the code forks:
/// initialisation and update of a reduction, full tiles and tail.
struct Nest {
  /// Part of a reduction to emit: both parts up to the outermost reduction loop, then one after the
  /// other.
  enum class Part : std::uint8_t { kWhole, kInit, kUpdate };
  struct Guard {
    Expr condition;            // null: always true
    std::size_t depth = 0;     // number of leaves that determine all its variables
    bool update_only = false;  // skips products, or applies to a reduction loop
  };

  StageId stage;
  const Schedule::StageInfo* info;
  StageLoops loops;
  std::vector<Expr> origin;  // per spatial axis: first index of the part that is computed
  std::vector<std::int64_t> part_extents;                // per spatial axis
  std::vector<std::pair<LoopId, Expr>> fixed;            // loops with a value fixed by peeling
  std::vector<std::pair<LoopId, std::int64_t>> offsets;  // first iteration of partitioned leaves
  Expr body;                                             // without the taps below
  std::vector<Expr> taps;                                // conditions of nonzero products
  Part part = Part::kWhole;

  // Updated when extents change:
  std::vector<Expr> leaf;         // per leaf: its variable, or a constant
  std::vector<Expr> loop_values;  // per loop of the schedule
  std::vector<Expr> local;        // per spatial axis: index within the part
  std::vector<Expr> axis;         // per axis, spatial then reduction: index in the whole
  std::vector<Guard> guards;      // same order in every copy
  std::vector<bool> emitted;      // per guard
};

class Lowering {
 public:
  Lowering(const Schedule& schedule, const LowerLimits& limits);
  Result<Program> Run(std::string name);

 private:
  struct Realized {
    Buffer buffer;
    std::vector<Expr> origin;                   // first index of each dimension of the part
    std::vector<std::int64_t> shape;            // of the part; the buffer itself may be flat
    const Schedule::StageInfo* info = nullptr;  // of an attached stage, whose rows may be padded
  };
  struct Part {  // part of a stage's output
    std::vector<Expr> min;
    std::vector<std::int64_t> extent;
  };

  /// Ranges of a stage's axes while loops run.
  struct AxisBoxes {
    BoxMap axes, loops;
    Substitution values;  // axes as expressions of the loops; empty if the boxes are exact
  };

  // nest.cc
  Stmt EmitStage(StageId stage, const Part& part);
  Stmt EmitLibraryCall(StageId stage);
  void Refresh(Nest* nest, std::size_t from);
  void RefreshValues(Nest* nest);
  void RefreshGuards(Nest* nest);
  Stmt EmitLevel(Nest* nest, std::size_t p, bool entered);
  std::optional<Stmt> EmitPeeledBranch(Nest* nest, std::size_t p, bool entered);
  std::optional<Stmt> EmitPeeledLoop(Nest* nest, std::size_t p);
  Expr TakeGuards(Nest* nest, std::size_t p);
  Stmt EmitLoop(Nest* nest, std::size_t p);
  Stmt EmitFor(Nest* nest, std::size_t p);
  bool WantsPeel(const Nest& nest, std::size_t relation) const;
  bool Active(const Nest& nest, const Nest::Guard& guard) const;

  LoopKind KindOf(const Nest& nest, std::size_t p) const;

  // loop_partition.cc
  bool IsDecidedByUnrolling(const Nest& nest, std::size_t p, const Nest::Guard& guard) const;
  Stmt EmitPartition(Nest* nest, std::size_t p);
  std::optional<Interval> InteriorOf(const Nest& nest, std::size_t p);
  bool ShrinkInterior(const Expr& condition, const ComputeOp& op, const Part& part, const Expr& var,
                      Interval* inside);

  // attach.cc
  Stmt EmitAttached(Nest* nest, std::size_t p);
  std::vector<std::optional<Part>> NeededParts(const Nest& nest, std::size_t p);
  std::optional<Box> BoxOfIndex(const Expr& index, const AxisBoxes& boxes) const;
  bool CoversKept(const Nest& nest, std::size_t p, const Part& part, const Realized& whole);
  void GrowPart(const Expr& load, const AxisBoxes& boxes, bool shared, std::optional<Part>* part);

  // body.cc
  std::vector<Expr> IndicesOf(const Realized& realized, std::vector<Expr> local);
  Expr RewriteBody(const Expr& expr, const Nest& nest);
  Stmt EmitBody(const Nest& nest);
  Stmt EmitDot(const Nest& nest, std::size_t p);
  bool IsBoundOf(const Expr& load, const Expr& along, const Expr& condition);
  std::optional<Region> DotRegion(const Expr& load, const Nest& nest, std::size_t p,
                                  std::int64_t lane_stride, std::int64_t depth_stride);
  // mma.cc
  Stmt EmitMma(const Nest& nest, std::size_t p);
  std::optional<Region> RunOf(const Expr& load, const Expr& along, std::int64_t extent);

  // tiles.cc
  Stmt EmitTiles(const Nest& nest, std::size_t p);
  std::optional<Region> TileRegion(const Nest& nest, std::size_t p, const Expr& load,
                                   std::vector<std::int64_t>* strides);

  // body.cc
  Stmt EmitAsyncCopy(const Nest& nest, std::size_t p);
  std::int64_t AlignmentOf(const Region& region);
  void AppendPrefetches(const Nest& nest, std::size_t p, std::vector<Stmt>* out);

  Stmt Fail(const std::string& reason);
  Stmt FailStage(const Nest& nest, const std::string& reason);

  const Schedule& schedule_;
  LowerLimits limits_;
  Ranges ranges_;
  std::vector<Realized> realized_;  // per stage
  // Per stage, for each level of loops around its attach point that emitted one of its producers:
  // the part that this producer covers. The part computed at the attach point is a box again and
  // can exceed it, although the elements that are really needed do not.
  std::vector<std::vector<Part>> allowed_;
  BoxMap threads_;                // loops over real or virtual threads around the current code
  std::int64_t local_bytes_ = 0;  // allocated around the current code
  std::int64_t workspace_bytes_ = 0;
  std::vector<Buffer> doubled_;  // memory of stages with two copies
  std::vector<PipelinedBuffer> pipelined_;
  Status status_;
};

}  // namespace tilewright
