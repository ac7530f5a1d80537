#pragma once

#include <string>
#include <string_view>

#include "src/graph/onnx/proto.h"

namespace tilewright {

/// Returns the domain of a node, "" for both spellings of ONNX's own domain.
inline std::string DomainOf(const onnx::NodeProto& node) {
  return node.domain() == "ai.onnx" ? "" : node.domain();
}

/// Return whether a node is an If, Scan or Loop. Graphs in its attributes replace such a node.
inline bool IsIf(const onnx::NodeProto& node) {
  return node.op_type() == "If" && DomainOf(node).empty();
}
inline bool IsScan(const onnx::NodeProto& node) {
  return node.op_type() == "Scan" && DomainOf(node).empty();
}
inline bool IsLoop(const onnx::NodeProto& node) {
  return node.op_type() == "Loop" && DomainOf(node).empty();
}

/// Returns a graph attribute; null if absent.
inline const onnx::GraphProto* GraphOf(const onnx::NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name && attribute.has_g()) return &attribute.g();
  }
  return nullptr;
}

}  // namespace tilewright
