// States have separate memory between the steps. A step reads the old states while it computes the
// new ones, which are copied there at its end. Weights slightly larger than a cache are read in
// alternating directions, so that the cache still has those that the previous step read last.
#include "src/schedule/lower/recurrence_loop.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/base/math.h"
#include "src/ir/open_loop.h"
#include "src/schedule/lower/remap_buffers.h"

namespace tilewright {
namespace {

Buffer InFront(const Buffer& buffer, std::int64_t extent) {
  std::vector<std::int64_t> shape = buffer->shape;
  shape.insert(shape.begin(), extent);
  return MakeBuffer(buffer->name, buffer->dtype, std::move(shape));
}

/// Copies to[prefix, …] = from[prefix, …].
Stmt CopyWhole(const BufferRemap& to, const BufferRemap& from,
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

bool HasAlternatingLoop(const Stmt& stmt) {
  if (stmt->kind == StmtKind::kFor && stmt->attributes.contains(kAlternatingLoop)) return true;
  return std::any_of(stmt->body.begin(), stmt->body.end(), HasAlternatingLoop);
}

/// Returns the statement with its alternating loops reversed.
Stmt Turned(const Stmt& stmt) {
  std::vector<Stmt> body;
  for (const Stmt& part : stmt->body) body.push_back(Turned(part));
  const Stmt turned = WithBody(stmt, std::move(body));
  if (stmt->kind != StmtKind::kFor || !stmt->attributes.contains(kAlternatingLoop)) return turned;
  const Substitution other{{stmt->var.get(), Expr(stmt->extent - 1) - stmt->var}};
  return WithBody(turned, {RemapBuffers(turned->body[0], other, {})});
}

/// Common data of all steps.
class Repeater {
 public:
  Repeater(const Program& step, const RecurrenceLoop& loop)
      : step_(step), loop_(loop), count_(loop.open ? MakeVar("count") : Expr(loop.steps)) {
    for (body_ = step.body; body_->kind == StmtKind::kAllocate; body_ = body_->body[0]) {
      allocated_.push_back(body_->buffer);
    }
  }

  Program Run() {
    const auto states = static_cast<std::int64_t>(loop_.next.size());
    Program whole{step_.name, step_.parameters, step_.output_count, {}};
    for (std::size_t i = 0; i < loop_.sliced; ++i) {
      whole.parameters[i] = InFront(step_.parameters[i], loop_.steps);
    }
    const bool behind = loop_.results == StepResults::kThenLastStates;
    Buffer row = step_.parameters.back();
    if (with_states()) row = InFront(row, 1 + states);
    result_ = InFront(row, loop_.steps + (behind ? states : 0));
    whole.parameters.back() = result_;
    data_.assign(whole.parameters.begin(),
                 whole.parameters.begin() + static_cast<std::ptrdiff_t>(loop_.sliced));
    std::vector<Stmt> code, last;
    for (std::size_t i = 0; i < loop_.next.size(); ++i) {
      const Buffer& given = step_.parameters[loop_.sliced + i];
      states_.push_back(MakeBuffer("state" + std::to_string(i), given->dtype, given->shape));
      const auto place = loop_.steps + static_cast<std::int64_t>(i);
      code.push_back(CopyWhole({states_[i]}, {given}, given->shape));
      if (behind) last.push_back(CopyWhole({result_, {Expr(place)}}, {states_[i]}, given->shape));
    }
    code.push_back(Loop());
    code.insert(code.end(), last.begin(), last.end());
    whole.body = MakeBlock(std::move(code));
    if (loop_.open) {
      const Buffer size = MakeBuffer("steps", kInt64, {1});
      whole.parameters.insert(whole.parameters.begin(), size);
      whole.body = MakeLet(count_, MakeLoad(size, {Expr(0)}), loop_.steps + 1, whole.body);
    }
    allocated_.insert(allocated_.end(), states_.begin(), states_.end());
    for (const Buffer& buffer : allocated_) whole.body = MakeAllocate(buffer, whole.body);
    return whole;
  }

 private:
  bool with_states() const { return loop_.results == StepResults::kWithStates; }

  Stmt LoopOf(const Expr& var, std::int64_t together, Stmt body) const {
    const std::int64_t most = CeilDiv(loop_.steps, together);
    if (!loop_.open) return MakeFor(var, most, LoopKind::kSerial, std::move(body));
    const Expr count =
        together == 1 ? count_ : FloorDiv(count_ + Expr(together - 1), Expr(together));
    return MakeOpenFor(var, count, most, LoopKind::kSerial, std::move(body));
  }

  Stmt Loop() const {
    const Expr var = MakeVar("step");
    if (!HasAlternatingLoop(body_)) return LoopOf(var, 1, StepAt(body_, var));
    const Expr second = var * Expr(2) + Expr(1);
    Stmt pair = StepAt(body_, var * Expr(2));
    Stmt back = Duplicate(StepAt(Turned(body_), second), {}, {});
    if (loop_.open || loop_.steps % 2 != 0) back = MakeIf(Lt(second, count_), std::move(back));
    return LoopOf(var, 2, MakeBlock({std::move(pair), std::move(back)}));
  }

  /// Returns the step with the given number, in order of execution.
  Stmt StepAt(const Stmt& body, const Expr& number) const {
    const Expr row = loop_.backwards ? count_ - Expr(1) - number : number;
    const Buffer own_result = step_.parameters.back();
    const BufferRemap place{result_,
                            with_states() ? std::vector<Expr>{row, Expr(0)} : std::vector{row}};
    BufferRemaps buffers{{own_result.get(), place}};
    for (std::size_t i = 0; i < data_.size(); ++i) {
      buffers[step_.parameters[i].get()] = {data_[i], {row}};
    }
    std::vector<Stmt> code;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      buffers[step_.parameters[loop_.sliced + i].get()] = {states_[i]};
      const bool is_result = loop_.next[i] == own_result;
      const BufferRemap next = is_result ? place : BufferRemap{loop_.next[i]};
      code.push_back(CopyWhole({states_[i]}, next, states_[i]->shape));
      if (!with_states()) continue;
      const Expr own(static_cast<std::int64_t>(i) + 1);
      code.push_back(CopyWhole({result_, {row, own}}, {states_[i]}, states_[i]->shape));
    }
    code.insert(code.begin(), RemapBuffers(body, {}, buffers));
    return MakeBlock(std::move(code));
  }

  const Program& step_;
  const RecurrenceLoop& loop_;
  const Expr count_;  // of the steps
  Stmt body_;
  std::vector<Buffer> allocated_;  // around all other statements
  std::vector<Buffer> data_, states_;
  Buffer result_;
};

}  // namespace

Program EmitRecurrenceLoop(const Program& step, const RecurrenceLoop& loop) {
  return Repeater(step, loop).Run();
}

}  // namespace tilewright
