#include "src/compiler/runtime_archive.h"

#include <iterator>
#include <string>

// The assembler takes files into this object: runtime_files.inc has a TW_RUNTIME(name, path) for
// each architecture for which the build found a C compiler.
#define TW_RUNTIME(name, path)                     \
  asm(".pushsection .rodata, \"a\", @progbits\n"   \
      ".balign 16\n"                               \
      "tw_runtime_begin_" #name                    \
      ":\n"                                        \
      ".incbin \"" path                            \
      "\"\n"                                       \
      "tw_runtime_end_" #name                      \
      ":\n"                                        \
      ".byte 0\n"                                  \
      ".popsection\n");                            \
  extern "C" const char tw_runtime_begin_##name[]; \
  extern "C" const char tw_runtime_end_##name[];
#include "runtime_files.inc"
#undef TW_RUNTIME

namespace tilewright {
namespace {

struct Runtime {
  std::string_view name;
  const char* begin;
  const char* end;
};

#define TW_RUNTIME(name, path) Runtime{#name, tw_runtime_begin_##name, tw_runtime_end_##name},
const Runtime kRuntimes[] = {
#include "runtime_files.inc"
};
#undef TW_RUNTIME

/// Which runtime a triple takes, and what a build of this program needs to have it.
struct Kind {
  std::string name;
  std::string package;
};

#if defined(__x86_64__)
constexpr std::string_view kHost = "x86_64";
#elif defined(__aarch64__)
constexpr std::string_view kHost = "aarch64";
#else
constexpr std::string_view kHost = "";
#endif

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
  if (system == "gnu" && (arm64 ? "aarch64" : architecture) == kHost) return Kind{"host", ""};
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
  auto kind = KindOf(triple);
  TW_RETURN_IF_ERROR(kind);
  for (const Runtime& runtime : kRuntimes) {
    if (runtime.name != kind->name) continue;
    return std::string_view(runtime.begin, static_cast<std::size_t>(runtime.end - runtime.begin));
  }
  return Unsupported("-mtriple=" + triple + ": this program was built without a runtime for it; " +
                     "build it again with " + kind->package +
                     " installed, or give --runtime what src/runtime/*.c was compiled to there");
}

}  // namespace tilewright
