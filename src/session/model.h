#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/graph/open/size_range.h"
#include "src/session/notes.h"

namespace tilewright {
class ModelLibrary;
}

namespace tilewright::session {

/// Splits FILE#N into the file and the number of a task; -1 without one.
std::pair<std::string, std::int64_t> SplitNumber(const std::string& path);

/// Options for reading a model file, as texts.
struct ModelOptions {
  BindingTexts bindings;
  std::string requantize = "float";  ///< or "integer": how quantized operators of ONNX round
  std::string precision = "model";   ///< or "bfloat16": see Precision
  std::string sizes = {};            ///< file of observed sizes of a range (ParseSizeCounts)

  /// Parses the bindings; reads the files that values name (.npy).
  /// Errors: those of ParseBindings and ParseNpy; kInvalidArgument for several shape variants.
  Result<ModelSource> Source(const std::string& file) const;
  /// As Source, one for each shape variant.
  Result<std::vector<ModelSource>> Sources(const std::string& file) const;
  /// Takes the range of sizes of an open dimension ("batch=1..64") out of the bindings, and leaves
  /// a size of 1 there, or the least one if the file (FILE or FILE#N) cannot be read with 1. Reads
  /// the file of observed sizes. Returns none if there is no range. Errors: those of
  /// ParseSizeRange, ParseSizeCounts and CheckSizeCounts; kInvalidArgument for a second range, and
  /// for observed sizes without one.
  Result<std::optional<SizeRange>> TakeRange(const std::string& file);
  /// As Source, with another size of the range that TakeRange took out.
  Result<ModelSource> SourceAt(const std::string& file, const SizeRange& range,
                               std::int64_t size) const;
  /// Checks that no option was given, for a file that is no model.
  /// Errors: kInvalidArgument as "shape x=1x3: WHY".
  Status CheckUnused(std::string_view why) const;
};

/// Returns the note that a command works on the tasks of one entry of an open dimension.
std::string RangeNote(const SizeRange& range);

/// Passes on the notes of a graph's importer; notes that differ only in names are one (NoteAlike).
void NoteImport(const Graph& graph, const NoteSink& note);

/// Warns that constants of a file or library have synthetic contents. constants: their number; 0:
/// no warning.
void NoteSyntheticConstants(const std::string& file, std::int64_t constants, const NoteSink& note);

/// Loads a graph with contents for every constant. Contents are synthetic if the file has none, and
/// with `seeded` for every float constant. note: receives the importer's notes and warnings.
/// Errors: those of LoadGraph and CheckMemory.
Result<Graph> LoadForRunning(const ModelSource& source, bool seeded, const NoteSink& note);

/// Sets the size of a library's open dimension as the source says; without one, it keeps the least.
/// Errors: those of ModelLibrary::SetSize.
Status SetSizes(const ModelSource& source, ModelLibrary& library);

/// Returns the index of the shape variant of a library that the shapes of a source select. Without
/// shapes, returns 0, with a note if the library has several variants.
/// Errors: those of ModelLibrary::Open; kInvalidArgument for options that a library does not use,
/// and for shapes that the library was not compiled for, with the available shapes.
Result<int> VariantFor(const ModelSource& library, const NoteSink& note);
/// Returns the index of the variant whose inputs have the types of a graph's inputs; 0 if none has.
Result<int> VariantFor(const std::string& library, const Graph& graph);

}  // namespace tilewright::session
