#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/math.h"
#include "src/ir/stmt.h"
#include "src/tensor/compute/compute.h"

namespace tilewright {

/// Handle of a stage of one Schedule.
struct StageId {
  int index = -1;
  friend bool operator==(const StageId&, const StageId&) = default;
};
/// Handle of a loop (a leaf or a former leaf) of one Schedule.
struct LoopId {
  int index = -1;
  friend bool operator==(const LoopId&, const LoopId&) = default;
};

/// How the iterations of a split that does not divide the extent are kept inside it.
enum class Tail : std::uint8_t {
  kGuard,  ///< a condition around the body
  kPeel,   ///< the last outer iteration gets its own code with a shorter, constant inner extent
};

/// A Compute and the decisions on how to execute it. A schedule can make a program slow, never
/// wrong: an illegal primitive is refused, and the schedule remembers the first refusal.
///
/// Errors are sticky: after the first refusal every primitive does nothing and returns handles that
/// are safe to pass on; templates check status() once at the end.
/// Names (of stages) are those of the Compute, and of cache stages "<stage>.local" and the like.
class Schedule {
 public:
  explicit Schedule(Compute compute);

  const Status& status() const { return status_; }
  /// Marks the schedule illegal with a reason of the template's own.
  void Refuse(std::string reason);

  StageId Stage(std::string_view name);
  bool HasStage(std::string_view name) const;
  /// Leaf loop that is (the whole of) spatial axis `i` / reduction axis `i` of the stage.
  LoopId SpatialAxis(StageId stage, int i);
  LoopId ReductionAxis(StageId stage, int i);
  std::int64_t Extent(LoopId loop) const;
  /// Leaf loops, outermost first.
  std::vector<LoopId> Leaves(StageId stage) const;

  // --- loops of one stage -------------------------------------------------------------------
  /// (outer, inner); inner has extent min(factor, extent).
  std::pair<LoopId, LoopId> Split(StageId stage, LoopId loop, std::int64_t factor,
                                  Tail tail = Tail::kGuard);
  /// AutoTVM's split: factors[1..] are used, outermost first; returns factors.size() loops.
  std::vector<LoopId> SplitBy(StageId stage, LoopId loop, const std::vector<std::int64_t>& factors,
                              Tail tail = Tail::kGuard);
  /// Cuts the loop in `parts` runs of equal length (the last one may be shorter): outer has at most
  /// `parts` iterations, whatever part of the stage is computed.
  std::pair<LoopId, LoopId> SplitParts(StageId stage, LoopId loop, std::int64_t parts);
  /// Two adjacent leaves, outer first.
  LoopId Fuse(StageId stage, LoopId outer, LoopId inner);
  /// The given leaves take the places they occupy now, in the given order.
  void Reorder(StageId stage, const std::vector<LoopId>& order);
  void Parallel(StageId stage, LoopId loop);
  /// At most one per stage, innermost (but for loops of extent 1), not a reduction (use a dot
  /// intrinsic or rfactor for those).
  void Vectorize(StageId stage, LoopId loop);
  void Unroll(StageId stage, LoopId loop);
  /// To an index of the GPU's grid or block, or to a virtual thread. At most one loop of a stage
  /// per index, no reduction. A stage that is bound has global or shared memory. Shared memory
  /// holds what all threads of the block need of the stage, so its own loops are dealt to them
  /// anew.
  void Bind(StageId stage, LoopId loop, LoopKind thread);
  void VirtualThread(StageId stage, LoopId loop) { Bind(stage, loop, LoopKind::kVirtualThread); }
  /// Attribute for the back end: "auto_unroll_max_step", "unroll_explicit"
  void Pragma(StageId stage, LoopId loop, std::string name, std::int64_t value);
  /// Prefetch what the given input buffer is read at, `distance` iterations of `loop` ahead.
  void Prefetch(StageId stage, std::string_view buffer, LoopId loop, std::int64_t distance,
                int locality = 3);
  /// Replaces `loop` (the vector axis) and everything inside it, which must be one reduction loop
  /// of the intrinsic's depth, by the intrinsic (src/schedule/intrinsics.h).
  void Tensorize(StageId stage, LoopId loop, std::string_view intrinsic);

