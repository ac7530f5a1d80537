#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/ir/stmt.h"
#include "src/target/target.h"

namespace tilewright {

/// A runtime that the build found a compiler for.
struct RuntimeFile {
  std::string_view name;   ///< "host", "aarch64", "armv7"
  std::string_view bytes;  ///< an archive or an object
};
/// All of them; the source of this function is made by the build (CMakeLists.txt).
std::span<const RuntimeFile> RuntimeFiles();

/// Bytes of the runtime that every compiled model contains (src/runtime/model.c and pool.c), for
/// the linker: an archive or an object. It is part of this program, so that compiling needs no file
/// but the model's. Errors: kUnsupported, with what to do, for a target for which the program was
/// built without one.
Result<std::string_view> RuntimeFor(const Target& target);

/// LinkShared of one kernel's object by itself, with the runtime if it needs that to call a
/// library. Errors: those of RuntimeFor and LinkShared.
Status LinkKernel(const Program& program, const std::string& object, const Target& target,
                  const std::string& output_path);

}  // namespace tilewright
