// Libraries with an open dimension.

#include <fmt/format.h>

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

/// Returns true if the file can be read with the sizes by which entries are told. An image may be
/// too small for its windows.
bool IsReadable(const ReadAtSize& read) {
  return read(1).ok() &&
         std::ranges::all_of(kProbedSizes, [&](std::int64_t size) { return read(size).ok(); });
}

/// Finds what joins the positions of a sequence. Returns none if nothing does.
Result<std::optional<OpenDimension>> FindLengths(const ReadAtSize& read, const SizeRange& range,
                                                 const CompileOptions& options) {
  if (range.most < kFewestLengths || range.most > kMaxEntries)
    return std::optional<OpenDimension>();
  TW_ASSIGN_OR_RETURN(auto sequence,
                      FindSequence(read, range, options.target, options.fuse_residuals));
  if (sequence.attention.empty() && sequence.joins.empty()) return std::optional<OpenDimension>();
  OpenDimension open;
  open.range = range;
  open.axes = sequence.axes;
  open.sequence = std::make_shared<const SequenceNetwork>(std::move(sequence));
  return std::optional(std::move(open));
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
    if (range.most > kMaxEntries) {
      return InvalidArgument(fmt::format("--dim {}: a range of entries, expected at most {}",
                                         range.ToString(), kMaxEntries));
    }
    open.axes = *std::move(entries);
    return open;
  }
  if (entries.status().code() != StatusCode::kUnsupported && IsReadable(read)) {
    return entries.status();
  }
  auto lengths = FindLengths(read, range, options);
  if (lengths.ok() && *lengths) return **std::move(lengths);
  auto positions = FindPositions(read, range, options.target, options.fuse_residuals);
  if (positions.ok()) {
    open.axes = positions->names;
    open.positions = std::make_shared<const PositionNetwork>(*std::move(positions));
    return open;
  }
  if (entries.status().code() != StatusCode::kUnsupported) return positions.status();
  const Status& other = lengths.ok() ? entries.status() : lengths.status();
  if (other.code() != StatusCode::kUnsupported ||
      positions.status().code() != StatusCode::kUnsupported) {
    return other;
  }
  return Unsupported(fmt::format("{}; as columns of an image or samples of a signal: {}",
                                 other.message(), positions.status().message()));
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
