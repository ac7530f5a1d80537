#include "src/session/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/files/file.h"
#include "src/base/format_printable.h"
#include "src/base/strings.h"
#include "src/compiler/run/run.h"
#include "src/graph/ir/check_memory.h"
#include "src/graph/ir/check_weights.h"
#include "src/media/npy.h"
#include "src/session/tasks.h"

namespace tilewright::session {
namespace {

std::string ShapesOf(const ModelLibrary& library) {
  std::string text;
  for (const ModelValue& input : library.inputs()) {
    text += (text.empty() ? "" : ", ") + input.name + "=" + ShapeToString(input.type.shape);
  }
  return text;
}

bool HasShapes(const ModelLibrary& library, const Bindings& bindings) {
  return std::ranges::all_of(bindings.shapes, [&](const auto& shape) {
    return std::ranges::any_of(library.inputs(), [&](const ModelValue& input) {
      return input.name == shape.first && input.type.shape == shape.second;
    });
  });
}

Status ReadValues(Bindings& bindings) {
  constexpr std::int64_t kMaxBytes = 256 << 20;  // what the importer makes constants of
  for (auto& [name, value] : bindings.values) {
    if (!value.text.ends_with(".npy")) continue;
    const std::string place = "value " + name;
    auto bytes = ReadFile(value.text, kMaxBytes);
    if (!bytes.ok()) return bytes.status().WithContext(place);
    auto contents = ParseNpy(*bytes);
    if (!contents.ok()) return contents.status().WithContext(place + ": " + value.text);
    value.contents = *std::move(contents);
  }
  return Status();
}

}  // namespace

Result<std::vector<ModelSource>> ModelOptions::Sources(const std::string& file) const {
  TW_ASSIGN_OR_RETURN(auto variants, ParseBindings(bindings));
  const auto rounding = requantize == "integer" ? Requantize::kByIntegers : Requantize::kByFloat;
  const auto format = precision == "bfloat16" ? Precision::kAsBFloat16 : Precision::kAsInModel;
  std::vector<ModelSource> sources;
  for (Bindings& set : variants) {
    TW_RETURN_IF_ERROR(ReadValues(set));
    sources.push_back({file, {rounding, std::move(set), format}});
  }
  return sources;
}

Result<ModelSource> ModelOptions::Source(const std::string& file) const {
  TW_ASSIGN_OR_RETURN(auto sources, Sources(file));
  if (sources.size() == 1) return std::move(sources.front());
  return InvalidArgument(std::to_string(sources.size()) + " shape variants, expected one");
}

std::pair<std::string, std::int64_t> SplitNumber(const std::string& path) {
  if (const auto hash = path.rfind('#'); hash != std::string::npos) {
    if (auto number = ParseInt64(path.substr(hash + 1)); number.ok()) {
      return {path.substr(0, hash), *number};
    }
  }
  return {path, -1};
}

Result<std::optional<SizeRange>> ModelOptions::TakeRange(const std::string& file) {
  std::optional<SizeRange> range;
  for (std::string& dim : bindings.dims) {
    TW_ASSIGN_OR_RETURN(auto found, ParseSizeRange(dim));
    if (!found) continue;
    if (range) {
      return InvalidArgument("--dim " + dim + ": a second range after --dim " + range->ToString() +
                             ", expected one open dimension");
    }
    dim = found->name + "=1";
    range = std::move(found);
  }
  const auto reads = [&](std::int64_t size) {
    const auto source = SourceAt(SplitNumber(file).first, *range, size);
    return source.ok() && LoadGraph(*source).ok();
  };
  if (range && range->least > 1 && !reads(1) && reads(range->least)) {
    for (std::string& dim : bindings.dims) {
      if (dim == range->name + "=1") dim = fmt::format("{}={}", range->name, range->least);
    }
  }
  if (sizes.empty()) return range;
  if (!range) {
    return InvalidArgument("--sizes " + sizes + ": expected a range with it: --dim NAME=1..SIZE");
  }
  constexpr std::int64_t kMaxBytes = 1 << 24;
  TW_ASSIGN_OR_RETURN(const auto text, ReadFile(sizes, kMaxBytes));
  TW_ASSIGN_OR_RETURN(range->counts, ParseSizeCounts(text, sizes));
  TW_RETURN_IF_ERROR(CheckSizeCounts(range->counts, *range, sizes));
  return range;
}

Result<ModelSource> ModelOptions::SourceAt(const std::string& file, const SizeRange& range,
                                           std::int64_t size) const {
  ModelOptions sized = *this;
  for (std::string& dim : sized.bindings.dims) {
    if (dim.starts_with(range.name + "=")) dim = fmt::format("{}={}", range.name, size);
  }
  return sized.Source(file);
}

Status ModelOptions::CheckUnused(std::string_view why) const {
  const auto refused = [&](const std::string& option) {
    return InvalidArgument(option + ": " + std::string(why));
  };
  if (!bindings.shapes.empty()) return refused("shape " + bindings.shapes.front());
  if (!bindings.dims.empty()) return refused("dim " + bindings.dims.front());
  if (!bindings.values.empty()) return refused("value " + bindings.values.front());
  if (requantize != "float") return refused("requantize " + requantize);
  if (precision != "model") return refused("precision " + precision);
  return Status();
}

std::string RangeNote(const SizeRange& range) {
  return FormatPrintable(
      "note: --dim {}: tasks are those of one entry ({}=1), of which a library for the range "
      "consists, or of a block of columns or samples; those of dense layers have a few sizes, "
      "whose records serve all",
      range.ToString(), range.name);
}

void NoteImport(const Graph& graph, const NoteSink& note) {
  NoteAlike(graph.name, graph.notes, note);
}

void NoteSyntheticConstants(const std::string& file, std::int64_t constants, const NoteSink& note) {
  if (constants == 0) return;
  note(FormatPrintable(
      "warning: {}: {} constants have no contents of their own but synthetic ones, seeded by "
      "their names (docs/graphs.md): results mean nothing but to compare them",
      file, constants));
}

Result<Graph> LoadForRunning(const ModelSource& source, bool seeded, const NoteSink& note) {
  const std::string& file = source.path;
  TW_ASSIGN_OR_RETURN(auto graph, LoadGraph(source));
  NoteImport(graph, note);
  if (Status status = CheckMemory(graph); !status.ok()) return status.WithContext(file);
  SeedConstants(graph, seeded ? SeedRule::kAllFloat : SeedRule::kMissing);
  NoteSyntheticConstants(file, graph.synthetic_constants, note);
  NoteAlike(graph.name, NonFiniteWeightNotes(graph), note);
  return graph;
}

Result<int> VariantFor(const ModelSource& source, const NoteSink& note) {
  const Bindings& bindings = source.options.bindings;
  LoadOptions others{source.options.requantize, bindings.Clone(), source.options.precision};
  others.bindings.shapes.clear();
  TW_ASSIGN_OR_RETURN(const auto first, ModelLibrary::Open(source.path));
  if (first.open_dimension() != nullptr) others.bindings.dims.clear();  // see SetSizes
  TW_RETURN_IF_ERROR(CheckUnused(others, source.path + " has its sizes in it"));
  std::string known;
  int variants = 1;
  for (int set = 0; set < variants; ++set) {
    TW_ASSIGN_OR_RETURN(const auto library, ModelLibrary::Open(source.path, set));
    variants = library.variants();
    known += (known.empty() ? "" : "; ") + ShapesOf(library);
    if (!HasShapes(library, bindings)) continue;
    if (variants > 1 && bindings.shapes.empty()) {
      note(FormatPrintable(
          "note: {}: the first of {} shape variants, {}; shapes of a run choose another",
          source.path, variants, known));
    }
    return set;
  }
  return InvalidArgument(fmt::format("{}: {} has its sizes in it: {}", bindings.Options().front(),
                                     source.path, known));
}

Status SetSizes(const ModelSource& source, ModelLibrary& library) {
  if (library.open_dimension() == nullptr) return Status();
  for (const auto& [name, size] : source.options.bindings.dims) {
    const Status status = library.SetSize(name, size);
    if (!status.ok()) return status.WithContext(source.path + ": --dim");
  }
  return Status();
}

Result<int> VariantFor(const std::string& path, const Graph& graph) {
  int variants = 1;
  const std::vector<ModelValue> wanted = ValuesOf(graph, graph.inputs());
  for (int set = 0; set < variants; ++set) {
    TW_ASSIGN_OR_RETURN(const auto library, ModelLibrary::Open(path, set));
    variants = library.variants();
    const bool same = std::ranges::equal(
        library.inputs(), wanted,
        [](const ModelValue& a, const ModelValue& b) { return a.type == b.type; });
    if (same) return set;
  }
  return 0;
}

}  // namespace tilewright::session
