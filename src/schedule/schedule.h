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

/// Handling of the last iterations of a split whose factor does not divide the extent.
enum class Tail : std::uint8_t {
  kGuard,  ///< a condition around the body
  kPeel,   ///< the last outer iteration gets its own code with a shorter, constant inner extent
};

/// Compute with the decisions on its execution. A schedule can make a program slow, never wrong:
/// the schedule rejects illegal primitives and stores the first error.
///
/// Errors are sticky: after the first error every primitive does nothing and returns handles that
/// are safe to pass on. Templates check status() once at the end.
/// Stages have the names of the Compute; cache stages are named "<stage>.local" and the like.
class Schedule {
 public:
  explicit Schedule(Compute compute);

  const Status& status() const { return status_; }
  /// Marks the schedule illegal with a reason given by the template.
  void Refuse(std::string reason);

  StageId Stage(std::string_view name);
  bool HasStage(std::string_view name) const;
  /// Returns the leaf loop that is (the whole of) spatial axis `i` / reduction axis `i` of the
  /// stage.
  LoopId SpatialAxis(StageId stage, int i);
  LoopId ReductionAxis(StageId stage, int i);
  std::int64_t Extent(LoopId loop) const;
  /// Returns the leaf loops, outermost first.
  std::vector<LoopId> Leaves(StageId stage) const;

  // --- loops of one stage -------------------------------------------------------------------
  /// Splits a loop into (outer, inner); inner has extent min(factor, extent).
  std::pair<LoopId, LoopId> Split(StageId stage, LoopId loop, std::int64_t factor,
                                  Tail tail = Tail::kGuard);
  /// Splits like AutoTVM: uses factors[1..], outermost first; returns factors.size() loops.
  std::vector<LoopId> SplitBy(StageId stage, LoopId loop, const std::vector<std::int64_t>& factors,
                              Tail tail = Tail::kGuard);
  /// Splits the loop into `parts` runs of equal length (the last one may be shorter). The outer
  /// loop has at most `parts` iterations, whatever part of the stage is computed.
  std::pair<LoopId, LoopId> SplitParts(StageId stage, LoopId loop, std::int64_t parts);
  /// Fuses two adjacent leaves, outer first.
  LoopId Fuse(StageId stage, LoopId outer, LoopId inner);
  /// Permutes the given leaves among their present positions, in the given order.
  void Reorder(StageId stage, const std::vector<LoopId>& order);
  void Parallel(StageId stage, LoopId loop);
  /// Vectorizes a loop. At most one per stage, innermost (apart from loops of extent 1), not a
  /// reduction (use a dot intrinsic or rfactor for those).
  void Vectorize(StageId stage, LoopId loop);
  void Unroll(StageId stage, LoopId loop);
  /// Binds a loop to an index of the GPU's grid or block, or to a virtual thread. At most one loop
  /// of a stage per index, no reduction. A bound stage has global or shared memory. Shared memory
  /// contains the data that all threads of the block need of the stage, and its own loops
  /// distribute the computation of these data across the threads again.
  void Bind(StageId stage, LoopId loop, LoopKind thread);
  void VirtualThread(StageId stage, LoopId loop) { Bind(stage, loop, LoopKind::kVirtualThread); }
  /// Sets an attribute for the back end: "auto_unroll_max_step", "unroll_explicit"
  void Pragma(StageId stage, LoopId loop, std::string name, std::int64_t value);
  /// Prefetches the elements that the given input buffer is read at `distance` iterations of `loop`
  /// later.
  void Prefetch(StageId stage, std::string_view buffer, LoopId loop, std::int64_t distance,
                int locality = 3);
  /// Replaces `loop` (the vector axis) and everything inside it, which must be one reduction loop
  /// of the intrinsic's depth, by the intrinsic (src/schedule/intrinsics.h).
  void Tensorize(StageId stage, LoopId loop, std::string_view intrinsic);

