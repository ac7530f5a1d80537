#pragma once

#include <llvm/IR/Module.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "src/schedule/launch.h"

namespace tilewright::nvptx {

inline constexpr unsigned kSharedSpace = 3;  ///< address space of shared memory

/// Where an array is in the shared memory that its kernel is given at a launch.
struct DynamicPlace {
  std::string memory;  ///< the kernel's symbol for it
  std::int64_t offset = 0;
};

/// Says that an array of a kernel is to be placed there. Until PlaceDynamicShared it is a variable
/// of its own: optimizations see that it overlaps no other, and simt which one an access is to.
void MarkDynamic(llvm::GlobalVariable& array, const std::string& kernel, std::int64_t offset);

/// The place of an array that was marked; nothing for one that the module itself has.
std::optional<DynamicPlace> DynamicPlaceOf(const llvm::GlobalVariable& array);

/// Turns the marked arrays into parts of one memory for each kernel, which is declared only. Where
/// nothing like a driver gives it, the module gets as much as the `own` launches ask for.
void PlaceDynamicShared(llvm::Module& module, std::span<const Launch> own = {});

}  // namespace tilewright::nvptx
