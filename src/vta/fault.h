#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::vta {

/// What is wrong with a stream.
enum class FaultKind : std::uint8_t {
  kBadInstruction,  ///< fields that no engine can execute
  kBadToken,        ///< a token flag that the engine has no queue for
  kBadFinish,       ///< FINISH missing, not last, popping, or not behind everything else
  kTokenUnderflow,  ///< waits for a token that no instruction pushes any more
  kDeadlock,        ///< engines wait for each other
  kTokensLeft,      ///< tokens that nobody took
  kBufferOverrun,   ///< an on-chip address beyond the memory
  kBadAddress,      ///< a DRAM address outside every buffer, or in one that may not be written
  kRace,            ///< accesses of two engines that no token orders
  kWrongOrder,      ///< accesses that tokens order against the stream
  kNotWritten,      ///< reads what nothing has written
  kStaleOutput,     ///< stores what only a load or reset has written: hardware keeps older data
};
/// "deadlock", "race" and so on.
std::string_view FaultKindName(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kBadInstruction;
  std::int64_t instruction = 0;  ///< its place in the stream, from 0
  std::string message;           ///< with the instruction and what was waited for or expected
};

}  // namespace tilewright::vta
