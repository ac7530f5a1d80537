#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "src/base/status.h"
#include "src/compiler/options/options.h"
#include "src/compiler/plan/plan.h"
#include "src/graph/open/positions.h"

namespace tilewright {

/// Kernels of smaller blocks of positions for the steps of a plan of large ones. They read the same
/// constants, in the same layouts.
class SmallBlocks {
 public:
  /// plan: of a block of PositionNetwork::LargeUnit; read by ProgramOf alone. All arguments outlive
  /// this.
  /// unit: of the blocks.
  SmallBlocks(const PositionNetwork& network, std::int64_t unit, const Plan& plan,
              const CompileOptions& options);
  std::int64_t unit() const { return unit_; }

  /// Returns the kernel of a step; none if no config has the large kernel's layouts.
  std::optional<Program> ProgramOf(const PlanStep& step);

 private:
  std::optional<Program> Anchor(const FusedGroup& group, const PlanStep& step);
  std::optional<Program> Group(const FusedGroup& group, const PlanStep& step) const;
  std::optional<Program> Transform(const PlanStep& step) const;

  std::int64_t unit_;
  const Plan& plan_;
  const CompileOptions& options_;
  std::optional<PartitionedGraph> small_;
  std::map<std::string, std::optional<Program>> anchors_;  // by workload, epilogue and config
};

}  // namespace tilewright
