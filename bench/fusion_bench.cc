// fusion_bench [--threads N] [--seconds N] FILE...: the time of each group of operators that
// the compiler fuses, against the time of its operators as kernels of their own. Both libraries run
// in turns; times of operators are the minimum. A group is taken apart by making the values inside
// of it outputs of the network. Prints a row of a Markdown table for each network, and a line for
// each group that is faster apart.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "bench/network_rows.h"
#include "src/base/files/locked_temp_dir.h"
#include "src/graph/partition/partition.h"
#include "src/optimize/race.h"

namespace tilewright {
namespace {

/// Returns the values inside of groups of several operators: after an anchor, or after every
/// operator of a group without one.
std::vector<int> InnerValues(const PartitionedGraph& network) {
  std::vector<int> values;
  for (const FusedGroup& group : network.groups) {
    if (group.alias) continue;
    for (const int node : group.nodes) {
      if (node != group.output && node == group.anchor.value_or(node)) values.push_back(node);
    }
  }
  return values;
}

/// Seconds of the operators of a library, by the names of their results.
std::map<std::string, double> SecondsByName(const ModelLibrary& library,
                                            const std::vector<double>& seconds) {
  std::map<std::string, double> named;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    named[library.operators()[i].result.name] += seconds[i];
  }
  return named;
}

/// Returns the sum over a group's values.
double SumOf(const PartitionedGraph& network, const FusedGroup& group,
             const std::map<std::string, double>& named) {
  double sum = 0;
  for (const int node : group.nodes) {
    const auto found = named.find(network.graph.node(node).name);
    if (found != named.end()) sum += found->second;
  }
  return sum;
}

Status Measure(const NetworkArguments& arguments, BenchNetwork&& source) {
  TW_ASSIGN_OR_RETURN(const auto network,
                      Partition(source.graph.Clone(), source.options.target, false));
  TW_ASSIGN_OR_RETURN(const auto folder, LockedTempDir::Create("tilewright-fusion"));
  Graph apart = network.graph.Clone();
  std::vector<int> outputs = apart.outputs();
  for (const int value : InnerValues(network)) {
    if (std::ranges::find(outputs, value) == outputs.end()) outputs.push_back(value);
  }
  apart.SetOutputs(std::move(outputs));
  TW_RETURN_IF_ERROR(Compile(std::move(source.graph), source.options, folder.path() + "/fused.so"));
  TW_RETURN_IF_ERROR(Compile(std::move(apart), source.options, folder.path() + "/apart.so"));
  TW_ASSIGN_OR_RETURN(const auto first, ModelLibrary::Open(folder.path() + "/fused.so"));
  TW_ASSIGN_OR_RETURN(const auto second, ModelLibrary::Open(folder.path() + "/apart.so"));
  const ModelLibrary* const libraries[] = {&first, &second};
  optimize::RaceLimits limits;
  limits.seconds = arguments.seconds;
  TW_ASSIGN_OR_RETURN(const auto seconds, OperatorSeconds(libraries, source.inputs, limits));
  const auto fused_named = SecondsByName(first, seconds[0]);
  const auto apart_named = SecondsByName(second, seconds[1]);
  int groups = 0, better = 0;
  double fused_sum = 0, apart_sum = 0, gain = 0, total = 0;
  std::string lines;
  for (const double one : seconds[0]) total += one;
  for (const FusedGroup& group : network.groups) {
    const double together = SumOf(network, group, fused_named);
    const double separate = SumOf(network, group, apart_named);
    if (group.alias || group.nodes.size() < 2 || together == 0 || separate == 0) continue;
    ++groups;
    fused_sum += together;
    apart_sum += separate;
    constexpr double kNoise = 0.97;
    if (separate > kNoise * together) continue;
    ++better;
    gain += together - separate;
    lines += fmt::format("{}: {:.1f} us fused, {:.1f} us apart\n",
                         network.graph.node(group.output).name, 1e6 * together, 1e6 * separate);
  }
  fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {} | {:.1f} % |\n", source.name, groups,
             1e3 * fused_sum, 1e3 * apart_sum, apart_sum / fused_sum, better, 100 * gain / total);
  fmt::print(stderr, "{}", lines);
  return {};
}

}  // namespace
}  // namespace tilewright

int main(int count, char** texts) {
  using namespace tilewright;
  return MeasureNetworks(
      count, texts, {.threads = 1, .seconds = 10},
      "fusion_bench [--threads N] [--seconds N] FILE...",
      "| network | fused groups | fused, ms | apart, ms | ratio | faster apart | gain of those |\n"
      "|---|---|---|---|---|---|---|\n",
      &Measure);
}
