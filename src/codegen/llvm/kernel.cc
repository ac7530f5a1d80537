#include "src/codegen/llvm/kernel.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>

#include <algorithm>
#include <cctype>

#include "src/codegen/llvm/epilogue_loops.h"

namespace tilewright::emit {
namespace {

// TW_ABI_VERSION and others of src/runtime/abi.h, which this module may not include; a test
// compares them.
constexpr std::uint32_t kAbiVersion = 1;

bool IsSymbol(const std::string& name) {
  auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

/// Emits the TwKernelInfo <name>_info.
void EmitInfo(const KernelContext& kernel) {
  llvm::IRBuilder<> at(kernel.module.getContext());
  auto* type =
      llvm::StructType::get(at.getInt32Ty(), at.getInt32Ty(), at.getInt64Ty(), at.getInt64Ty());
  const auto parameters = static_cast<std::uint32_t>(kernel.program.parameters.size());
  llvm::Constant* value = llvm::ConstantStruct::get(
      type, {at.getInt32(kAbiVersion), at.getInt32(parameters),
             at.getInt64(static_cast<std::uint64_t>(kernel.plan.workspace_bytes)),
             at.getInt64(static_cast<std::uint64_t>(kernel.plan.workspace_bytes_per_thread))});
  new llvm::GlobalVariable(kernel.module, type, true, llvm::GlobalValue::ExternalLinkage, value,
                           kernel.program.name + "_info");
}

/// Returns TW_TILES_INT8, TW_TILES_BF16 or both (src/runtime/abi.h) for what the program
/// multiplies.
std::uint32_t NeededTiles(const Stmt& stmt) {
  std::uint32_t needs = 0;
  if (stmt->kind == StmtKind::kIntrinsic) {
    const TileIntrinsic* tiles = FindTileIntrinsic(stmt->name);
    if (tiles != nullptr) needs |= tiles->a == kBFloat16 ? 2U : 1U;
  }
  for (const Stmt& inner : stmt->body) needs |= NeededTiles(inner);
  return needs;
}

/// Emits the question to the runtime whether tile registers may be used: null or the reason why
/// not.
llvm::Value* AskForTiles(KernelContext& kernel, llvm::IRBuilder<>& at) {
  const llvm::FunctionCallee problem = kernel.module.getOrInsertFunction(
      "TwTilesProblem", llvm::FunctionType::get(at.getPtrTy(), {at.getInt32Ty()}, false));
  return at.CreateCall(problem, {at.getInt32(NeededTiles(kernel.program.body))});
}

/// Emits a return from the entry point where tile registers may not be used.
void RefuseWithoutTiles(KernelContext& kernel, llvm::IRBuilder<>& at) {
  constexpr std::uint32_t kTilesRefused = 117;  // TW_TILES_REFUSED, too
  llvm::LLVMContext& context = at.getContext();
  llvm::Function* entry = at.GetInsertBlock()->getParent();
  auto* refused = llvm::BasicBlock::Create(context, "refused", entry);
  auto* ready = llvm::BasicBlock::Create(context, "ready", entry);
  at.CreateCondBr(at.CreateIsNull(AskForTiles(kernel, at)), ready, refused);
  at.SetInsertPoint(refused);
  at.CreateRet(at.getInt32(kTilesRefused));
  at.SetInsertPoint(ready);
}

/// Emits the TwPrepare of a program that multiplies tiles.
void EmitPrepareTiles(KernelContext& kernel) {
  llvm::IRBuilder<> at(kernel.module.getContext());
  if (BeginPrepare(kernel, at) == nullptr) {
    return kernel.Fail(Unsupported("tiles beside the call of a library"));
  }
  at.CreateRet(AskForTiles(kernel, at));
}

/// Emits the entry point: unpacks the arguments and calls `run` (buffers..., workspace, parallel).
void EmitEntry(KernelContext& kernel, llvm::Function* run) {
  llvm::IRBuilder<> at(kernel.module.getContext());
  llvm::PointerType* pointer = at.getPtrTy();
  auto* type = llvm::FunctionType::get(at.getInt32Ty(), {pointer, pointer, pointer}, false);
  auto* entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       kernel.program.name, kernel.module);
  entry->setDoesNotThrow();
  at.SetInsertPoint(llvm::BasicBlock::Create(kernel.module.getContext(), "entry", entry));
  llvm::Value* workspace = entry->getArg(1);
  std::vector<llvm::Value*> arguments;
  for (std::size_t i = 0; i < kernel.program.parameters.size(); ++i) {
    arguments.push_back(
        at.CreateLoad(pointer, at.CreateConstInBoundsGEP1_64(pointer, entry->getArg(0), i)));
  }
  for (const BufferNode* buffer : kernel.plan.workspace_buffers) {
    const auto offset = static_cast<std::uint64_t>(kernel.plan.storage.at(buffer).offset);
    arguments.push_back(at.CreateConstInBoundsGEP1_64(at.getInt8Ty(), workspace, offset));
  }
  arguments.push_back(workspace);
  arguments.push_back(entry->getArg(2));
  if (!kernel.tile_shapes.empty()) RefuseWithoutTiles(kernel, at);
  at.CreateRet(at.CreateCall(run, arguments));
}

}  // namespace

llvm::Function* MakeInternalFunction(KernelContext& kernel, const std::string& name,
                                     const std::vector<llvm::Type*>& parameters) {
  auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(kernel.module.getContext()),
                                       parameters, false);
  auto* function =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, kernel.module);
  function->setDoesNotThrow();
  return function;
}

