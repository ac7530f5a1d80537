#include "src/graph/quantize/part_emitter.h"

#include <fmt/format.h>

namespace tilewright::quantize {

std::string PartEmitter::NameFor(std::string_view of) {
  return fmt::format("{}#{}{}", SourceName(of), part_, next_++);
}

Result<int> PartEmitter::Emit(std::string_view of, Operator op, std::vector<int> inputs) {
  return graph_.AddOperator(NameFor(of), std::move(op), std::move(inputs));
}

Result<int> PartEmitter::EmitAnnotation(std::string_view of, Annotation annotation, int value) {
  auto id = Emit(of, Operator{OpKind::kIdentity, {}}, {value});
  if (id.ok()) graph_.Annotate(*id, {}, std::move(annotation));
  return id;
}

int PartEmitter::EmitScalar(std::string_view of, DataType dtype, double value) {
  Tensor scalar(TensorType{{}, dtype});
  scalar.Set(0, value);
  return graph_.AddConstant(NameFor(of), std::move(scalar));
}

}  // namespace tilewright::quantize
