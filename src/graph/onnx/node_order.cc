// Topological order of ONNX nodes. ONNX requires it of a file, but not every writer keeps it.

#include "src/graph/onnx/node_order.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "src/graph/onnx/inline_and_unroll.h"

namespace tilewright {

using onnx::NodeProto;

std::string DescribeNode(const NodeProto& node, int position) {
  std::string text = "node " + std::to_string(position);
  if (!node.name().empty()) text += " '" + node.name() + "'";
  text += " (" + node.op_type() + ")";
  if (node.name().empty() && node.output_size() > 0 && !node.output(0).empty()) {
    text += " making '" + node.output(0) + "'";
  }
  return text;
}

namespace {

// Returns the producers of values among the nodes.
// Returns kInvalidArgument for a value that is defined twice.
Result<std::map<std::string, int, std::less<>>> MakersOf(const OnnxNodes& nodes,
                                                         const OnnxImport& import) {
  std::map<std::string, int, std::less<>> makers;
  for (int i = 0; i < std::ssize(nodes); ++i) {
    const NodeProto& node = *nodes[static_cast<std::size_t>(i)];
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      if (!makers.emplace(output, i).second || import.Knows(output) ||
          import.refused.contains(output)) {
        return InvalidArgument(DescribeNode(node, i) + ": value '" + output + "' is defined twice");
      }
    }
  }
  return makers;
}

}  // namespace

Result<std::vector<int>> NodeOrder(const OnnxNodes& nodes, const OnnxImport& import) {
  TW_ASSIGN_OR_RETURN(auto makers, MakersOf(nodes, import));
  const std::size_t count = nodes.size();
  std::vector<int> waiting(count, 0);
  std::vector<std::vector<int>> readers(count);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  const auto wait_for = [&](int reader, int maker) {
    readers[static_cast<std::size_t>(maker)].push_back(reader);
    ++waiting[static_cast<std::size_t>(reader)];
  };
  for (int i = 0; i < std::ssize(nodes); ++i) {
    const NodeProto& node = *nodes[static_cast<std::size_t>(i)];
    for (const std::string& input : node.input()) {
      if (input.empty() || import.Knows(input) || import.refused.contains(input)) continue;
      const auto maker = makers.find(input);
      if (maker == makers.end()) {
        return InvalidArgument(
            DescribeNode(node, i) + ": input '" + input +
            "' is computed by no node and is neither an initializer nor an input "
            "of the graph");
      }
      wait_for(i, maker->second);
    }
    for (const std::string& captured : CapturedValues(node)) {
      const auto maker = makers.find(captured);
      if (maker != makers.end()) wait_for(i, maker->second);
    }
    if (waiting[static_cast<std::size_t>(i)] == 0) ready.push(i);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (int reader : readers[static_cast<std::size_t>(node)]) {
      if (--waiting[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
    }
  }
  if (order.size() != count) {
    const auto stuck = std::ranges::find_if(waiting, [](int n) { return n > 0; });
    const int node = static_cast<int>(stuck - waiting.begin());
    return InvalidArgument(DescribeNode(*nodes[static_cast<std::size_t>(node)], node) +
                           ": its input depends on its own output (a cycle)");
  }
  return order;
}

}  // namespace tilewright
