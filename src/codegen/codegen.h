#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/ir/stmt.h"
#include "src/target/target.h"

namespace tilewright {

/// For CUDA, assembly and object are both PTX text, for OpenCL the source text of OpenCL C. An AMD
/// GPU has assembly, and its object is a code object (hsaco): a linked ELF file that its driver
/// loads.
enum class Emit : std::uint8_t { kLlvmIr, kAssembly, kObject };

/// Seconds spent in each part of one build.
struct BuildTimes {
  double ir_seconds = 0, optimize_seconds = 0, codegen_seconds = 0, link_seconds = 0;
};

/// Generates machine code of the given programs, as text (IR, assembly) or as an ELF object. Each
/// program becomes a `TwKernel` of its name and a `TwKernelInfo` `<name>_info` (src/runtime/abi.h).
/// The code assumes that parameters do not overlap. Exception: an output may share memory with an
/// input if each element of the input is read once, before the output's element at that position is
/// written. Thread-safe.
/// Errors: kUnsupported for features that the target lacks; kInternal with LLVM's message.
Result<std::string> Generate(const std::vector<Program>& programs, const Target& target, Emit emit,
                             BuildTimes* times = nullptr);

/// Links a self-contained ELF shared object (with lld, in process) from objects made by Generate
/// and from `archives` (static libraries). Undefined symbols may only be those of libc and libm;
/// for another kind of machine, those of a fixed list, and its libraries are not needed. soname:
/// the library's SONAME; empty: its file name.
/// Thread-safe; one link at a time.
/// Errors: kInvalidArgument with the linker's message.
Status LinkShared(const std::vector<std::string>& objects, const std::vector<std::string>& archives,
                  const std::string& output_path, BuildTimes* times = nullptr,
                  const std::string& soname = {});

/// Links a code object from the object of an AMD GPU's kernels (with lld, in process).
/// Thread-safe; one link at a time.
/// Errors: kInvalidArgument with the linker's message.
Result<std::string> LinkCodeObject(const std::string& object);

/// Returns the bytes of instructions in an object file or a library.
/// Errors: kInvalidArgument for other files.
Result<std::int64_t> CodeBytes(std::string_view object);

}  // namespace tilewright
