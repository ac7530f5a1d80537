#include "src/report/text/outputs.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "src/base/format_printable.h"
#include "src/base/hash.h"
#include "src/base/json.h"

namespace tilewright::report {
namespace {

/// Returns the lines of an output: the largest elements, the first one of equal ones first.
std::string TopText(const std::string& name, const Tensor& output) {
  std::string text = FormatPrintable("{} {}\n", name, output.type().ToString());
  std::vector<std::int64_t> order(static_cast<std::size_t>(output.elements()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  const std::size_t shown = std::min<std::size_t>(5, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      return output.At(a) != output.At(b) ? output.At(a) > output.At(b) : a < b;
                    });
  for (std::size_t i = 0; i < shown; ++i) {
    text += FormatPrintable("  {:>6}  {:.7g}\n", order[i], output.At(order[i]));
  }
  return text;
}

/// Returns an element as a number, with every digit of an integer.
Json ElementJson(const Tensor& tensor, std::int64_t index) {
  const DataType dtype = tensor.dtype();
  if (!dtype.is_integer() || dtype.bits < 64) return tensor.At(index);
  const auto at = static_cast<std::size_t>(index);
  if (dtype.code == TypeCode::kUInt) return tensor.As<std::uint64_t>()[at];
  return tensor.As<std::int64_t>()[at];
}

}  // namespace

Json OutputsJson(const std::vector<ModelValue>& values, const std::vector<Tensor>& outputs) {
  Json list = Json::array();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    Json elements = Json::array();
    for (std::int64_t j = 0; j < output.elements(); ++j) elements.push_back(ElementJson(output, j));
    const std::span bytes(output.data(), static_cast<std::size_t>(output.bytes()));
    list.push_back({{"name", values[i].name},
                    {"shape", output.shape()},
                    {"dtype", DataTypeName(output.dtype())},
                    {"crc32", HexOf(Crc32(bytes)).substr(8)},
                    {"values", std::move(elements)}});
  }
  return list;
}

std::string OutputsText(const std::vector<ModelValue>& values, const std::vector<Tensor>& outputs) {
  std::string text;
  for (std::size_t i = 0; i < outputs.size(); ++i) text += TopText(values[i].name, outputs[i]);
  return text;
}

}  // namespace tilewright::report
