#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::vta {

/// Kind of error in a stream.
enum class FaultKind : std::uint8_t {
  kBadInstruction,  ///< fields that no engine can execute
  kBadToken,        ///< a token flag that the engine has no queue for
  kBadFinish,  ///< FINISH missing, not last, popping, or not ordered after all other instructions
  kTokenUnderflow,  ///< waits for a token that no later instruction pushes
  kDeadlock,        ///< engines wait for each other
  kTokensLeft,      ///< tokens that no instruction popped
  kBufferOverrun,   ///< an on-chip address beyond the memory
  kBadAddress,      ///< DRAM address outside every buffer, or a write to a read-only one
  kRace,            ///< accesses of two engines without ordering by tokens
  kWrongOrder,      ///< accesses that tokens order against the stream
  kNotWritten,      ///< reads data that no instruction wrote
  kStaleOutput,     ///< stores data written only by a load or reset: hardware keeps older data
};
/// Returns "deadlock", "race" and so on.
std::string_view FaultKindName(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kBadInstruction;
  std::int64_t instruction = 0;  ///< position in the stream, from 0
  std::string message;           ///< with the instruction and the missing or expected condition
};

}  // namespace tilewright::vta
