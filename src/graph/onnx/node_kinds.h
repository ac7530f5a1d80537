#pragma once

#include <string>
#include <string_view>

#include "src/graph/onnx/proto.h"

namespace tilewright {

/// "" for ONNX's own domain, which has two spellings.
inline std::string DomainOf(const onnx::NodeProto& node) {
  return node.domain() == "ai.onnx" ? "" : node.domain();
}

/// Nodes in whose place a graph stands that they have as an attribute.
inline bool IsIf(const onnx::NodeProto& node) {
  return node.op_type() == "If" && DomainOf(node).empty();
}
inline bool IsScan(const onnx::NodeProto& node) {
  return node.op_type() == "Scan" && DomainOf(node).empty();
}
inline bool IsLoop(const onnx::NodeProto& node) {
  return node.op_type() == "Loop" && DomainOf(node).empty();
}

/// A graph that is an attribute; null if there is none of that name.
inline const onnx::GraphProto* GraphOf(const onnx::NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name && attribute.has_g()) return &attribute.g();
  }
  return nullptr;
}

}  // namespace tilewright
