#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "src/compiler/run/run.h"
#include "src/graph/partition/partition.h"

namespace tilewright::optimize {

/// Times of a network's sites in one library.
struct SiteSeconds {
  std::vector<double> sites;
  double others = 0;  ///< operators that no site is near
};

/// Divides the times of a library's operators among the sites. A group without a product (a pool, a
/// conversion) counts for the site that reads its result, or without one for the site before it.
///
/// network: partition of the library's graph. seconds: of library.operators(). site_of: site of a
/// product's name, or -1. site_count: number of sites.
SiteSeconds AttributeSeconds(const PartitionedGraph& network, const RunnableNetwork& library,
                             std::span<const double> seconds,
                             const std::function<int(std::string_view)>& site_of,
                             std::size_t site_count);

}  // namespace tilewright::optimize
