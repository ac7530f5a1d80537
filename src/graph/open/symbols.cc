#include "src/graph/open/symbols.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>
#include <set>

namespace tilewright {
namespace {

/// Adds the open dimensions of a value to `places` of their symbols.
void AddPlaces(const onnx::ValueInfoProto& value, std::vector<SymbolPlace> Symbol::*places,
               std::vector<Symbol>& symbols) {
  const auto& shape = value.type().tensor_type().shape();
  for (int i = 0; i < shape.dim_size(); ++i) {
    const auto& dim = shape.dim(i);
    const std::string& name = dim.dim_param();
    // Exporters write these for several dimensions of different sizes.
    if (dim.has_dim_value() || name.empty() || name == "?" || name == "None" || name == "-1") {
      continue;
    }
    auto known = std::ranges::find(symbols, name, &Symbol::name);
    if (known == symbols.end()) known = symbols.insert(known, Symbol{name, {}, {}});
    ((*known).*places).push_back({value.name(), i});
  }
}

}  // namespace

std::vector<Symbol> SymbolsOf(std::string_view bytes) {
  std::vector<Symbol> symbols;
  onnx::ModelProto model;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return symbols;
  }
  std::set<std::string> constants;
  for (const auto& constant : model.graph().initializer()) constants.insert(constant.name());
  for (const auto& input : model.graph().input()) {
    if (!constants.contains(input.name())) AddPlaces(input, &Symbol::inputs, symbols);
  }
  for (const auto& output : model.graph().output()) {
    AddPlaces(output, &Symbol::outputs, symbols);
  }
  return symbols;
}

}  // namespace tilewright
