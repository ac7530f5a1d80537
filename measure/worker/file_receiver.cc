#include "measure/worker/file_receiver.h"

#include <unistd.h>

#include <cstdio>
#include <memory>

namespace tilewright::measure {
namespace {

bool IsPlainName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

Status AppendFile(const std::string& path, std::string_view bytes, bool anew) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), anew ? "wb" : "ab"), &std::fclose);
  if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() ||
      std::fflush(file.get()) != 0) {
    return Unavailable("cannot write " + path);
  }
  return {};
}

}  // namespace

Status FileReceiver::Receive(const FileChunk& part) {
  if (!IsPlainName(part.name)) return Corrupt("message: '" + part.name + "' is not a file name");
  if (!part.first && part.name != open_) return Corrupt("message: a part of no file");
  if (!folder_) {
    TW_ASSIGN_OR_RETURN(auto folder, LockedTempDir::Create("tilewright-runner"));
    folder_.emplace(std::move(folder));
  }
  open_ = part.name;
  return AppendFile(PathOf(part.name), part.bytes, part.first);
}

std::string FileReceiver::PathOf(const std::string& name) const {
  return folder_ && IsPlainName(name) ? folder_->path() + "/" + name : name;
}

void FileReceiver::Remove(const std::string& name) const {
  if (folder_ && IsPlainName(name)) ::unlink(PathOf(name).c_str());
}

}  // namespace tilewright::measure
