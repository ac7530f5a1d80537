#include "src/codegen/nvptx/shared_memory.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>

#include <algorithm>

namespace tilewright::nvptx {
namespace {

constexpr const char* kMemory = "tw-shared-memory";
constexpr const char* kOffset = "tw-shared-offset";

/// Unique: symbols of arrays have a dot after the kernel's name.
std::string MemoryName(const std::string& kernel) { return kernel + "$shared"; }

/// Returns the memory of one kernel, of unknown size or of the launch's size.
llvm::GlobalVariable* MemoryOf(llvm::Module& module, const std::string& name,
                               std::span<const Launch> own) {
  if (llvm::GlobalVariable* known = module.getGlobalVariable(name)) return known;
  const auto launch =
      std::ranges::find_if(own, [&](const Launch& one) { return MemoryName(one.name) == name; });
  const bool given = launch == own.end();
  auto* type =
      llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()),
                           given ? 0 : static_cast<std::uint64_t>(launch->dynamic_shared_bytes()));
  auto* memory = new llvm::GlobalVariable(
      module, type, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage,
      given ? nullptr : llvm::Constant::getNullValue(type), name, nullptr,
      llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  memory->setAlignment(llvm::Align(kSharedAlignment));
  return memory;
}

}  // namespace

void MarkDynamic(llvm::GlobalVariable& array, const std::string& kernel, std::int64_t offset) {
  array.addAttribute(kMemory, MemoryName(kernel));
  array.addAttribute(kOffset, std::to_string(offset));
}

std::optional<DynamicPlace> DynamicPlaceOf(const llvm::GlobalVariable& array) {
  if (!array.hasAttribute(kMemory)) return std::nullopt;
  DynamicPlace place;
  place.memory = array.getAttribute(kMemory).getValueAsString().str();
  array.getAttribute(kOffset).getValueAsString().getAsInteger(10, place.offset);
  return place;
}

void PlaceDynamicShared(llvm::Module& module, std::span<const Launch> own) {
  llvm::Type* byte = llvm::Type::getInt8Ty(module.getContext());
  llvm::Type* integer = llvm::Type::getInt32Ty(module.getContext());
  for (llvm::GlobalVariable& array : llvm::make_early_inc_range(module.globals())) {
    const auto place = DynamicPlaceOf(array);
    if (!place) continue;
    llvm::GlobalVariable* memory = MemoryOf(module, place->memory, own);
    array.replaceAllUsesWith(llvm::ConstantExpr::getGetElementPtr(
        byte, memory, llvm::ConstantInt::get(integer, static_cast<std::uint64_t>(place->offset))));
    array.eraseFromParent();
  }
}

}  // namespace tilewright::nvptx
