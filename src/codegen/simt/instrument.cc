// Instruments a GPU kernel so that a CPU can run and check it: indices, barriers, copies and every
// memory access become calls.

#include "src/codegen/simt/instrument.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <map>

#include "src/codegen/amdgpu/anchor_sums.h"
#include "src/codegen/amdgpu/dot.h"
#include "src/codegen/nvptx/cp_async.h"
#include "src/codegen/nvptx/dp4a.h"
#include "src/codegen/nvptx/mma.h"
#include "src/codegen/nvptx/shared_memory.h"

namespace tilewright::simt {
namespace {

/// Returns the number of an index register as BlockMachine::Index counts them, or -1.
int IndexOf(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x:
    case llvm::Intrinsic::amdgcn_workitem_id_x:
      return 0;
    case llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y:
    case llvm::Intrinsic::amdgcn_workitem_id_y:
      return 1;
    case llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z:
    case llvm::Intrinsic::amdgcn_workitem_id_z:
      return 2;
    case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x:
    case llvm::Intrinsic::amdgcn_workgroup_id_x:
      return 3;
    case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y:
    case llvm::Intrinsic::amdgcn_workgroup_id_y:
      return 4;
    case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z:
    case llvm::Intrinsic::amdgcn_workgroup_id_z:
      return 5;
    default:
      return -1;
  }
}

bool IsKernel(const llvm::Function& function) {
  return function.getCallingConv() == llvm::CallingConv::PTX_Kernel ||
         function.getCallingConv() == llvm::CallingConv::AMDGPU_KERNEL;
}

class Instrumenter {
 public:
  explicit Instrumenter(llvm::Module& module) : module_(module), types_(module.getContext()) {
    llvm::Type* integer = types_.getInt32Ty();
    llvm::PointerType* pointer = types_.getPtrTy();
    machine_ = new llvm::GlobalVariable(module, pointer, false, llvm::GlobalValue::ExternalLinkage,
                                        llvm::ConstantPointerNull::get(pointer), kMachineGlobal);
    index_ = module.getOrInsertFunction(kIndexFunction, integer, pointer, integer);
    barrier_ = module.getOrInsertFunction(kBarrierFunction, types_.getVoidTy(), pointer, integer);
    access_ = module.getOrInsertFunction(kAccessFunction, types_.getVoidTy(), pointer, integer,
                                         pointer, integer, integer);
    copy_ = module.getOrInsertFunction(kCopyFunction, types_.getVoidTy(), pointer, integer, pointer,
                                       integer, pointer, integer, integer);
    commit_ = module.getOrInsertFunction(kCommitFunction, types_.getVoidTy(), pointer);
    wait_ = module.getOrInsertFunction(kWaitFunction, types_.getVoidTy(), pointer, integer);
    product_ =
        module.getOrInsertFunction(kProductFunction, types_.getVoidTy(), pointer, integer, pointer);
  }

  Result<std::vector<SharedArray>> Run() {
    std::vector<llvm::Function*> kernels;
    for (llvm::Function& function : module_) {
      if (IsKernel(function)) kernels.push_back(&function);
    }
    if (!kernels.empty()) CollectShared(static_cast<int>(kernels.front()->arg_size()));
    for (llvm::Function* kernel : kernels) {
      for (llvm::Instruction& instruction :
           llvm::make_early_inc_range(llvm::instructions(kernel))) {
        TW_RETURN_IF_ERROR(Visit(instruction));
      }
      MoveVariables(*kernel);
      kernel->setCallingConv(llvm::CallingConv::C);
      AddEntry(*kernel);
    }
    if (llvm::NamedMDNode* annotations = module_.getNamedMetadata("nvvm.annotations")) {
      annotations->eraseFromParent();
    }
    return shared_;
  }

 private:
  void CollectShared(int first) {
    for (llvm::GlobalVariable& global : module_.globals()) {
      if (global.getAddressSpace() != nvptx::kSharedSpace) continue;
      auto* type = llvm::cast<llvm::ArrayType>(global.getValueType());
      const llvm::DataLayout& layout = module_.getDataLayout();
      SharedArray array;
      array.name = array.symbol = global.getName().str();
      if (const auto place = nvptx::DynamicPlaceOf(global)) {
        array.symbol = place->memory;
        array.offset = place->offset;
      }
      array.element_bytes =
          static_cast<std::int64_t>(layout.getTypeAllocSize(type->getElementType()));
      array.bytes = static_cast<std::int64_t>(layout.getTypeAllocSize(type));
      memories_[&global] = first + static_cast<int>(shared_.size());
      shared_.push_back(std::move(array));
      global.setLinkage(llvm::GlobalValue::ExternalLinkage);
    }
  }

