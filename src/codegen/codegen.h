#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/ir/stmt.h"
#include "src/target/target.h"

namespace tilewright {

/// For a GPU, assembly and object are both PTX text.
enum class Emit : std::uint8_t { kLlvmIr, kAssembly, kObject };

/// Seconds spent in each part of one build.
struct BuildTimes {
  double ir_seconds = 0, optimize_seconds = 0, codegen_seconds = 0, link_seconds = 0;
};

/// Machine code of the given programs, as text (IR, assembly) or as an ELF object. Each program
/// becomes a `TwKernel` of its name and a `TwKernelInfo` `<name>_info` (src/runtime/abi.h). The
/// code takes for granted that parameters do not overlap, except that an output may stand in the
/// place of an input of which each element is read once, before the output's element there is
/// written. Thread-safe. Errors: kUnsupported for what the target lacks; kInternal with LLVM's own
/// words.
Result<std::string> Generate(const std::vector<Program>& programs, const Target& target, Emit emit,
                             BuildTimes* times = nullptr);

/// A self-contained ELF shared object (linked with lld, in process) of objects made by Generate and
/// of `archives` (static libraries). Undefined symbols may only be those of libc and libm, for
/// another kind of machine those of a fixed list; its libraries need not be here.
/// soname: the library's name for itself; empty: that of its file.
/// Thread-safe; one link at a time. Errors: kInvalidArgument with the linker's words.
Status LinkShared(const std::vector<std::string>& objects, const std::vector<std::string>& archives,
                  const std::string& output_path, BuildTimes* times = nullptr,
                  const std::string& soname = {});

/// Bytes of instructions in an object file or a library. Errors: kInvalidArgument for what is none.
Result<std::int64_t> CodeBytes(std::string_view object);

}  // namespace tilewright
