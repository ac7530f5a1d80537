// Asynchronous copies to shared memory, prefetched by several steps.
//
//   for k in 0..e:
//     allocate S; S = copy(k); use(S, k)
// becomes, with n copies of S in one buffer,
//   allocate S[n]
//   S[0] = copy(0); commit; ... S[n - 2] = copy(n - 2); commit         data of the first steps
//   for k in 0..e:
//     wait for all groups but n - 2                                    data of step k arrived
//     if k < e - (n - 1): S[(k + n - 1) % n] = copy(k + n - 1)
//     commit
//     use(S[k % n], k)
// The last n - 1 steps copy nothing and commit empty groups, so that the wait has the same count in
// all steps. PlaceBarriers places one barrier per step, after its wait. After the barrier the
// copies of all threads have arrived, and the memory used by step k - 1 may be written again.

#include "src/base/math.h"
#include "src/schedule/async_copy.h"
#include "src/schedule/launch.h"
#include "src/schedule/lower/copy_loop.h"
#include "src/schedule/lower/gpu_passes.h"
#include "src/schedule/lower/remap_buffers.h"

namespace tilewright {
namespace {

/// Creates memory for several copies, each aligned like shared memory itself.
Buffer MakeRing(const Buffer& buffer, int copies) {
  const std::int64_t bytes = buffer->dtype.bytes();
  const std::int64_t elements = RoundUp(buffer->bytes(), kSharedAlignment) / bytes;
  return MakeBuffer(buffer->name, buffer->dtype, {copies, elements}, buffer->scope);
}

class Pipeliner {
 public:
  explicit Pipeliner(const std::vector<PipelinedBuffer>& marked) {
    for (const PipelinedBuffer& one : marked) {
      buffers_.push_back(one.buffer);
      copies_[one.buffer.get()] = one.copies;
    }
  }

  Stmt Visit(const Stmt& stmt) {
    return UnfoldCopyLoops(stmt, &buffers_, [&](const StmtNode& loop, const CopyLoop& match) {
      return Unfold(loop, match);
    });
  }

  /// Reports buffers that could not be pipelined.
  Status Finish() const {
    TW_RETURN_IF_ERROR(status_);
    if (buffers_.empty()) return {};
    return InvalidArgument("pipeline of '" + buffers_.front()->name +
                           "': no loop of several steps copies to it and uses it");
  }

 private:
  Stmt Unfold(const StmtNode& loop, const CopyLoop& match) {
    const int copies = copies_.at(match.copied.front().get());
    for (const Buffer& buffer : match.copied) {
      if (copies_.at(buffer.get()) != copies) {
        status_ = InvalidArgument("pipelines of one loop have " + std::to_string(copies) + " and " +
                                  std::to_string(copies_.at(buffer.get())) + " copies");
      }
    }
    if (loop.extent < copies) {
      status_ = InvalidArgument("a pipeline of " + std::to_string(copies) + " copies, but " +
                                std::to_string(loop.extent) + " steps");
    }
    const std::int64_t ahead = copies - 1;
    for (const Buffer& buffer : match.copied) rings_[buffer.get()] = MakeRing(buffer, copies);
    std::vector<Stmt> code;
    for (std::int64_t step = 0; step < ahead; ++step) {
      AddParts(match.copies, loop.var, Expr(step), Expr(step), &code);
      code.push_back(MakeAsyncCommit());
    }
    const Expr later = loop.var + Expr(ahead);
    std::vector<Stmt> next, body = {MakeAsyncWait(copies - 2, Arrived(match))};
    AddParts(match.copies, loop.var, later, FloorMod(later, Expr(copies)), &next);
    body.push_back(
        MakeIf(Lt(loop.var, Expr(loop.extent - ahead)), MarkAhead(MakeBlock(std::move(next)))));
    body.push_back(MakeAsyncCommit());
    AddParts(match.rest, loop.var, loop.var, FloorMod(loop.var, Expr(copies)), &body);
    code.push_back(MakeFor(loop.var, loop.extent, LoopKind::kSerial, MakeBlock(std::move(body)),
                           loop.attributes));
    std::vector<Buffer> buffers = match.allocated;
    for (Buffer& buffer : buffers) {
      if (const auto ring = rings_.find(buffer.get()); ring != rings_.end()) buffer = ring->second;
    }
    return AllocateAll(buffers, MakeBlock(std::move(code)));
  }

  /// Adds the parts for step `step`, on one copy of each buffer.
  void AddParts(const std::vector<Stmt>& parts, const Expr& var, const Expr& step, const Expr& copy,
                std::vector<Stmt>* out) const {
    BufferRemaps places;
    for (const auto& [buffer, ring] : rings_) places[buffer] = {ring, {copy}};
    for (const Stmt& part : parts) {
      out->push_back(Duplicate(part, {{var.get(), step}}, places));
    }
  }

  std::vector<Region> Arrived(const CopyLoop& match) const {
    std::vector<Region> arrived;
    for (const Buffer& buffer : match.copied) {
      const Buffer& ring = rings_.at(buffer.get());
      arrived.push_back({ring, {Expr(0), Expr(0)}, ring->shape});
    }
    return arrived;
  }

  std::vector<Buffer> buffers_;                        // not pipelined yet
  std::unordered_map<const BufferNode*, int> copies_;  // requested numbers
  std::unordered_map<const BufferNode*, Buffer> rings_;
  Status status_;
};

}  // namespace

Result<Stmt> PipelineCopies(const Stmt& stmt, const std::vector<PipelinedBuffer>& marked) {
  if (marked.empty()) return stmt;
  Pipeliner pipeliner(marked);
  Stmt changed = pipeliner.Visit(stmt);
  TW_RETURN_IF_ERROR(pipeliner.Finish());
  return changed;
}

}  // namespace tilewright
