#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

// Signatures of FileKinds(), as data, and what is matched with them.

namespace tilewright {

/// Part of a file that a signature is compared with.
enum class SignaturePart {
  kBytes,     ///< bytes at an offset
  kText,      ///< first characters of a text, after blanks; case is ignored
  kZipEntry,  ///< names of a zip archive's entries, each between line ends
  kFolder,    ///< names in a folder, each between line ends
  kEnding,    ///< end of the path: for contents without any signature; checked last
};

/// One way to recognize a kind.
struct FileSignature {
  std::string_view kind;  ///< FileKind::name
  SignaturePart part = SignaturePart::kBytes;
  std::string_view pattern = {};  ///< at the offset; kZipEntry, kFolder: anywhere in the names
  std::size_t offset = 0;
  std::string_view contains =
      {};                        ///< additional text anywhere in the contents or names; empty: none
  std::string_view ending = {};  ///< additional end of the path; empty: any
};

/// Returns all signatures. The first that matches decides: special ones come before general ones.
std::span<const FileSignature> FileSignatures();

/// Returns the names of a zip archive's entries, each between line ends: "\na\nb/c\n". Reads the
/// first local header, and the central directory at the end or, if that is missing, all local
/// headers.
std::string ZipEntryNames(std::string_view bytes);

/// Returns the kind of a Protobuf message by the numbers and types of its outer fields; "" for an
/// unknown one and for other bytes.
std::string_view ProtobufKind(std::string_view bytes);

/// Returns true if the bytes begin like a pickle of protocol 2 or later: a sequence of known
/// operation codes.
bool IsPickle(std::string_view bytes);

}  // namespace tilewright