  // --- relations of stages --------------------------------------------------------------------
  /// Compute `stage` inside `loop` of a stage that reads it, or in which its readers are computed
  /// already: just the part that is needed there.
  void ComputeAt(StageId stage, StageId consumer, LoopId loop);
  void ComputeInline(StageId stage);
  /// A new stage that computes what `stage` did, into memory of the given scope; `stage` becomes a
  /// copy of it. Call before splitting.
  StageId CacheWrite(StageId stage, Scope scope);
  /// A new stage that copies `buffer` (input or stage output, by name) for the reader.
  StageId CacheRead(std::string_view buffer, Scope scope, StageId reader);
  /// A new stage of partial results: reduction axis `reduction` of the stage, cut into steps of
  /// `factor`, leaves one partial result per position inside a step, on a new innermost spatial
  /// axis of the new stage; `stage` then combines those. Where the factor is no divisor, the last
  /// step takes what changes nothing behind the end. Call before splitting.
  StageId RFactor(StageId stage, int reduction, std::int64_t factor);
  void SetScope(StageId stage, Scope scope);
  /// Zero padding by `select(inside, load, 0)` as a factor of a sum of products, or the padding of
  /// a maximum by its type's least value (inline it first): skip it. Conditions are placed in the
  /// outermost loop where they are known. Where the stage is computed in a serial loop of its
  /// consumer, the iterations without padding become a loop without conditions and the others code
  /// of their own; there, short kernel loops are unrolled where that makes the conditions constant.
  void SkipZeroTaps(StageId stage);
  /// Two copies of a stage in shared memory that is computed in a loop of its reader: while one is
  /// used the next one is made, with one barrier for each step instead of two.
  void DoubleBuffer(StageId stage);
  /// Has a function of a library compute the stage as a whole, in the place of its loops. It must
  /// read inputs of the Compute only. That the call computes what the stage says is the template's
  /// to know: it is the one primitive that can make a program wrong.
  void CallLibrary(StageId stage, LibraryCall call);
  /// `copies` (at least 2) copies of a stage in shared memory that is computed in a loop of its
  /// reader. The stage copies global memory, or zeros where that is padded, and does so
  /// asynchronously, `copies` - 1 steps ahead of the use: each access of 4, 8 or 16 bytes (a
  /// vectorized loop, or one element) is one instruction beside the arithmetic. For devices of
  /// kAsyncCopyCapability (src/schedule/async_copy.h) on; the loop has at least `copies` steps.
  void Pipeline(StageId stage, int copies);
  /// In what shared memory holds of the stage, so many elements are left out after every `rows`
  /// rows (innermost dimension): threads that read rows of the same phase meet in fewer banks.
  void PadRows(StageId stage, std::int64_t rows, std::int64_t elements);

  // --- for lowering, the summary and printing ---------------------------------------------------
  /// One primitive that was applied, as it can be applied again.
  enum class Primitive : std::uint8_t {
    kSplit,       ///< loops: the loop, outer, inner; number: factor
    kSplitParts,  ///< loops: the loop, outer, inner; number: parts
    kFuse,        ///< loops: outer, inner, the fused one
    kReorder,
    kAnnotate,  ///< kind
    kPragma,    ///< text, number
    kPrefetch,  ///< text: the buffer; number: distance, more: locality
    kTensorize,
    kComputeAt,  ///< other: the consumer
    kComputeInline,
    kCacheWrite,  ///< other: the new stage
    kCacheRead,   ///< text: the buffer; other: the new stage
    kRFactor,     ///< number: the reduction, more: the factor; other: the new stage
    kSetScope,
    kSkipZeroTaps,
    kDoubleBuffer,
    kCallLibrary,
    kPipeline,  ///< number: copies
    kPadRows,   ///< number: rows, more: elements
  };
  struct Step {
    Primitive primitive = Primitive::kSplit;
    StageId stage = {}, other = {};
    std::vector<LoopId> loops = {};
    std::int64_t number = 0, more = 0;
    Tail tail = Tail::kGuard;
    LoopKind kind = LoopKind::kSerial;
    Scope scope = Scope::kGlobal;
    std::string text = {};
  };
  /// All of them, in order.
  const std::vector<Step>& steps() const { return steps_; }
  enum class Attach : std::uint8_t { kRoot, kInline, kAt };
  struct LoopInfo {
    std::string name;
    std::int64_t extent = 0;
    bool reduction = false;
    LoopKind kind = LoopKind::kSerial;
    std::map<std::string, std::int64_t> pragmas;
  };
  struct Relation {  // of loops: how leaves came from axes, in order of creation
    enum class Kind : std::uint8_t { kSplit, kFuse } kind;
    LoopId parent, outer, inner;  // kSplit: parent -> outer, inner; kFuse: outer, inner -> parent
    std::int64_t factor = 0;      // kSplit: the requested inner extent; kFuse: extent of inner
    std::int64_t parts = 0;       // kSplit: if not 0, the requested outer extent counts instead
    Tail tail = Tail::kGuard;

