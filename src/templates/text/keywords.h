#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "src/ir/stmt.h"

namespace tilewright {

/// Phase in which a function of a schedule's text can be called.
enum class ScheduleStage : std::uint8_t {
  kWorkload,  ///< functions of numbers, the workload and the target
  kForm,      ///< sets layouts of tensors: before the first call that touches stages and loops
  kSchedule,  ///< functions of stages and loops
};

/// Function of the language of schedule texts.
struct ScheduleFunction {
  std::string_view name;
  int min_arguments, most;  ///< arguments
  int results;              ///< number of names that can be assigned
  ScheduleStage stage;
};
/// Returns the function of a name; null if there is none.
const ScheduleFunction* FindScheduleFunction(std::string_view name);

/// Whether the name is a word of the language (`local`, `peel`) or a number of the target
/// (`lanes`).
bool IsScheduleKeyword(std::string_view name);
/// Whether the name is a keyword, or that of a statement or function: knobs and variables cannot
/// have it.
bool IsReservedInSchedules(std::string_view name);
/// Loop kinds, and the words for them.
inline constexpr std::array<std::pair<LoopKind, std::string_view>, 7> kThreadKeywords = {
    {{LoopKind::kBlockX, "block_x"},
     {LoopKind::kBlockY, "block_y"},
     {LoopKind::kBlockZ, "block_z"},
     {LoopKind::kThreadX, "thread_x"},
     {LoopKind::kThreadY, "thread_y"},
     {LoopKind::kThreadZ, "thread_z"},
     {LoopKind::kVirtualThread, "virtual_thread"}}};
/// Precedence of an operator, 1 (`or`) to 6 (a sign); 0: not an operator.
int ScheduleOperatorRank(std::string_view text, bool unary);

}  // namespace tilewright
