#pragma once

#include <string>

#include "src/graph/ir/graph.h"

namespace tilewright {

/// Summary of a graph as text (`tilewright inspect`): inputs, outputs, operators by count,
/// parameters, MACs.
std::string DescribeGraph(const Graph& graph);
/// The same as JSON: name, inputs, outputs, operators {name: count}, nodes, parameters,
/// parameter_bytes, macs.
std::string DescribeGraphJson(const Graph& graph);

}  // namespace tilewright
