#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "src/compiler/run/run.h"
#include "src/graph/partition/partition.h"

namespace tilewright::optimize {

/// Returns the seconds of each site, among which the times of a library's operators are divided. A
/// group without a product (a pool, a conversion) counts for the site that reads its result, or
/// without one for the site before it. Operators that no site is near count for none.
///
/// network: partition of the library's graph. seconds: of library.operators(). site_of: site of a
/// product's name, or -1. site_count: number of sites.
std::vector<double> AttributeSeconds(const PartitionedGraph& network,
                                     const RunnableNetwork& library,
                                     std::span<const double> seconds,
                                     const std::function<int(std::string_view)>& site_of,
                                     std::size_t site_count);

}  // namespace tilewright::optimize
