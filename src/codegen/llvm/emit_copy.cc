#include "src/codegen/llvm/function_emitter.h"
#include "src/schedule/async_copy.h"

namespace tilewright::emit {

/// Emits a region copy as loops over the destination's extents. The source index follows from the
/// row-major position, dimension by dimension if the extents match.
void FunctionEmitter::EmitCopy(const Stmt& stmt) {
  if (stmt->regions.size() != 2) return kernel_.Fail(InvalidArgument("a copy takes 2 regions"));
  if (IsAsyncCopy(*stmt)) return EmitAsyncCopy(*stmt);
  const Region& to = stmt->regions[0];
  const Region& from = stmt->regions[1];
  std::vector<Expr> vars, to_index, from_index;
  Expr position = 0;
  for (std::size_t d = 0; d < to.extent.size(); ++d) {
    vars.push_back(MakeVar("c" + std::to_string(d)));
    to_index.push_back(to.min[d] + vars[d]);
    position = position * to.extent[d] + vars[d];
  }
  std::int64_t stride = 1;
  Expr inside = MakeInt(kBool, 1);
  for (std::size_t d = from.extent.size(); d-- > 0;) {
    const Expr offset =
        to.extent == from.extent ? vars[d] : FloorMod(FloorDiv(position, stride), from.extent[d]);
    const Expr index = from.min[d] + offset;
    from_index.insert(from_index.begin(), index);
    inside = And(inside, And(Le(0, index), Lt(index, from.buffer->shape[d])));
    stride *= from.extent[d];
  }
  Expr value = MakeLoad(from.buffer, from_index);
  if (stmt->value) value = MakeSelect(inside, value, stmt->value);
  Stmt loops = MakeStore(to.buffer, to_index, value);
  if (stmt->condition) loops = MakeIf(stmt->condition, loops);
  for (std::size_t d = vars.size(); d-- > 0;) {
    const bool innermost = d + 1 == vars.size();
    loops = MakeFor(vars[d], to.extent[d],
                    innermost && lanes_ == 0 ? LoopKind::kVectorized : LoopKind::kSerial, loops);
  }
  Emit(loops);
}

}  // namespace tilewright::emit
