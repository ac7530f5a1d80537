#include "measure/worker/exchange.h"

namespace tilewright::measure {
namespace {

/// Words of the dynamic loader, of the system, and of TwLibraryPrepare
/// (src/runtime/library.c) and TwTilesProblem (src/runtime/tiles.c).
constexpr std::string_view kKnownWords[] = {
    "not on this machine",
    "undefined symbol",
    "cannot open shared object file",
    "failed to map segment from shared object",
    "cannot enable executable stack",
    "cannot allocate memory in static TLS block",
    "invalid ELF header",
    "wrong ELF class",
    "version `GLIBC",
    "No such file or directory",
    "Permission denied",
    "Operation not permitted",
    "Cannot allocate memory",
    "Too many open files",
    "Resource temporarily unavailable",
    "it has no code for this",
    "it refuses the sizes or layouts",
    "it refuses the attributes",
    "it cannot make the code",
    "its 8-bit products are not exact without VNNI instructions",
    "expected 2",
    "no engine",
    "no stream",
    "no memory",
    "the program ends",
    "a CPU with AMX (tile registers): this one has none",
    "AMX (tile registers), which the system has not enabled",
    "AMX (tile registers), which Linux refuses this process (needs version 5.16)",
};
static_assert(std::size(kKnownWords) <= 64);

}  // namespace

std::uint64_t EncodeKnownWords(std::string_view text) {
  std::uint64_t words = 0;
  for (std::size_t i = 0; i < std::size(kKnownWords); ++i) {
    if (text.find(kKnownWords[i]) != std::string_view::npos) words |= std::uint64_t{1} << i;
  }
  return words;
}

std::string DecodeKnownWords(std::uint64_t words) {
  std::string text;
  for (std::size_t i = 0; i < std::size(kKnownWords); ++i) {
    if ((words >> i & 1) != 0) text += (text.empty() ? "" : ": ") + std::string(kKnownWords[i]);
  }
  return text.empty() ? "for no known reason" : text;
}

}  // namespace tilewright::measure