llvm::Function* BeginPrepare(KernelContext& kernel, llvm::IRBuilder<>& at) {
  const std::string name = kernel.program.name + "_prepare";
  if (kernel.module.getFunction(name) != nullptr) return nullptr;
  llvm::PointerType* pointer = at.getPtrTy();
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(pointer, {pointer, pointer}, false),
                             llvm::GlobalValue::ExternalLinkage, name, kernel.module);
  at.SetInsertPoint(llvm::BasicBlock::Create(at.getContext(), "entry", function));
  return function;
}

void DescribeBufferArgument(const KernelContext& kernel, const BufferNode& buffer,
                            llvm::Argument& argument) {
  llvm::LLVMContext& context = argument.getContext();
  argument.setName(buffer.name);
  argument.addAttr(llvm::Attribute::NoAlias);
  argument.addAttr(llvm::Attribute::NoUndef);
  argument.addAttr(llvm::Attribute::getWithAlignment(context, llvm::Align(64)));
  const std::int64_t bytes = buffer.bytes();
  if (bytes > 0) {
    argument.addAttr(
        llvm::Attribute::getWithDereferenceableBytes(context, static_cast<std::uint64_t>(bytes)));
  }
  const Storage& storage = kernel.plan.storage.at(&buffer);
  const auto inputs =
      static_cast<std::int64_t>(kernel.program.parameters.size()) - kernel.program.output_count;
  if (storage.place == StorageClass::kParameter && storage.offset < inputs) {
    argument.addAttr(llvm::Attribute::ReadOnly);
  }
}

Status EmitKernel(const Program& given, const CpuFeatures& features, Machine machine,
                  llvm::Module& module) {
  Program program = given;
  if (!IsSymbol(program.name)) {
    return InvalidArgument("program name \"" + program.name + "\" is not a C identifier");
  }
  if (module.getFunction(program.name) != nullptr) {
    return InvalidArgument("two programs are named " + program.name);
  }
  if (!program.body) return InvalidArgument(program.name + ": no body");
  const std::int64_t registers = features.vector_registers();
  const StorageRules rules{.register_bytes = registers * features.float_lanes() * 4};
  Result<StoragePlan> plan = PlanStorage(program, rules);
  TW_RETURN_IF_ERROR(plan);
  program.body = RollEpilogues(given.body, *plan, rules.register_bytes);
  if (program.body.get() != given.body.get()) plan = PlanStorage(program, rules);
  TW_RETURN_IF_ERROR(plan);
  KernelContext kernel{
      module, program, features, *plan, machine, {}, TileRegisterShapesOf(program.body)};

  std::vector<const BufferNode*> buffers;
  for (const Buffer& buffer : program.parameters) buffers.push_back(buffer.get());
  buffers.insert(buffers.end(), plan->workspace_buffers.begin(), plan->workspace_buffers.end());
  llvm::PointerType* pointer = llvm::PointerType::get(module.getContext(), 0);
  const std::vector<llvm::Type*> types(buffers.size() + 2, pointer);
  llvm::Function* run = MakeInternalFunction(kernel, program.name + ".run", types);
  FunctionEmitter emitter(kernel, run);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    llvm::Argument* argument = run->getArg(static_cast<unsigned>(i));
    DescribeBufferArgument(kernel, *buffers[i], *argument);
    emitter.SetBase(buffers[i], argument);
  }
  const auto count = static_cast<unsigned>(buffers.size());
  emitter.SetCall(run->getArg(count), run->getArg(count + 1));
  emitter.EmitBody(program.body);
  emitter.Finish();
  EmitEntry(kernel, run);
  if (!kernel.tile_shapes.empty()) EmitPrepareTiles(kernel);
  EmitInfo(kernel);
  return kernel.status.WithContext(program.name);
}

}  // namespace tilewright::emit
