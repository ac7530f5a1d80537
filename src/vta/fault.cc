#include "src/vta/fault.h"

#include <cstddef>
#include <iterator>

namespace tilewright::vta {

std::string_view FaultKindName(FaultKind kind) {
  static constexpr std::string_view kNames[] = {"bad instruction", "bad token",   "bad finish",
                                                "token underflow", "deadlock",    "tokens left",
                                                "buffer overrun",  "bad address", "race",
                                                "wrong order",     "not written", "stale output"};
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : "?";
}

}  // namespace tilewright::vta