    /// kSplit: extent of inner where the parent has `extent` iterations.
    std::int64_t InnerExtent(std::int64_t extent) const {
      return parts != 0 ? CeilDiv(extent, std::min(parts, extent)) : std::min(factor, extent);
    }
  };
  struct PrefetchInfo {
    std::string buffer;
    LoopId loop;
    std::int64_t distance;
    int locality;
  };
  struct StageInfo {
    ComputeOp op;  ///< op.output: what other bodies load; its scope is `scope` below
    /// Every load in op.body in its order, one that is there twice twice: nodes of the body.
    std::vector<const ExprNode*> loads;
    Scope scope = Scope::kGlobal;
    std::vector<LoopId> root;    // one per axis: spatial, then reduction
    std::vector<LoopId> leaves;  // outermost first
    std::vector<Relation> relations;
    Attach attach = Attach::kRoot;
    StageId consumer;
    LoopId at;
    LoopId tensorized;
    std::string intrinsic;
    std::vector<PrefetchInfo> prefetches;
    bool skip_zero_taps = false;
    bool double_buffer = false;
    std::optional<LibraryCall> library;
    int pipeline = 0;              // copies; 0: not asynchronous
    std::int64_t padded_rows = 1;  // after so many rows ...
    std::int64_t row_padding = 0;  // ... so many elements are left out

    /// Elements of memory that hold the part of the stage.
    std::int64_t HeldElements(const std::vector<std::int64_t>& part) const {
      const std::int64_t elements = Product(part);
      if (row_padding == 0) return elements;
      return elements + CeilDiv(elements / part.back(), padded_rows) * row_padding;
    }
  };
  const Compute& compute() const { return compute_; }
  const std::vector<StageInfo>& stages() const { return stages_; }  // by StageId
  const StageInfo& stage(StageId id) const { return stages_[static_cast<std::size_t>(id.index)]; }
  /// Every stage, producers before consumers; the last one is the result.
  const std::vector<StageId>& order() const { return order_; }
  /// Stage that computes a buffer; index -1 for an input of the Compute.
  StageId ProducerOf(const Buffer& buffer) const;
  const LoopInfo& loop(LoopId id) const { return loops_[static_cast<std::size_t>(id.index)]; }
  std::size_t loop_count() const { return loops_.size(); }
  /// Readable list of stages, loops and relations.
  std::string ToString() const;

 private:
  /// True if the schedule is still legal and the handle is one of its stages; else refuses.
  bool Usable(StageId stage, const char* primitive);
  /// Place of the loop among the leaves of the stage, or -1 after a refusal.
  int LeafOf(StageId stage, LoopId loop, const char* primitive);
  void RefuseStage(StageId stage, const char* primitive, std::string_view reason);
  std::pair<LoopId, LoopId> AddSplit(StageId stage, LoopId loop, Relation relation,
                                     const char* primitive);
  bool Annotate(StageId stage, LoopId loop, LoopKind kind, const char* primitive);
  LoopId NewLoop(std::string name, std::int64_t extent, bool reduction);
  void NewRootLoops(StageInfo* stage);
  StageInfo& Mutable(StageId id) { return stages_[static_cast<std::size_t>(id.index)]; }
  LoopInfo& Mutable(LoopId id) { return loops_[static_cast<std::size_t>(id.index)]; }
  static void SetBody(StageInfo* stage, Expr body);
  /// True if the stage, or one that is computed inside it, reads the buffer.
  bool ReadsWithin(StageId consumer, const Buffer& buffer) const;
  StageId InsertBefore(StageId place, StageInfo stage);

  Compute compute_;
  std::vector<StageInfo> stages_;
  std::vector<StageId> order_;
  std::vector<LoopInfo> loops_;
  std::vector<Step> steps_;
  Status status_;
};

}  // namespace tilewright
