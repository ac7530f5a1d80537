// Libraries with an open dimension.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "src/compiler/compile.h"
#include "src/graph/open/resize.h"
#include "src/target/device.h"

namespace tilewright {
namespace {

bool IsRecurrence(const Node& node) {
  return node.kind == NodeKind::kOperator && node.op.kind == OpKind::kRecurrence;
}

}  // namespace

Result<OpenDimension> FindOpenDimension(const Graph& entry, const ReadAtSize& read,
                                        const SizeRange& range, const CompileOptions& options) {
  OpenDimension open;
  open.range = range;
  // Recurrences of few steps are operators like others.
  const auto read_unrolled = [&](std::int64_t size) -> Result<Graph> {
    TW_ASSIGN_OR_RETURN(auto graph, read(size));
    return UnrollRecurrences(std::move(graph), kFewestStepsOfLoop);
  };
  std::optional<Graph> unrolled;
  if (std::ranges::any_of(entry.nodes(), IsRecurrence)) {
    TW_ASSIGN_OR_RETURN(unrolled, UnrollRecurrences(entry.Clone(), kFewestStepsOfLoop));
  }
  auto entries = FindEntries(unrolled ? *unrolled : entry, read_unrolled, range);
  if (entries.ok()) {
    open.axes = *std::move(entries);
    return open;
  }
  if (entries.status().code() != StatusCode::kUnsupported) return entries.status();
  if (range.most < kFewestLengths) return entries.status();
  TW_ASSIGN_OR_RETURN(auto sequence,
                      FindSequence(read, range, options.target, options.fuse_residuals));
  if (sequence.attention.empty() && sequence.joins.empty()) return entries.status();
  open.axes = sequence.axes;
  open.sequence = std::make_shared<const SequenceNetwork>(std::move(sequence));
  return open;
}

Result<CompiledModel> CompileOpen(Graph entry, const ReadAtSize& read, const SizeRange& range,
                                  const CompileOptions& given, const std::string& library_path) {
  const std::string option = "--dim " + range.ToString();
  if (!given.parameter_path.empty() || given.autotvm.has_value() ||
      !DeviceTraitsOf(given.target).machine_code) {
    return Unsupported(option +
                       ": a range needs a library for a CPU with its constants in it, and records "
                       "of its own; expected one size");
  }
  CompileOptions options = given;
  options.open.emplace();
  TW_ASSIGN_OR_RETURN(*options.open, FindOpenDimension(entry, read, range, given));
  NameRange(range, entry);
  return Compile(std::move(entry), options, library_path);
}

}  // namespace tilewright
