#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "src/base/files/file.h"
#include "src/base/files/file_kind.h"
#include "src/base/strings.h"
#include "src/graph/expression_graph.h"
#include "src/graph/ir/graph.h"
#include "src/graph/onnx/import.h"

namespace tilewright {
namespace {

// Returns the first line of `text` that contains more than blanks or a line comment, without
// leading blanks.
std::string_view FirstWord(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trim(text.substr(0, end));
    if (!line.empty() && !line.starts_with("//")) {
      if (!line.starts_with("/*")) return line;
      const std::size_t close = text.find("*/");
      if (close == std::string_view::npos) return {};
      text.remove_prefix(close + 2);
      continue;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

// Returns true if the bytes start like Relay text: with a version, a function or a type definition.
// A protobuf starts with a field tag, an ONNX file with 0x08 (ir_version); none of these words is a
// valid beginning of one.
bool LooksLikeRelay(std::string_view bytes) {
  constexpr std::array<std::string_view, 5> kStarts = {"#[version", "def ", "fn ", "fn(", "type "};
  const std::string_view first = FirstWord(bytes.substr(0, 1 << 16));
  return std::ranges::any_of(kStarts,
                             [&](std::string_view start) { return first.starts_with(start); });
}

bool IsText(std::string_view bytes) {
  return std::ranges::all_of(bytes.substr(0, 256), [](unsigned char c) {
    return c == '\n' || c == '\t' || c == '\r' || (c >= 32 && c < 127);
  });
}

// Returns "light_resnet50" for "data/light_resnet50.onnx".
std::string BaseName(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

// Returns "data" for "data/light_resnet50.onnx", "." for a file in the current directory.
std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Checks bindings of a Relay text. It has no open dimensions: bindings may repeat the sizes that it
// states, but not change them.
Status CheckRelayBindings(const Graph& graph, const Bindings& bindings) {
  if (!bindings.dims.empty() || !bindings.values.empty()) {
    return InvalidArgument(
        bindings.Options()[bindings.dims.empty() ? bindings.shapes.size() : 0] +
        ": Relay text has no open dimensions, and its inputs cannot become constants");
  }
  for (const auto& [name, shape] : bindings.shapes) {
    std::string inputs;
    bool agrees = false;
    for (int id : graph.inputs()) {
      const Node& input = graph.node(id);
      agrees = agrees || (input.name == name && input.type.shape == shape);
      inputs += (inputs.empty() ? "" : ", ") + input.name + "=" + ShapeToString(input.type.shape);
    }
    if (agrees) continue;
    return InvalidArgument("--shape " + name + "=" + ShapeToString(shape) +
                           ": Relay text has fixed sizes: " + inputs);
  }
  return Status();
}

// Adds advice to an error that only states what the importer expected.
Status WithAdvice(const Status& status) {
  if (status.code() != StatusCode::kUnsupported) return status;
  for (const char* advice : {"export", "--", "quantize", "convert", "give "}) {
    if (status.message().find(advice) != std::string::npos) return status;
  }
  return Status(status.code(),
                status.message() +
                    "; docs/graphs.md lists the supported operators: export the "
                    "model for a newer opset, with constants folded, or without this operator");
}

constexpr ExpectedFile kModelFile = {"an ONNX file or Relay text", true};

Status NotAModel(Status error, const std::string& path, std::string_view bytes) {
  return ExplainWrongFile(std::move(error), IdentifyBytes(bytes, path), path, kModelFile);
}

}  // namespace

Result<Graph> LoadGraph(const std::string& path, const LoadOptions& options) {
  auto contents = ReadFile(path);
  if (!contents.ok()) {  // a folder, or too large
    return ExplainWrongFile(contents.status(), IdentifyFile(path), path, kModelFile);
  }
  const std::string& bytes = *contents;
  if (path.ends_with(".tw")) {
    if (!options.ignore_unknown_names && !options.bindings.Options().empty()) {
      return InvalidArgument(options.bindings.Options()[0] +
                             ": the sizes of an expression are fixed in its text");
    }
    TW_ASSIGN_OR_RETURN(auto expression, ParseExpression(bytes, path));
    return GraphOfExpression(expression, BaseName(path));
  }
  const bool relay = LooksLikeRelay(bytes);
  if (!relay && IsText(bytes)) {
    return NotAModel(
        InvalidArgument(path +
                        ": line 1: this text is not a model; expected an ONNX file, or Relay text "
                        "beginning with \"#[version\", \"def\", \"fn\" or \"type\""),
        path, bytes);
  }
  auto graph = relay ? ImportRelay(bytes, BaseName(path))
                     : ImportOnnxIn(FolderOf(path), bytes, BaseName(path), options);
  if (!graph.ok()) {
    if (relay) return graph.status().WithContext(path);
    return NotAModel(WithAdvice(graph.status()).WithContext(path), path, bytes);
  }
  if (relay && !options.ignore_unknown_names) {
    Status status = CheckRelayBindings(*graph, options.bindings);
    if (!status.ok()) return status.WithContext(path);
  }
  if (options.precision == Precision::kAsBFloat16) {
    graph->precision = options.precision;
    graph->binding_options.emplace_back("--precision bfloat16");
  }
  return graph;
}

}  // namespace tilewright
