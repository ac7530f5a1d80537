#include "src/target/cpu_instruction_sets.h"

#include <algorithm>

namespace tilewright {
namespace {

struct CpuInstructionSets {
  std::string_view name;
  std::string_view base;  // another processor; this one has all its instruction sets
  std::string_view more;  // separated by spaces
};

// Equal to LLVM 19's lists; a test compares them.
constexpr CpuInstructionSets kCpuInstructionSets[] = {
    {"x86-64-v2", "", "sse3 ssse3 sse4.1 sse4.2 popcnt"},
    {"x86-64-v3", "x86-64-v2", "avx avx2 bmi bmi2 f16c fma lzcnt movbe"},
    {"x86-64-v4", "x86-64-v3", "avx512f avx512bw avx512cd avx512dq avx512vl"},
    {"haswell", "x86-64-v3", ""},
    {"broadwell", "x86-64-v3", ""},
    {"skylake", "x86-64-v3", ""},
    {"skylake-avx512", "x86-64-v4", ""},
    {"cascadelake", "x86-64-v4", "avx512vnni"},
    {"icelake-client", "x86-64-v4",
     "avx512ifma avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq gfni"},
    {"icelake-server", "icelake-client", ""},
    {"rocketlake", "icelake-client", ""},
    {"tigerlake", "icelake-client", ""},
    {"alderlake", "x86-64-v3", "avxvnni gfni"},
    {"raptorlake", "alderlake", ""},
    {"sapphirerapids", "icelake-server",
     "avx512bf16 avx512fp16 avxvnni amx-tile amx-int8 amx-bf16"},
    {"emeraldrapids", "sapphirerapids", ""},
    {"graniterapids", "sapphirerapids", "amx-fp16"},
    {"znver1", "x86-64-v3", "sse4a"},
    {"znver2", "znver1", ""},
    {"znver3", "znver1", ""},
    {"znver4", "znver1",
     "avx512f avx512bw avx512cd avx512dq avx512vl avx512ifma avx512vbmi avx512vbmi2 avx512vnni "
     "avx512bitalg avx512vpopcntdq avx512bf16 gfni"},
    {"znver5", "znver4", "avxvnni"},
};

}  // namespace

std::vector<std::string_view> InstructionSetsOf(std::string_view cpu) {
  std::vector<std::string_view> sets;
  while (!cpu.empty()) {
    const auto* found = std::ranges::find(kCpuInstructionSets, cpu, &CpuInstructionSets::name);
    if (found == std::end(kCpuInstructionSets)) return {};
    for (std::string_view rest = found->more; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      sets.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    cpu = found->base;
  }
  return sets;
}

}  // namespace tilewright
