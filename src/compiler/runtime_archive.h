#pragma once

#include <string_view>

#include "src/base/status.h"
#include "src/target/target.h"

namespace tilewright {

/// Bytes of the runtime that every compiled model contains (src/runtime/model.c and pool.c), for
/// the linker: an archive or an object. It is part of this program, so that compiling needs no file
/// but the model's. Errors: kUnsupported, with what to do, for a target for which the program was
/// built without one.
Result<std::string_view> RuntimeFor(const Target& target);

}  // namespace tilewright
