#include "src/compiler/runtime_archive.h"

// The assembler takes the archive into this object; TW_RUNTIME_ARCHIVE is its path at build time.
asm(".pushsection .rodata, \"a\", @progbits\n"
    ".balign 16\n"
    "tw_runtime_archive_begin:\n"
    ".incbin \"" TW_RUNTIME_ARCHIVE
    "\"\n"
    "tw_runtime_archive_end:\n"
    ".byte 0\n"
    ".popsection\n");

namespace tilewright {

extern "C" const char tw_runtime_archive_begin[];
extern "C" const char tw_runtime_archive_end[];

std::string_view RuntimeArchive() {
  return {tw_runtime_archive_begin,
          static_cast<std::size_t>(tw_runtime_archive_end - tw_runtime_archive_begin)};
}

}  // namespace tilewright
