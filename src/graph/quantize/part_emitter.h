#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/graph/ir/graph.h"

namespace tilewright::quantize {

/// Builder of a pass's intermediate values, with names that no other pass uses: "r0#hint0",
/// "r0#hint1", ….
class PartEmitter {
 public:
  /// part: name of this pass in the names of its values.
  PartEmitter(Graph& graph, std::string_view part) : graph_(graph), part_(part) {}

  std::string NameFor(std::string_view of);
  Result<int> Emit(std::string_view of, Operator op, std::vector<int> inputs);
  Result<int> EmitAnnotation(std::string_view of, Annotation annotation, int value);
  /// Adds a constant of one element.
  int EmitScalar(std::string_view of, DataType dtype, double value);

 private:
  Graph& graph_;
  std::string part_;
  int next_ = 0;
};

}  // namespace tilewright::quantize
