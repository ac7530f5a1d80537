#include "src/base/files/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "src/base/files/file.h"
#include "src/base/files/scoped_temp_path.h"
#include "src/base/printable.h"

namespace tilewright {
namespace {

/// Calls `produce` with what writes to the stream, and empties its buffer. A reader of a pipe that
/// went away (| head) has what it wanted.
Status WriteStream(std::FILE* stream, const std::string& name,
                   const std::function<Status(const TextSink&)>& produce) {
  bool reader_left = false;
  const auto failed = [&] {
    reader_left = reader_left || errno == EPIPE;
    return Unavailable(name + ": cannot be written: " + ErrnoReason());
  };
  Status status = produce([&](std::string_view text) {
    return std::fwrite(text.data(), 1, text.size(), stream) == text.size() ? Status() : failed();
  });
  if (status.ok() && std::fflush(stream) != 0) status = failed();
  if (!reader_left) return status;
  std::clearerr(stream);  // later checks of standard output would report it as a failure
  return {};
}

/// Opens, writes and closes `path`; `name` is what the user calls it. mode: of fopen.
Status WriteTo(const std::string& path, const char* mode, const std::string& name,
               const std::function<Status(const TextSink&)>& produce) {
  const auto failed = [&] { return Unavailable(name + ": cannot be written: " + ErrnoReason()); };
  std::FILE* file = std::fopen(path.c_str(), mode);
  if (file == nullptr) return failed();
  Status status = WriteStream(file, name, produce);
  if (std::fclose(file) != 0 && status.ok() && errno != EPIPE) status = failed();
  return status;
}

}  // namespace

Status WriteOutput(const std::string& path, const std::function<Status(const TextSink&)>& produce) {
  if (path.empty()) {
    const bool terminal = ::isatty(STDOUT_FILENO) != 0;  // else it is data
    return WriteStream(stdout, "standard output", [&](const TextSink& sink) {
      return produce([&](std::string_view text) {
        return terminal ? sink(Printable(text, /*lines=*/true)) : sink(text);
      });
    });
  }
  const auto file = FileToReplace(path);
  if (!file) return WriteTo(path, "we", path, produce);
  ScopedTempPath partial = ScopedTempPath::NextTo(*file);
  TW_RETURN_IF_ERROR(WriteTo(partial.path(), "wxe", path, produce));
  return partial.MoveTo(*file);
}

}  // namespace tilewright
