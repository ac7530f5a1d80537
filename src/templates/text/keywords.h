#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "src/ir/stmt.h"

namespace tilewright {

/// When a function of a schedule's text can be asked.
enum class ScheduleStage : std::uint8_t {
  kWorkload,  ///< of numbers, the workload and the target
  kForm,      ///< says how tensors lie: before the first of stages and loops
  kSchedule,  ///< of stages and loops
};

/// What may be called in the text of a schedule.
struct ScheduleFunction {
  std::string_view name;
  int min_arguments, most;  ///< arguments
  int results;              ///< names that it can be assigned to
  ScheduleStage stage;
};
/// Null if there is none of the name.
const ScheduleFunction* FindScheduleFunction(std::string_view name);
/// Of all of them, sorted by name.
std::span<const ScheduleFunction> ScheduleFunctions();

/// Names that stand for themselves (`local`, `peel`), or for a number of the target (`lanes`).
bool IsScheduleKeyword(std::string_view name);
/// ... and those of statements and functions: none of them can be given.
bool IsReservedInSchedules(std::string_view name);
/// What a loop can be bound to, by the word for it.
inline constexpr std::array<std::pair<LoopKind, std::string_view>, 7> kThreadKeywords = {
    {{LoopKind::kBlockX, "block_x"},
     {LoopKind::kBlockY, "block_y"},
     {LoopKind::kBlockZ, "block_z"},
     {LoopKind::kThreadX, "thread_x"},
     {LoopKind::kThreadY, "thread_y"},
     {LoopKind::kThreadZ, "thread_z"},
     {LoopKind::kVirtualThread, "virtual_thread"}}};
/// How tight an operator binds, 1 (`or`) to 6 (a sign); 0: no operator.
int ScheduleOperatorRank(std::string_view text, bool unary);

}  // namespace tilewright
