#pragma once

#include "src/compiler/plan/group_kernel.h"
#include "src/compiler/plan/physical_layout.h"
#include "src/target/cpu.h"
#include "src/target/target.h"
#include "src/tensor/compute/compute.h"
#include "src/tensor/workload.h"

namespace tilewright {

/// Estimated times of kernels, for comparing layouts with one another. Differences are measured (on
/// Zen 4, bench/results); sums are unreliable.
class LayoutCosts {
 public:
  /// Errors: those of FeaturesOf.
  static Result<LayoutCosts> For(const Target& target);

  /// Returns the seconds of an anchor's default kernel in these layouts, with its multiply-adds by
  /// zeros.
  double Anchor(const Workload& workload, const KernelLayouts& layouts) const;
  /// Returns the seconds of a group without an anchor; 0 if it only names parts of memory.
  double Group(const Graph& graph, const FusedGroup& group, const GroupKernel& kernel,
               const PhysicalLayout& layouts) const;
  /// Returns the seconds of one layout change.
  double Change(const TensorType& type, const PhysicalLayout& from, const PhysicalLayout& to) const;

 private:
  LayoutCosts(const CpuFeatures& features, int threads) : features_(features), threads_(threads) {}

  /// Returns true for products in AMX tile registers: of these types, only they write NHWC.
  bool UsesTiles(const Workload& workload, const KernelLayouts& layouts) const;

  CpuFeatures features_;
  int threads_;
};

}  // namespace tilewright
