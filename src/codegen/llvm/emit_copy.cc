// Region copies: as loops, or asynchronous ones from global to shared memory of a GPU (from sm_80
// on): cp.async, its groups and waits.

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "src/base/math.h"
#include "src/codegen/llvm/function_emitter.h"
#include "src/codegen/nvptx/cp_async.h"
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

/// Copies a run of elements with the fewest instructions that the alignment of both sides allows.
void FunctionEmitter::EmitAsyncCopy(const StmtNode& stmt) {
  constexpr unsigned kGlobalSpace = 1;
  const auto refuse = [&](const std::string& reason) {
    kernel_.Fail(Unsupported("asynchronous copy " + reason));
  };
  if (!on_gpu()) return refuse("in CPU code");
  if (lanes_ > 0) return refuse("inside of a vector loop");
  memo_.clear();
  const Region& to = stmt.regions[0];
  const Region& from = stmt.regions[1];
  const std::optional<Linear> to_index = Flatten(*to.buffer, to.min);
  const std::optional<Linear> from_index = Flatten(*from.buffer, from.min);
  if (!to_index || !from_index) return refuse("at an index that is not a scalar");
  const std::int64_t bytes = Product(to.extent) * to.buffer->dtype.bytes();
  const nvptx::CpAsync* instruction = nvptx::LargestCpAsync(
      bytes, static_cast<std::int64_t>(std::min(AlignmentOf(*to.buffer, *to_index),
                                                AlignmentOf(*from.buffer, *from_index))
                                           .value()));
  if (instruction == nullptr) return refuse("of " + std::to_string(bytes) + " bytes");
  Value* target = AddressOf(*to.buffer, *to_index);
  Value* source = builder_.CreateAddrSpaceCast(AddressOf(*from.buffer, *from_index),
                                               llvm::PointerType::get(context_, kGlobalSpace));
  Value* read = nullptr;  // bytes; null: all
  if (stmt.condition) {
    read = builder_.CreateSelect(EmitExpr(stmt.condition),
                                 builder_.getInt32(static_cast<std::uint32_t>(instruction->bytes)),
                                 builder_.getInt32(0));
  }
  for (std::int64_t at = 0; at < bytes; at += instruction->bytes) {
    const auto offset = static_cast<std::uint64_t>(at);
    std::vector<Value*> operands = {
        builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), target, offset),
        builder_.CreateConstGEP1_64(builder_.getInt8Ty(), source, offset)};
    if (read != nullptr) operands.push_back(read);
    builder_.CreateIntrinsic(read != nullptr ? instruction->padding : instruction->whole, {},
                             operands);
  }
}

void FunctionEmitter::EmitAsyncCommit() {
  if (!on_gpu()) return kernel_.Fail(Unsupported("a group of copies in CPU code"));
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {});
}

void FunctionEmitter::EmitAsyncWait(const StmtNode& stmt) {
  if (!on_gpu()) return kernel_.Fail(Unsupported("a wait for copies in CPU code"));
  memo_.clear();
  builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {},
                           {builder_.getInt32(static_cast<std::uint32_t>(PendingGroupsOf(stmt)))});
}

}  // namespace tilewright::emit
