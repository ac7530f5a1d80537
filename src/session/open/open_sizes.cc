#include "src/session/open/open_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/graph/ir/describe.h"
#include "src/session/tasks.h"

namespace tilewright::session {
namespace {

constexpr std::int64_t kMaxFileBytes = std::int64_t{2} << 30;

/// Returns for example "ids[1], mask[1]".
std::string PlacesText(const std::vector<SymbolPlace>& places) {
  std::string text;
  for (const SymbolPlace& place : places) {
    text +=
        fmt::format("{}{}[{}]", text.empty() ? "" : ", ", Printable(place.value), place.dimension);
  }
  return text.empty() ? "none" : text;
}

Json PlacesJson(const std::vector<SymbolPlace>& places) {
  Json list = Json::array();
  for (const SymbolPlace& place : places) {
    list.push_back({{"name", Printable(place.value)}, {"dimension", place.dimension}});
  }
  return list;
}

/// Returns options that give every open dimension this size.
ModelOptions WithSizes(ModelOptions options, const std::vector<OpenSymbol>& symbols,
                       std::int64_t size) {
  for (const OpenSymbol& symbol : symbols) {
    options.bindings.dims.push_back(fmt::format("{}={}", symbol.symbol.name, size));
  }
  return options;
}

}  // namespace

std::vector<OpenSymbol> OpenSymbolsOf(const ModelOptions& options, const std::string& file) {
  std::vector<OpenSymbol> open;
  const auto bytes = ReadFile(file, kMaxFileBytes);
  if (!bytes.ok()) return open;
  for (Symbol& symbol : SymbolsOf(*bytes)) {
    const auto bound = [&](const std::string& dim) { return dim.starts_with(symbol.name + "="); };
    // The shape of an input binds its names, too.
    const auto shaped = [&](const SymbolPlace& place) {
      return std::ranges::any_of(options.bindings.shapes, [&](const std::string& shape) {
        return shape.starts_with(place.value + "=");
      });
    };
    if (std::ranges::any_of(options.bindings.dims, bound)) continue;
    if (std::ranges::any_of(symbol.inputs, shaped)) continue;
    open.push_back({std::move(symbol), std::nullopt, {}});
  }
  return open;
}

Status CheckRange(const ModelOptions& options, const std::string& file, const SizeRange& range,
                  const Target& target) {
  TW_RETURN_IF_ERROR(CheckRangeTarget(range, target));
  const auto open = OpenDimensionOf(options, file, range, target);
  return open.ok() ? Status() : open.status().WithContext(file);
}

void FindRanges(const ModelOptions& options, const std::string& file, const Target& target,
                std::vector<OpenSymbol>& symbols) {
  if (symbols.size() > 1) {
    for (OpenSymbol& symbol : symbols) {
      symbol.refusal = "a library has one open dimension; give the others sizes";
    }
    return;
  }
  // An image or a signal of one position is too small for most networks.
  constexpr std::array<std::pair<std::int64_t, std::int64_t>, 4> kRanges = {
      {{1, 512}, {1, 64}, {1, 8}, {32, 1024}}};
  for (OpenSymbol& symbol : symbols) {
    for (const auto& [least, most] : kRanges) {
      const SizeRange range{symbol.symbol.name, least, most};
      const Status status = CheckRange(WithSizes(options, symbols, least), file, range, target);
      if (status.ok()) {
        symbol.range = range;
        symbol.refusal.clear();
        break;
      }
      symbol.refusal = status.message();
    }
  }
}

Result<Graph> LoadToInspect(const ModelOptions& options, const std::string& file,
                            const std::vector<OpenSymbol>& symbols, bool all_sizes) {
  TW_ASSIGN_OR_RETURN(const auto source, options.Source(file));
  auto graph = LoadGraph(source);
  if (graph.ok() || symbols.empty() || all_sizes) return graph;
  const auto ones = WithSizes(options, symbols, 1).Source(file);
  if (!ones.ok()) return graph;
  auto sized = LoadGraph(*ones);
  return sized.ok() ? std::move(sized) : std::move(graph);
}

std::string OpenSymbolsText(const std::vector<OpenSymbol>& symbols) {
  std::string text;
  for (const OpenSymbol& symbol : symbols) {
    text += fmt::format("open  {}: inputs {}; outputs {}\n", Printable(symbol.symbol.name),
                        PlacesText(symbol.symbol.inputs), PlacesText(symbol.symbol.outputs));
    if (symbol.range) text += "      one library: --dim " + symbol.range->ToString() + "\n";
    if (!symbol.refusal.empty()) text += "      no range: " + symbol.refusal + "\n";
  }
  return text;
}

std::string GraphJson(const Graph& graph, const std::vector<OpenSymbol>& symbols) {
  Json list = Json::array();
  for (const OpenSymbol& symbol : symbols) {
    Json json = {{"name", Printable(symbol.symbol.name)},
                 {"inputs", PlacesJson(symbol.symbol.inputs)},
                 {"outputs", PlacesJson(symbol.symbol.outputs)}};
    if (symbol.range)
      json["range"] = {{"least", symbol.range->least}, {"most", symbol.range->most}};
    if (!symbol.refusal.empty()) json["refusal"] = symbol.refusal;
    list.push_back(std::move(json));
  }
  Json all = *ParseJson(DescribeGraphJson(graph));
  all["open"] = std::move(list);
  return DumpJson(all, 2);
}

Status WithRanges(const Status& status, const ModelOptions& options, const std::string& file,
                  const Target& target) {
  if (status.ok() || status.message().find("no fixed size") == std::string::npos) return status;
  auto symbols = OpenSymbolsOf(options, file);
  FindRanges(options, file, target, symbols);
  std::string text = status.message();
  for (const OpenSymbol& symbol : symbols) {
    if (symbol.range)
      text += "; or, for one library of all sizes, --dim " + symbol.range->ToString();
  }
  return Status(status.code(), text);
}

}  // namespace tilewright::session