  /// Moves the variables of a thread from an address space of their own (of AMD GPUs) to the stack.
  static void MoveVariables(llvm::Function& kernel) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(kernel.getEntryBlock())) {
      auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (variable == nullptr || variable->getAddressSpace() == 0) continue;
      llvm::IRBuilder<> at(variable);
      llvm::AllocaInst* on_stack = at.CreateAlloca(variable->getAllocatedType(), 0U);
      on_stack->setAlignment(variable->getAlign());
      variable->replaceAllUsesWith(at.CreateAddrSpaceCast(on_stack, variable->getType()));
      variable->eraseFromParent();
    }
  }

  Status Visit(llvm::Instruction& instruction) {
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) return VisitCall(*call);
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call->isInlineAsm()) {
      return VisitAssembly(*call);
    }
    const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
    if (pointer == nullptr) return {};
    const llvm::Value* object = llvm::getUnderlyingObject(pointer, /*MaxLookup=*/0);
    if (llvm::isa<llvm::AllocaInst>(object)) return {};
    if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object)) {
      if (global->isConstant()) return {};
    }
    const auto bytes =
        module_.getDataLayout().getTypeStoreSize(llvm::getLoadStoreType(&instruction));
    llvm::IRBuilder<> at(&instruction);
    llvm::Value* address = at.CreateAddrSpaceCast(const_cast<llvm::Value*>(pointer), at.getPtrTy());
    at.CreateCall(access_, {Machine(at), MemoryOf(at, object), address,
                            at.getInt32(static_cast<std::uint32_t>(bytes.getFixedValue())),
                            at.getInt32(llvm::isa<llvm::StoreInst>(instruction) ? 1 : 0)});
    return {};
  }

  /// Returns the number of the accessed memory; -1 if it is unknown.
  llvm::Value* MemoryOf(llvm::IRBuilder<>& at, const llvm::Value* object) const {
    int memory = -1;
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object)) {
      memory = static_cast<int>(argument->getArgNo());
    } else if (const auto found = memories_.find(object); found != memories_.end()) {
      memory = found->second;
    }
    return at.getInt32(static_cast<std::uint32_t>(memory));
  }

  Status VisitCall(llvm::IntrinsicInst& call) {
    llvm::IRBuilder<> at(&call);
    const llvm::Intrinsic::ID id = call.getIntrinsicID();
    if (const int which = IndexOf(id); which >= 0) {
      llvm::Value* number = at.getInt32(static_cast<std::uint32_t>(which));
      call.replaceAllUsesWith(at.CreateCall(index_, {Machine(at), number}));
    } else if (id == llvm::Intrinsic::nvvm_barrier0 || id == llvm::Intrinsic::amdgcn_s_barrier) {
      at.CreateCall(barrier_, {Machine(at), at.getInt32(barriers_++)});
    } else if (const nvptx::CpAsync* copy = nvptx::CpAsyncOf(id)) {
      llvm::Value* bytes = at.getInt32(static_cast<std::uint32_t>(copy->bytes));
      std::vector<llvm::Value*> operands = {Machine(at)};
      for (unsigned i = 0; i < 2; ++i) {
        llvm::Value* address = call.getArgOperand(i);
        operands.push_back(MemoryOf(at, llvm::getUnderlyingObject(address, /*MaxLookup=*/0)));
        operands.push_back(at.CreateAddrSpaceCast(address, at.getPtrTy()));
      }
      operands.push_back(bytes);
      operands.push_back(id == copy->whole ? bytes : call.getArgOperand(2));
      at.CreateCall(copy_, operands);
    } else if (id == llvm::Intrinsic::nvvm_cp_async_commit_group) {
      at.CreateCall(commit_, {Machine(at)});
    } else if (id == llvm::Intrinsic::nvvm_cp_async_wait_group) {
      at.CreateCall(wait_, {Machine(at), call.getArgOperand(0)});
    } else if (const MmaIntrinsic* mma = nvptx::MmaOf(id)) {
      call.replaceAllUsesWith(MatrixProduct(at, call, *mma));
    } else if (const amdgpu::DotOperands dot = amdgpu::DotOperandsOf(call); dot.acc != nullptr) {
      call.replaceAllUsesWith(ByteDot(at, dot));
    } else if (call.getCalledFunction()->getName().starts_with("llvm.nvvm") ||
               call.getCalledFunction()->getName().starts_with("llvm.amdgcn") ||
               call.getCalledFunction()->getName().starts_with("llvm.masked")) {
      return Unsupported("no meaning on a CPU: " + call.getCalledFunction()->getName().str());
    } else {
      return {};
    }
    call.eraseFromParent();
    return {};
  }

  /// Emits a call with the operands in memory as words of 4 bytes; the sums replace their operands.
  llvm::Value* MatrixProduct(llvm::IRBuilder<>& at, llvm::IntrinsicInst& call,
                             const MmaIntrinsic& mma) {
    const unsigned count = call.arg_size();
    llvm::IRBuilder<> entry(&call.getFunction()->getEntryBlock().front());
    llvm::Value* words = entry.CreateAlloca(llvm::ArrayType::get(at.getInt32Ty(), count));
    const auto place = [&](unsigned i) {
      return at.CreateConstInBoundsGEP1_32(at.getInt32Ty(), words, i);
    };
    for (unsigned i = 0; i < count; ++i) {
      at.CreateStore(at.CreateBitCast(call.getArgOperand(i), at.getInt32Ty()), place(i));
    }
    const auto number = static_cast<std::uint32_t>(&mma - MmaIntrinsics().data());
    at.CreateCall(product_, {Machine(at), at.getInt32(number), words});
    auto* type = llvm::cast<llvm::StructType>(call.getType());
    llvm::Value* result = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < type->getNumElements(); ++i) {
      llvm::Value* sum =
          at.CreateLoad(type->getElementType(i), place(count - type->getNumElements() + i));
      result = at.CreateInsertValue(result, sum, i);
    }
    return result;
  }

  /// Emits the sum of four products of bytes.
  static llvm::Value* ByteDot(llvm::IRBuilder<>& at, const amdgpu::DotOperands& operands) {
    const auto byte = [&](llvm::Value* word, unsigned i, bool extend_sign) {
      llvm::Value* low = at.CreateTrunc(at.CreateLShr(word, 8 * i), at.getInt8Ty());
      return at.CreateIntCast(low, at.getInt32Ty(), extend_sign);
    };
    llvm::Value* sum = operands.acc;
    for (unsigned i = 0; i < 4; ++i) {
      sum = at.CreateAdd(sum, at.CreateMul(byte(operands.a, i, operands.a_signed),
                                           byte(operands.b, i, operands.b_signed)));
    }
    return sum;
  }

  /// Replaces inline assembly of the GPU by the computation that it performs.
  Status VisitAssembly(llvm::CallInst& call) {
    if (amdgpu::IsAnchor(call)) {
      call.replaceAllUsesWith(call.getArgOperand(0));
      call.eraseFromParent();
      return {};
    }
    const std::string text = llvm::cast<llvm::InlineAsm>(call.getCalledOperand())->getAsmString();
    const bool is_signed = text == nvptx::kDp4aSigned;
    if (!is_signed && text != nvptx::kDp4aUnsigned) {
      return Unsupported("no meaning on a CPU: " + text);
    }
    llvm::IRBuilder<> at(&call);
    llvm::Value* sum = ByteDot(
        at, {call.getArgOperand(0), call.getArgOperand(1), call.getArgOperand(2), is_signed, true});
    call.replaceAllUsesWith(sum);
    call.eraseFromParent();
    return {};
  }

  llvm::Value* Machine(llvm::IRBuilder<>& at) { return at.CreateLoad(at.getPtrTy(), machine_); }

  /// Adds a function that takes the parameters as one array.
  void AddEntry(llvm::Function& kernel) {
    auto* type = llvm::FunctionType::get(types_.getVoidTy(), {types_.getPtrTy()}, false);
    auto* entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                         kernel.getName() + kEntrySuffix, module_);
    llvm::IRBuilder<> at(llvm::BasicBlock::Create(module_.getContext(), "entry", entry));
    std::vector<llvm::Value*> arguments;
    for (unsigned i = 0; i < kernel.arg_size(); ++i) {
      llvm::Value* slot = at.CreateConstInBoundsGEP1_64(at.getPtrTy(), entry->getArg(0), i);
      arguments.push_back(
          at.CreateAddrSpaceCast(at.CreateLoad(at.getPtrTy(), slot), kernel.getArg(i)->getType()));
    }
    at.CreateCall(&kernel, arguments);
    at.CreateRetVoid();
  }

  llvm::Module& module_;
  llvm::IRBuilder<> types_;
  llvm::GlobalVariable* machine_ = nullptr;
  llvm::FunctionCallee index_, barrier_, access_, product_, copy_, commit_, wait_;
  std::map<const llvm::Value*, int> memories_;
  std::vector<SharedArray> shared_;
  std::uint32_t barriers_ = 0;
};

}  // namespace

Result<std::vector<SharedArray>> Instrument(llvm::Module& module) {
  return Instrumenter(module).Run();
}

}  // namespace tilewright::simt
