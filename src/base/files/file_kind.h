#pragma once

#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright {

/// How a kind of file relates to the files that this program reads.
enum class FileRole {
  kOther,
  kWrapper,  ///< stands for another file (an archive, a Git LFS pointer, a failed download)
  kModel,    ///< is a model that this program reads
  kRaw,      ///< bytes without a signature, which only a reader of models rejects
};

/// Kind of a file or folder, with the step that makes a usable file of it.
struct FileKind {
  std::string_view name;  ///< "torchscript": unique and stable
  std::string_view what;  ///< "a TorchScript archive"
  /// Advice for a user who gives the file as a model; of a wrapper for every reader, of a model for
  /// every other reader. In it {file} is the path, {folder} its folder, {name} its name, {onnx} and
  /// {so} are paths next to it, and {plain} is the path without the ending of an archive.
  std::string_view next;
  FileRole role = FileRole::kOther;
};

/// Returns all kinds.
std::span<const FileKind> FileKinds();

/// Returns the kind of a file's contents; nullptr for an unknown one.
/// bytes: the contents, or their beginning and end. path: only its ending is used, for contents
/// without a signature.
const FileKind* IdentifyBytes(std::string_view bytes, std::string_view path);

/// Returns the kind of a file, by its first and last megabytes, or of a folder, by the names in it.
/// Returns nullptr for an unknown kind, an unreadable file, a pipe or a device.
const FileKind* IdentifyFile(const std::string& path);

/// File that a reader expects.
struct ExpectedFile {
  std::string_view what;  ///< "an ONNX file or Relay text", "a record store"
  bool model = false;     ///< advice about ONNX files applies
};

/// Returns the error of a reader for a file of another kind: "PATH: expected a record store; this
/// is a file compressed by gzip.", and the advice on a second line. Returns the error itself if
/// `kind` is nullptr, if a model is expected and the file is one, and for raw bytes where no model
/// is expected. error: not OK.
Status ExplainWrongFile(Status error, const FileKind* kind, const std::string& path,
                        const ExpectedFile& expected);

}  // namespace tilewright
