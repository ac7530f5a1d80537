#include "src/optimize/site_times.h"

#include <map>
#include <string>

namespace tilewright::optimize {
namespace {

/// Site of each group's result, by name.
std::map<std::string, int, std::less<>> SitesOfResults(
    const PartitionedGraph& network, const std::function<int(std::string_view)>& site_of) {
  std::vector<int> sites(network.groups.size(), -1);
  std::map<int, std::vector<std::size_t>> readers;  // of values
  std::map<int, std::size_t> makers;
  for (std::size_t i = 0; i < network.groups.size(); ++i) {
    const FusedGroup& group = network.groups[i];
    if (group.anchor) sites[i] = site_of(network.graph.node(*group.anchor).name);
    for (const int input : group.inputs) readers[input].push_back(i);
    makers.emplace(group.output, i);
  }
  // Groups are in topological order: readers are later, makers earlier.
  for (std::size_t i = network.groups.size(); i-- > 0;) {
    if (sites[i] >= 0) continue;
    for (const std::size_t reader : readers[network.groups[i].output]) {
      if (sites[i] < 0) sites[i] = sites[reader];
    }
  }
  for (std::size_t i = 0; i < network.groups.size(); ++i) {
    for (const int input : network.groups[i].inputs) {
      const auto maker = makers.find(input);
      if (sites[i] < 0 && maker != makers.end()) sites[i] = sites[maker->second];
    }
  }
  std::map<std::string, int, std::less<>> named;
  for (std::size_t i = 0; i < network.groups.size(); ++i) {
    named.emplace(network.graph.node(network.groups[i].output).name, sites[i]);
  }
  return named;
}

}  // namespace

std::vector<double> AttributeSeconds(const PartitionedGraph& network,
                                     const RunnableNetwork& library,
                                     std::span<const double> seconds,
                                     const std::function<int(std::string_view)>& site_of,
                                     std::size_t site_count) {
  const auto sites = SitesOfResults(network, site_of);
  std::vector<double> result(site_count, 0.0);
  int last = -1;  // a step without a group of its own (a layout change) follows what it serves
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const auto found = sites.find(library.operators()[i].result.name);
    if (found != sites.end()) last = found->second;
    if (last >= 0) result[static_cast<std::size_t>(last)] += seconds[i];
  }
  return result;
}

}  // namespace tilewright::optimize
