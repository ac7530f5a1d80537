// Copies to shared memory one step ahead of their use.
//
//   for k in 0..n:
//     allocate S; S = copy(k); use(S, k)
// becomes, with two alternating buffers,
//   allocate S, T; S = copy(0)
//   for k in 0..n/2:
//     T = copy(2k + 1); use(S, 2k); S = copy(2k + 2); use(T, 2k + 1)
// and, for an odd n, a last use(S, n - 1). A step needs one barrier instead of two, and its loads
// overlap with the arithmetic of the previous step. PlaceBarriers places the barriers later.

#include "src/schedule/lower/copy_loop.h"
#include "src/schedule/lower/gpu_passes.h"
#include "src/schedule/lower/remap_buffers.h"

namespace tilewright {
namespace {

Stmt Unfold(const StmtNode& loop, const CopyLoop& match) {
  BufferRemaps turns[2];  // buffers of the copies in step 0 and step 1 of a pair
  std::vector<Buffer> buffers = match.allocated;
  for (const Buffer& buffer : match.copied) {
    buffers.push_back(
        MakeBuffer(buffer->name + ".next", buffer->dtype, buffer->shape, buffer->scope));
    turns[1][buffer.get()] = {buffers.back()};
  }
  const auto add = [&](const std::vector<Stmt>& parts, const Expr& step, int turn,
                       std::vector<Stmt>* out) {
    for (const Stmt& part : parts) {
      out->push_back(Duplicate(part, {{loop.var.get(), step}}, turns[turn]));
    }
  };
  const std::int64_t pairs = loop.extent / 2;
  const bool odd = loop.extent % 2 != 0;
  const Expr pair = pairs == 1 ? Expr(0) : MakeVar(loop.var->name);
  const Expr step = pair * Expr(2);
  std::vector<Stmt> body;
  add(match.copies, step + Expr(1), 1, &body);
  add(match.rest, step, 0, &body);
  std::vector<Stmt> next;
  add(match.copies, step + Expr(2), 0, &next);
  if (odd) {
    body.insert(body.end(), next.begin(), next.end());
  } else if (pairs > 1) {
    body.push_back(MakeIf(Lt(pair, Expr(pairs - 1)), MakeBlock(std::move(next))));
  }
  add(match.rest, step + Expr(1), 1, &body);

  std::vector<Stmt> code;
  add(match.copies, Expr(0), 0, &code);
  Stmt steps = MakeBlock(std::move(body));
  if (pairs > 1 || !loop.attributes.empty()) {
    const Expr var = pairs > 1 ? pair : MakeVar(loop.var->name);
    steps = MakeFor(var, pairs, LoopKind::kSerial, std::move(steps), loop.attributes);
  }
  code.push_back(std::move(steps));
  if (odd) add(match.rest, Expr(loop.extent - 1), 0, &code);
  return AllocateAll(buffers, MakeBlock(std::move(code)));
}

}  // namespace

Stmt DoubleBuffers(const Stmt& stmt, const std::vector<Buffer>& marked) {
  std::vector<Buffer> left = marked;
  return marked.empty() ? stmt : UnfoldCopyLoops(stmt, &left, Unfold);
}

}  // namespace tilewright
