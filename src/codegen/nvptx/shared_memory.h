#pragma once

#include <llvm/IR/Module.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "src/schedule/launch.h"

namespace tilewright::nvptx {

inline constexpr unsigned kSharedSpace = 3;  ///< address space of shared memory

/// Position of an array in the shared memory that a launch gives its kernel.
struct DynamicPlace {
  std::string memory;  ///< the kernel's symbol of the memory
  std::int64_t offset = 0;
};

/// Marks an array of a kernel for placement there. Until PlaceDynamicShared it is a separate
/// variable: optimizations can assume no overlap, and simt can identify the accessed array.
void MarkDynamic(llvm::GlobalVariable& array, const std::string& kernel, std::int64_t offset);

/// Returns the place of a marked array; no value for a static array of the module.
std::optional<DynamicPlace> DynamicPlaceOf(const llvm::GlobalVariable& array);

/// Converts the marked arrays to parts of one memory per kernel, which is only declared. If no
/// driver allocates it, the module defines as much as the `own` launches request.
void PlaceDynamicShared(llvm::Module& module, std::span<const Launch> own = {});

}  // namespace tilewright::nvptx
