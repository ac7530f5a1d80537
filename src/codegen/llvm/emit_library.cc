// A library call becomes a TwLibraryCall (src/runtime/library.h), which describes it and stores the
// runtime's state, and a call of the runtime's TwLibraryRun. The kernel also exports
// `<name>_prepare` (TwPrepare, src/runtime/abi.h), which prepares the state shared by all calls.

#include <llvm/IR/Constants.h>

#include <cstring>

#include "src/codegen/llvm/kernel.h"

namespace tilewright::emit {
namespace {

/// Returns the numbers of a shape, in order.
llvm::Constant* NumbersOf(llvm::IRBuilder<>& at, const TwLibraryShape& shape) {
  std::array<std::uint64_t, sizeof(TwLibraryShape) / sizeof(std::uint64_t)> numbers;
  static_assert(sizeof(numbers) == sizeof(TwLibraryShape));
  std::memcpy(numbers.data(), &shape, sizeof(shape));
  return llvm::ConstantDataArray::get(at.getContext(), numbers);
}

/// Creates the TwLibraryCall <kernel>.library.
llvm::GlobalVariable* Describe(KernelContext& kernel, llvm::IRBuilder<>& at,
                               const LibraryCall& call) {
  llvm::Constant* nothing = llvm::ConstantPointerNull::get(at.getPtrTy());
  llvm::Constant* value = llvm::ConstantStruct::getAnon(
      {at.CreateGlobalString(call.file, "library_file", 0, &kernel.module),
       at.CreateGlobalString(call.operation, "library_operation", 0, &kernel.module), nothing,
       NumbersOf(at, call.shape)});
  return new llvm::GlobalVariable(kernel.module, value->getType(), false,
                                  llvm::GlobalValue::InternalLinkage, value,
                                  kernel.program.name + ".library");
}

/// Emits the TwPrepare of a call. Returns false if the kernel has one already.
bool EmitPrepareCall(KernelContext& kernel, llvm::Value* call, std::int64_t weight) {
  llvm::IRBuilder<> at(kernel.module.getContext());
  llvm::Function* function = BeginPrepare(kernel, at);
  if (function == nullptr) return false;
  llvm::PointerType* pointer = at.getPtrTy();
  const llvm::FunctionCallee prepare = kernel.module.getOrInsertFunction(
      "TwLibraryPrepare",
      llvm::FunctionType::get(pointer, {pointer, pointer, at.getInt64Ty(), pointer}, false));
  at.CreateRet(at.CreateCall(
      prepare, {call, function->getArg(0), at.getInt64(static_cast<std::uint64_t>(weight)),
                function->getArg(1)}));
  return true;
}

}  // namespace

void FunctionEmitter::EmitLibraryCall(const Stmt& stmt) {
  memo_.clear();
  const LibraryCall& call = *stmt->library;
  const std::string name = call.operation + " by " + call.file;
  if (on_gpu() || parallel_ == nullptr || lanes_ > 0) {
    return kernel_.Fail(Unsupported(name + ": expected outside of loops, and not in a GPU's code"));
  }
  if (stmt->regions.size() != 3) return kernel_.Fail(Internal(name + ": expected two operands"));
  const Storage& weight = kernel_.plan.storage.at(stmt->regions[2].buffer.get());
  if (weight.place != StorageClass::kParameter) {
    return kernel_.Fail(Internal(name + ": the weight is not a parameter"));
  }
  llvm::GlobalVariable* description = Describe(kernel_, builder_, call);
  if (!EmitPrepareCall(kernel_, description, weight.offset)) {
    return kernel_.Fail(Unsupported(name + ": the kernel calls a library already"));
  }
  llvm::PointerType* pointer = builder_.getPtrTy();
  const llvm::FunctionCallee run = kernel_.module.getOrInsertFunction(
      "TwLibraryRun",
      llvm::FunctionType::get(builder_.getInt32Ty(), {pointer, pointer, pointer, pointer, pointer},
                              false));
  KeepCode(builder_.CreateCall(
      run, {description, BaseOf(*stmt->regions[0].buffer), BaseOf(*stmt->regions[1].buffer),
            BaseOf(*stmt->regions[2].buffer), parallel_}));
}

}  // namespace tilewright::emit
