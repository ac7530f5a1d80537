#include "src/templates/products.h"

#include "src/tensor/compute/winograd.h"

namespace tilewright {

double ProductShareOf(const TemplateEntry& entry, const Workload& workload,
                      const Epilogue& epilogue, const Target& target, const Config& config) {
  // The other templates compute the products of the definition; applying a template takes a
  // millisecond.
  if (entry.only_reorders_sums || entry.apply == nullptr) return 1;
  const auto shape = ConvShapeOf(workload);
  if (!shape.ok()) return 1;
  const auto kernel = ApplyTemplate(entry, workload, epilogue, target, config);
  return kernel.ok() ? WinogradProductShare(kernel->layouts.winograd_tile, shape->r) : 1;
}

}  // namespace tilewright
