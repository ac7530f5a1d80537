// Trigonometric and hyperbolic functions and their inverses.

#include "src/graph/onnx/handlers.h"

namespace tilewright {
namespace {

template <OpKind kind>
void ImportFunction(OnnxNode& node) {
  node.Return(Operator{kind, {}}, {node.Input(0)});
}

constexpr OnnxHandlerEntry kTrigonometryHandlers[] = {
    {"Acos", &ImportFunction<OpKind::kAcos>}, {"Acosh", &ImportFunction<OpKind::kAcosh>},
    {"Asin", &ImportFunction<OpKind::kAsin>}, {"Asinh", &ImportFunction<OpKind::kAsinh>},
    {"Atan", &ImportFunction<OpKind::kAtan>}, {"Atanh", &ImportFunction<OpKind::kAtanh>},
    {"Cos", &ImportFunction<OpKind::kCos>},   {"Cosh", &ImportFunction<OpKind::kCosh>},
    {"Sin", &ImportFunction<OpKind::kSin>},   {"Sinh", &ImportFunction<OpKind::kSinh>},
    {"Tan", &ImportFunction<OpKind::kTan>},
};

}  // namespace

std::span<const OnnxHandlerEntry> OnnxTrigonometryHandlers() { return kTrigonometryHandlers; }

}  // namespace tilewright
