#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/schedule/lower/lower.h"
#include "src/target/target.h"

namespace tilewright {

/// Limits of Lower for a target: on a GPU with the shared memory that a block of its compute
/// capability can have.
LowerLimits LowerLimitsFor(const Target& target);

/// Products of an unrolled body that limit its code size and the time to compile it.
inline constexpr std::int64_t kMaxUnrolledProducts = 512;
/// Errors: kInvalidArgument for more products.
Status CheckUnrolledProducts(std::int64_t products);
/// Errors: kInvalidArgument for more local bytes than a CPU's kernel can have in a pass.
Status CheckPassBytes(std::int64_t bytes);

}  // namespace tilewright
