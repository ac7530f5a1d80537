#include "src/templates/text/keywords.h"

#include <algorithm>
#include <array>

namespace tilewright {
namespace {

constexpr int kMany = 16;  // loops that one statement names

using enum ScheduleStage;
constexpr std::array kFunctions = {
    ScheduleFunction{"arrange", 1, 4, 0, kForm},
    ScheduleFunction{"axes", 1, 1, 1, kSchedule},
    ScheduleFunction{"axis", 2, 2, 1, kSchedule},
    ScheduleFunction{"bind", 2, 2, 0, kSchedule},
    ScheduleFunction{"cache_read", 3, 3, 1, kSchedule},
    ScheduleFunction{"cache_write", 2, 2, 1, kSchedule},
    ScheduleFunction{"ceil_div", 2, 2, 1, kWorkload},
    ScheduleFunction{"compute_at", 2, 2, 0, kSchedule},
    ScheduleFunction{"dilation", 1, 1, 1, kWorkload},
    ScheduleFunction{"divisor", 2, 2, 1, kWorkload},
    ScheduleFunction{"divisors", 1, 1, 1, kWorkload},
    ScheduleFunction{"double_buffer", 1, 1, 0, kSchedule},
    ScheduleFunction{"extent", 1, 1, 1, kSchedule},
    ScheduleFunction{"feature", 1, 1, 1, kWorkload},
    ScheduleFunction{"flat", 2, 4, 0, kSchedule},
    ScheduleFunction{"form", 2, 4, 0, kForm},
    ScheduleFunction{"fuse", 1, kMany, 1, kSchedule},
    ScheduleFunction{"groups", 0, 0, 1, kWorkload},
    ScheduleFunction{"has", 1, 1, 1, kSchedule},
    ScheduleFunction{"inline", 1, 1, 0, kSchedule},
    ScheduleFunction{"keep", 1, 1, 0, kSchedule},
    ScheduleFunction{"layout", 1, 1, 1, kWorkload},
    ScheduleFunction{"max", 2, 2, 1, kWorkload},
    ScheduleFunction{"min", 2, 2, 1, kWorkload},
    ScheduleFunction{"pad_rows", 3, 3, 0, kSchedule},
    ScheduleFunction{"padding", 1, 1, 1, kWorkload},
    ScheduleFunction{"parallel", 1, 1, 0, kSchedule},
    ScheduleFunction{"parts", 2, 2, 2, kSchedule},
    ScheduleFunction{"pipeline", 2, 2, 0, kSchedule},
    ScheduleFunction{"powers", 1, 1, 1, kWorkload},
    ScheduleFunction{"pragma", 3, 3, 0, kSchedule},
    ScheduleFunction{"prefetch", 3, 4, 0, kSchedule},
    ScheduleFunction{"range", 2, 2, 1, kWorkload},
    ScheduleFunction{"rank", 1, 1, 1, kWorkload},
    ScheduleFunction{"reduced", 2, 2, 1, kSchedule},
    ScheduleFunction{"reductions", 1, 1, 1, kSchedule},
    ScheduleFunction{"reorder", 1, kMany, 0, kSchedule},
    ScheduleFunction{"rfactor", 3, 3, 1, kSchedule},
    ScheduleFunction{"scope", 2, 2, 0, kSchedule},
    ScheduleFunction{"size", 2, 2, 1, kWorkload},
    ScheduleFunction{"skip_zero_taps", 1, 1, 0, kSchedule},
    ScheduleFunction{"split", 2, 3, 2, kSchedule},
    ScheduleFunction{"splits", 2, 2, 1, kWorkload},
    ScheduleFunction{"stage", 1, 1, 1, kSchedule},
    ScheduleFunction{"stride", 1, 1, 1, kWorkload},
    ScheduleFunction{"tensorize", 2, 2, 0, kSchedule},
    ScheduleFunction{"thrifty", 2, 2, 1, kWorkload},
    ScheduleFunction{"type", 1, 1, 1, kWorkload},
    ScheduleFunction{"unroll", 1, 1, 0, kSchedule},
    ScheduleFunction{"vectorize", 1, 1, 0, kSchedule},
    ScheduleFunction{"workload", 0, 0, 1, kWorkload},
};
static_assert(std::ranges::is_sorted(kFunctions, {}, &ScheduleFunction::name));

constexpr std::array<std::string_view, 35> kScheduleWords = {
    "block_x",       "block_y",        "block_z",    "contraction",    "copied_columns",
    "data",          "global",         "joined",     "lanes",          "local",
    "multiply_type", "output",         "pack",       "peel",           "registers",
    "result",        "shared",         "shift_data", "sums_in_blocks", "turned_columns",
    "thread_x",      "thread_y",       "thread_z",   "threads",        "turn",
    "vector_bytes",  "virtual_thread", "weight",     "winograd",       "avx2",
    "avx512",        "avx512_vnni",    "avx_vnni",   "neon",           "spatial_pack"};

constexpr std::array<std::string_view, 11> kStatements = {
    "schedule", "for", "on", "knob", "where", "require", "if", "else", "default", "and", "or"};

}  // namespace

const ScheduleFunction* FindScheduleFunction(std::string_view name) {
  const auto found = std::ranges::lower_bound(kFunctions, name, {}, &ScheduleFunction::name);
  return found != kFunctions.end() && found->name == name ? &*found : nullptr;
}

bool IsScheduleKeyword(std::string_view name) {
  return std::ranges::count(kScheduleWords, name) > 0;
}

bool IsReservedInSchedules(std::string_view name) {
  return name == "not" || IsScheduleKeyword(name) || std::ranges::count(kStatements, name) > 0 ||
         FindScheduleFunction(name) != nullptr;
}

int ScheduleOperatorRank(std::string_view text, bool unary) {
  if (unary) return text == "not" ? 3 : text == "-" ? 7 : 0;
  if (text == "or") return 1;
  if (text == "and") return 2;
  constexpr std::array<std::string_view, 6> kComparisons = {"==", "!=", "<", "<=", ">", ">="};
  if (std::ranges::count(kComparisons, text) > 0) return 4;
  if (text == "+" || text == "-") return 5;
  return text == "*" || text == "/" || text == "%" ? 6 : 0;
}

}  // namespace tilewright