  // --- relations of stages --------------------------------------------------------------------
  /// Computes `stage` inside `loop` of a stage that reads it, or in which its readers are already
  /// computed. Computes only the part that is needed there.
  void ComputeAt(StageId stage, StageId consumer, LoopId loop);
  /// Keeps all that is computed of a stage inside a loop of its reader, so that stages which run
  /// after that reader, in the same loop around it, can read it, too. The parts of all iterations
  /// must be the whole that those stages read. Call after ComputeAt.
  void Keep(StageId stage);
  void ComputeInline(StageId stage);
  /// Adds a stage that computes the value of `stage` into memory of the given scope; `stage`
  /// becomes a copy of it. Call before splitting.
  StageId CacheWrite(StageId stage, Scope scope);
  /// Adds a stage that copies `buffer` (input or stage output, by name) for the reader.
  StageId CacheRead(std::string_view buffer, Scope scope, StageId reader);
  /// Adds a stage of partial results. Reduction axis `reduction` of the stage is split into steps
  /// of `factor`, with one partial result per position inside a step, on a new innermost spatial
  /// axis of the new stage; `stage` then combines the partial results. If the factor does not
  /// divide the extent, the last step is padded with the identity element. Call before splitting.
  StageId RFactor(StageId stage, int reduction, std::int64_t factor);
  void SetScope(StageId stage, Scope scope);
  /// Skips zero padding by `select(inside, load, 0)` as a factor of a sum of products, or the
  /// padding of a maximum by its type's minimum (inline it first). Conditions are placed in the
  /// outermost loop that determines them. If the stage is computed in a serial loop of its
  /// consumer, the iterations without padding become a loop without conditions and the others
  /// separate code. There, short kernel loops are unrolled if that makes the conditions constant.
  void SkipZeroTaps(StageId stage);
  /// Double-buffers a stage in shared memory that is computed in a loop of its reader. While one
  /// copy is used, the next one is computed, with one barrier per step instead of two.
  void DoubleBuffer(StageId stage);
  /// Computes the whole stage by a library function instead of its loops. The stage must read only
  /// inputs of the Compute. The template is responsible for the equivalence of call and stage: this
  /// is the only primitive that can make a program wrong.
  void CallLibrary(StageId stage, LibraryCall call);
  /// Allocates `copies` (at least 2) copies of a stage in shared memory that is computed in a loop
  /// of its reader. The stage copies global memory, or zeros for padding. It does so
  /// asynchronously, `copies` - 1 steps before the use: each access of 4, 8 or 16 bytes (a
  /// vectorized loop, or one element) is one instruction in parallel to the arithmetic. Requires a
  /// device with kAsyncCopyCapability (src/schedule/async_copy.h) and a loop of at least `copies`
  /// steps.
  void Pipeline(StageId stage, int copies);
  /// Skips `elements` elements after every `rows` rows (innermost dimension) in the stage's shared
  /// memory. Threads that read rows of the same phase then cause fewer bank conflicts.
  void PadRows(StageId stage, std::int64_t rows, std::int64_t elements);

  // --- for lowering, the summary and printing ---------------------------------------------------
  /// Applied primitive with the arguments to apply it again.
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
    kKeep,
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
  /// Returns all applied primitives, in order.
  const std::vector<Step>& steps() const { return steps_; }
  enum class Attach : std::uint8_t { kRoot, kInline, kAt };
  struct LoopInfo {
    std::string name;
    std::int64_t extent = 0;
    bool reduction = false;
    LoopKind kind = LoopKind::kSerial;
    std::map<std::string, std::int64_t> pragmas;
  };
  struct Relation {  // between loops: derivation of leaves from axes, in order of creation
    enum class Kind : std::uint8_t { kSplit, kFuse } kind;
    LoopId parent, outer, inner;  // kSplit: parent -> outer, inner; kFuse: outer, inner -> parent
    std::int64_t factor = 0;      // kSplit: the requested inner extent; kFuse: extent of inner
    std::int64_t parts = 0;       // kSplit: if not 0, the requested outer extent is used instead
    Tail tail = Tail::kGuard;

    /// kSplit: returns the extent of inner if the parent has `extent` iterations.
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
    ComputeOp op;  ///< op.output: buffer that other bodies load; its scope is `scope` below
    /// Every load in op.body in order, including repeated ones: nodes of the body.
    std::vector<const ExprNode*> loads;
    Scope scope = Scope::kGlobal;
    std::vector<LoopId> root;    // one per axis: spatial, then reduction
    std::vector<LoopId> leaves;  // outermost first
    std::vector<Relation> relations;
    Attach attach = Attach::kRoot;
    StageId consumer;
    LoopId at;
    bool keep = false;  ///< its memory is allocated where `consumer` is computed
    LoopId tensorized;
    std::string intrinsic;
    std::vector<PrefetchInfo> prefetches;
    bool skip_zero_taps = false;
    bool double_buffer = false;
    std::optional<LibraryCall> library;
    int pipeline = 0;              // copies; 0: not asynchronous
    std::int64_t padded_rows = 1;  // after this many rows ...
    std::int64_t row_padding = 0;  // ... this many elements are skipped

    /// Returns the number of elements of memory that contain the part of the stage.
    std::int64_t HeldElements(const std::vector<std::int64_t>& part) const {
      const std::int64_t elements = Product(part);
      if (row_padding == 0) return elements;
      return elements + CeilDiv(elements / part.back(), padded_rows) * row_padding;
    }
  };
  const Compute& compute() const { return compute_; }
  const std::vector<StageInfo>& stages() const { return stages_; }  // by StageId
  const StageInfo& stage(StageId id) const { return stages_[static_cast<std::size_t>(id.index)]; }
  /// Returns all stages, producers before consumers; the last one is the result.
  const std::vector<StageId>& order() const { return order_; }
  /// Returns the stage that computes a buffer; index -1 for an input of the Compute.
  StageId ProducerOf(const Buffer& buffer) const;
  const LoopInfo& loop(LoopId id) const { return loops_[static_cast<std::size_t>(id.index)]; }
  std::size_t loop_count() const { return loops_.size(); }
  /// Formats a readable list of stages, loops and relations.
  std::string ToString() const;

 private:
  /// Returns true if the schedule is legal and the handle is one of its stages; else records an
  /// error.
  bool Usable(StageId stage, const char* primitive);
  /// Returns the position of the loop among the leaves of the stage; records an error and returns
  /// -1 if it is not one.
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
  /// Returns true if the stage, or one that is computed inside it, reads the buffer.
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
