#include "src/templates/arm/annotations.h"

#include <algorithm>
#include <utility>

#include "src/target/cpu.h"
#include "src/templates/workload_kind.h"

namespace tilewright {
namespace {

constexpr std::string_view kVectorWord = "vec", kUnrollWord = "unroll";

}  // namespace

std::string RefusesForArm(const Workload& w, const Target& target) {
  const std::string architecture = ArchitectureOf(target);
  const bool arm = architecture == "aarch64" || architecture == "arm" ||
                   std::ranges::count(target.keys(), "arm_cpu") > 0;
  if (!arm) return "only Arm CPUs and targets with -device=arm_cpu";
  return IsFloat32(w) || IsInt8(w) ? "" : "only float32, and 8-bit integers summed in int32";
}

Knob AnnotateKnob(std::string name, const std::vector<std::string>& words, int axes) {
  std::vector<std::vector<std::string>> all = {{}};
  for (int axis = 0; axis < axes; ++axis) {
    std::vector<std::vector<std::string>> longer;
    for (const std::vector<std::string>& assignment : all) {
      for (const std::string& word : words) {
        if (word == kVectorWord && std::ranges::count(assignment, word) > 0) continue;
        longer.push_back(assignment);
        longer.back().push_back(word);
      }
    }
    all = std::move(longer);
  }
  std::vector<KnobValue> values;
  for (std::vector<std::string>& assignment : all) {
    values.emplace_back().value = std::move(assignment);
  }
  return Knob::Candidates(std::move(name), KnobKind::kAnnotate, std::move(values));
}

std::vector<AnnotatedLoop> Annotated(const std::array<LoopId, 3>& loops, const Config& config,
                                     const std::array<const char*, 3>& tiles, const char* knob) {
  const auto& words = config.Words(knob);
  std::vector<AnnotatedLoop> tile;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    tile.push_back({loops[i], config.Factors(tiles[i])[1], words[i]});
  }
  return tile;
}

std::vector<LoopId> TileOrder(const std::vector<AnnotatedLoop>& tile) {
  std::vector<LoopId> order;
  for (const bool vector : {false, true}) {
    for (const AnnotatedLoop& each : tile) {
      if ((each.word == kVectorWord) == vector) order.push_back(each.loop);
    }
  }
  return order;
}

void AnnotateTile(Schedule& s, StageId stage, const std::vector<AnnotatedLoop>& tile,
                  std::int64_t max_unroll) {
  for (const AnnotatedLoop& each : tile) {
    if (each.extent == 1) continue;
    if (each.word == kVectorWord) {
      s.Vectorize(stage, each.loop);
    } else if (each.word == kUnrollWord && each.extent <= max_unroll) {
      s.Unroll(stage, each.loop);
    }
  }
}

}  // namespace tilewright
