#include "src/base/files/file_kind.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include "src/base/files/file_signatures.h"

namespace tilewright {
namespace {

constexpr std::size_t kReadBytes = 4 << 20;  // of the beginning and of the end of a file

const FileKind* KindNamed(std::string_view name) {
  const auto found = std::ranges::find(FileKinds(), name, &FileKind::name);
  return found == FileKinds().end() ? nullptr : &*found;
}

/// Returns a text from its first character that is not blank; empty for other contents.
std::string_view TextOf(std::string_view bytes) {
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.remove_prefix(3);
  const bool text = std::ranges::all_of(bytes.substr(0, 256), [](unsigned char c) {
    return c >= 32 || c == '\n' || c == '\t' || c == '\r' || c == '\f';
  });
  const std::size_t start = bytes.find_first_not_of(" \t\r\n\f");
  return !text || start == std::string_view::npos ? std::string_view() : bytes.substr(start);
}

/// pattern: in lower case.
bool StartsWithAnyCase(std::string_view text, std::string_view pattern) {
  return text.size() >= pattern.size() &&
         std::equal(pattern.begin(), pattern.end(), text.begin(), [](unsigned char a, char b) {
           return std::tolower(a) == std::tolower(static_cast<unsigned char>(b));
         });
}

/// Contents of one file, in the forms that signatures are compared with.
struct Contents {
  std::string_view bytes, text, path;
  std::string entries;  ///< of a zip archive
};

bool Matches(const FileSignature& signature, const Contents& in) {
  if (!in.path.ends_with(signature.ending)) return false;
  std::string_view where = in.bytes;
  switch (signature.part) {
    case SignaturePart::kBytes:
      if (in.bytes.size() < signature.offset) return false;
      if (!in.bytes.substr(signature.offset).starts_with(signature.pattern)) return false;
      break;
    case SignaturePart::kText:
      if (!StartsWithAnyCase(in.text, signature.pattern)) return false;
      break;
    case SignaturePart::kZipEntry:
      if (in.entries.find(signature.pattern) == std::string::npos) return false;
      // A text of the entries, or of the contents of one that is not compressed.
      if (in.entries.find(signature.contains) != std::string::npos) return true;
      break;
    case SignaturePart::kFolder:
    case SignaturePart::kEnding:
      return false;
  }
  return where.find(signature.contains) != std::string_view::npos;
}

/// Returns the names in a folder, each between line ends.
std::string NamesIn(const std::string& folder) {
  constexpr int kMaxNames = 10'000;
  std::string names = "\n";
  std::error_code failed;
  std::filesystem::directory_iterator entry(folder, failed), end;
  for (int i = 0; !failed && entry != end && i < kMaxNames; entry.increment(failed), ++i) {
    names += entry->path().filename().string() + "\n";
  }
  return names == "\n" ? "\n\n" : names;
}

const FileKind* IdentifyFolder(const std::string& path) {
  const std::string names = NamesIn(path);
  for (const FileSignature& signature : FileSignatures()) {
    if (signature.part == SignaturePart::kFolder &&
        names.find(signature.pattern) != std::string::npos &&
        names.find(signature.contains) != std::string::npos) {
      return KindNamed(signature.kind);
    }
  }
  return nullptr;
}

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// Returns the path without the ending of an archive.
std::string PlainPath(const std::string& path) {
  const std::filesystem::path whole(path);
  for (const char* ending : {".gz", ".xz", ".zst", ".bz2", ".lz4", ".json", ".pb"}) {
    if (whole.extension() == ending && whole.has_stem()) {
      return (whole.parent_path() / whole.stem()).string();
    }
  }
  return path + ".out";
}

/// Returns advice with the names of a file in it; FILE for one that a shell would not take as it
/// is.
std::string AdviceFor(std::string_view advice, const std::string& path) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("/._-+@%,=").find(c) != std::string_view::npos;
  };
  const bool usable = std::ranges::all_of(path, plain);
  std::string file = usable ? path : "FILE";
  while (file.size() > 1 && file.ends_with('/')) file.pop_back();
  const std::filesystem::path whole(file);
  std::string onnx = (whole.parent_path() / whole.stem()).string() + ".onnx";
  if (onnx == file) onnx = (whole.parent_path() / whole.stem()).string() + ".converted.onnx";
  std::string text(advice);
  ReplaceAll(text, "{file}", file);
  ReplaceAll(text, "{name}", whole.filename().string());
  ReplaceAll(text, "{folder}", whole.has_parent_path() ? whole.parent_path().string() : ".");
  ReplaceAll(text, "{onnx}", onnx);
  ReplaceAll(text, "{so}", (whole.parent_path() / whole.stem()).string() + ".so");
  ReplaceAll(text, "{plain}", PlainPath(file));
  return text;
}

}  // namespace

const FileKind* IdentifyBytes(std::string_view bytes, std::string_view path) {
  if (bytes.empty()) return KindNamed("empty");
  const Contents contents = {bytes, TextOf(bytes), path, ZipEntryNames(bytes)};
  for (const FileSignature& signature : FileSignatures()) {
    if (Matches(signature, contents)) return KindNamed(signature.kind);
  }
  if (IsPickle(bytes)) return KindNamed("pickle");
  if (const FileKind* kind = KindNamed(ProtobufKind(bytes))) return kind;
  for (const FileSignature& signature : FileSignatures()) {
    if (signature.part == SignaturePart::kEnding && path.ends_with(signature.pattern)) {
      return KindNamed(signature.kind);
    }
  }
  return nullptr;
}

const FileKind* IdentifyFile(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return nullptr;
  if (S_ISDIR(info.st_mode)) return IdentifyFolder(path);
  if (!S_ISREG(info.st_mode)) return nullptr;
  std::ifstream file(path, std::ios::binary);
  const auto size = static_cast<std::size_t>(std::max<off_t>(info.st_size, 0));
  std::string bytes(std::min(size, 2 * kReadBytes), '\0');
  const std::size_t head = std::min(bytes.size(), kReadBytes);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(head))) return nullptr;
  if (bytes.size() > head) {
    const std::size_t tail = bytes.size() - head;
    file.seekg(static_cast<std::streamoff>(size - tail));
    if (!file.read(bytes.data() + head, static_cast<std::streamsize>(tail))) return nullptr;
  }
  return IdentifyBytes(bytes, path);
}

Status ExplainWrongFile(Status error, const FileKind* kind, const std::string& path,
                        const ExpectedFile& expected) {
  if (kind == nullptr) return error;
  if (kind->role == (expected.model ? FileRole::kModel : FileRole::kRaw)) return error;
  std::string text =
      path + ": expected " + std::string(expected.what) + "; this is " + std::string(kind->what);
  if (expected.model || kind->role != FileRole::kOther) {
    text += ".\n  " + AdviceFor(kind->next, path);
  }
  return Status(error.code(), std::move(text));
}

}  // namespace tilewright
