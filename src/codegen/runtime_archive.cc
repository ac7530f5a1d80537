#include "src/codegen/runtime_archive.h"

#include <string>

#include "src/base/files/file.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/codegen/codegen.h"
#include "src/schedule/intrinsics.h"
#include "src/target/cpu.h"

namespace tilewright {
namespace {

/// Runtime of a triple, and the compiler that a build needs for it.
struct Kind {
  std::string name;
  std::string package;
};

Result<Kind> KindOf(const std::string& triple) {
  if (triple.empty()) return Kind{"host", ""};
  const std::string_view text = triple;
  const std::string_view architecture = text.substr(0, text.find('-'));
  const std::string_view system = text.substr(text.rfind('-') + 1);
  const bool arm64 = architecture == "aarch64" || architecture == "arm64";
  const bool arm32 = !arm64 && architecture.starts_with("arm");
  if (arm32 && (system == "gnueabi" || system == "eabi" || system == "linux")) {
    return Unsupported("-mtriple=" + triple +
                       ": passes floating-point arguments in integer registers, which no Linux for "
                       "these boards does; expected -mtriple=armv7l-linux-gnueabihf");
  }
  if (system == "gnu" && (arm64 ? "aarch64" : architecture) == HostArchitecture())
    return Kind{"host", ""};
  if (system == "gnu" && arm64) return Kind{"aarch64", "gcc-aarch64-linux-gnu"};
  if (system == "gnueabihf" && arm32) return Kind{"armv7", "gcc-arm-linux-gnueabihf"};
  return Unsupported("-mtriple=" + triple +
                     ": no runtime for it, expected x86_64-linux-gnu, aarch64-linux-gnu or "
                     "armv7l-linux-gnueabihf, or --runtime with what src/runtime/*.c was compiled "
                     "to for it");
}

}  // namespace

Result<std::string_view> RuntimeFor(const Target& target) {
  const std::string triple = target.Option("mtriple");
  TW_ASSIGN_OR_RETURN(auto kind, KindOf(triple));
  for (const RuntimeFile& runtime : RuntimeFiles()) {
    if (runtime.name == kind.name) return runtime.bytes;
  }
  return Unsupported("-mtriple=" + triple + ": this program was built without a runtime for it; " +
                     "build it again with " + kind.package +
                     " installed, or give --runtime what src/runtime/*.c was compiled to there");
}

Status LinkKernel(const Program& program, const std::string& object, const Target& target,
                  const std::string& output_path) {
  // Constant name: the same kernel has the same bytes wherever it is built, and a fleet's tuner
  // compares them.
  constexpr const char* kSoname = "tilewright-kernel.so";
  // The runtime for 32-bit Arm contains the functions that its kernels call for division and long
  // integers.
  const auto kind = KindOf(target.Option("mtriple"));
  const bool has_helpers = kind.ok() && kind->name == "armv7";
  const bool prepared = !LibraryCallsOf(program.body).empty() || MultipliesTiles(program.body);
  if (!prepared && !has_helpers) {
    return LinkShared({object}, {}, output_path, nullptr, kSoname);
  }
  TW_ASSIGN_OR_RETURN(auto runtime, RuntimeFor(target));
  TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-link"));
  const std::string archive = folder.path() + "/runtime.a";
  TW_RETURN_IF_ERROR(WriteFile(archive, runtime));
  return LinkShared({object}, {archive}, output_path, nullptr, kSoname);
}

}  // namespace tilewright
