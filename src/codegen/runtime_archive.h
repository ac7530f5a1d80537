#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/ir/stmt.h"
#include "src/target/target.h"

namespace tilewright {

/// Runtime for which the build found a compiler.
struct RuntimeFile {
  std::string_view name;   ///< "host", "aarch64", "armv7"
  std::string_view bytes;  ///< an archive or an object
};
/// Returns all runtimes; the build generates the source of this function (CMakeLists.txt).
std::span<const RuntimeFile> RuntimeFiles();

/// Returns the bytes of the runtime that every compiled model contains (src/runtime/model.c and
/// pool.c), for the linker: an archive or an object. It is part of this program, so that compiling
/// needs no file but the model's.
/// Errors: kUnsupported, with the remedy, for a target whose runtime this program was built
/// without.
Result<std::string_view> RuntimeFor(const Target& target);

/// Links the object of one kernel with LinkShared, with the runtime if the kernel calls a library
/// or multiplies tiles. Errors: those of RuntimeFor and LinkShared.
Status LinkKernel(const Program& program, const std::string& object, const Target& target,
                  const std::string& output_path);

}  // namespace tilewright
