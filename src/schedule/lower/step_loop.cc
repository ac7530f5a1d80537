// States lie in memory of their own between the steps: a step reads the old ones while it makes the
// new ones, which are copied there when it is done.
#include "src/schedule/lower/step_loop.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/schedule/lower/redirect.h"

namespace tilewright {
namespace {

Buffer InFront(const Buffer& buffer, std::int64_t extent) {
  std::vector<std::int64_t> shape = buffer->shape;
  shape.insert(shape.begin(), extent);
  return MakeBuffer(buffer->name, buffer->dtype, std::move(shape));
}

/// to[prefix, …] = from[prefix, …]
Stmt CopyWhole(const Redirection& to, const Redirection& from,
               const std::vector<std::int64_t>& shape) {
  std::vector<Expr> vars;
  for (std::size_t i = 0; i < shape.size(); ++i) vars.push_back(MakeVar("i" + std::to_string(i)));
  const auto index = [&](std::vector<Expr> place) {
    place.insert(place.end(), vars.begin(), vars.end());
    return place;
  };
  Stmt copy = MakeStore(to.buffer, index(to.prefix), MakeLoad(from.buffer, index(from.prefix)));
  for (std::size_t i = shape.size(); i-- > 0;) {
    const LoopKind kind = i + 1 == shape.size() ? LoopKind::kVectorized : LoopKind::kSerial;
    copy = MakeFor(vars[i], shape[i], kind, std::move(copy));
  }
  return copy;
}

}  // namespace

Program RepeatSteps(const Program& step, const StepLoop& loop) {
  std::vector<Buffer> allocated;
  Stmt body = step.body;
  for (; body->kind == StmtKind::kAllocate; body = body->body[0]) allocated.push_back(body->buffer);

  const Expr var = MakeVar("step");
  const Expr row = loop.backwards ? Expr(loop.steps - 1) - var : var;
  const auto states = static_cast<std::int64_t>(loop.next.size());
  Program whole{step.name, step.parameters, step.output_count, {}};
  Redirections buffers;
  for (std::size_t i = 0; i < loop.sliced; ++i) {
    whole.parameters[i] = InFront(step.parameters[i], loop.steps);
    buffers[step.parameters[i].get()] = {whole.parameters[i], {row}};
  }
  const Buffer own_result = step.parameters.back();
  const Buffer result = InFront(own_result, loop.steps + states);
  whole.parameters.back() = result;
  buffers[own_result.get()] = {result, {row}};

  std::vector<Stmt> first, each, last;
  for (std::size_t i = 0; i < loop.next.size(); ++i) {
    const Buffer& given = step.parameters[loop.sliced + i];
    const Buffer state = MakeBuffer("state" + std::to_string(i), given->dtype, given->shape);
    allocated.push_back(state);
    buffers[given.get()] = {state};
    const bool is_result = loop.next[i] == own_result;
    const Redirection next = is_result ? Redirection{result, {row}} : Redirection{loop.next[i]};
    const auto behind = loop.steps + static_cast<std::int64_t>(i);
    first.push_back(CopyWhole({state}, {given}, given->shape));
    each.push_back(CopyWhole({state}, next, given->shape));
    last.push_back(CopyWhole({result, {Expr(behind)}}, {state}, given->shape));
  }
  each.insert(each.begin(), Redirect(body, {}, buffers));
  first.push_back(MakeFor(var, loop.steps, LoopKind::kSerial, MakeBlock(std::move(each))));
  first.insert(first.end(), last.begin(), last.end());
  whole.body = MakeBlock(std::move(first));
  for (const Buffer& buffer : allocated) whole.body = MakeAllocate(buffer, std::move(whole.body));
  return whole;
}

}  // namespace tilewright
