#include "measure/supervisor/file_transfer.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "measure/kernel_message.h"
#include "measure/supervisor/pipe_transport.h"
#include "measure/supervisor/runner_address.h"
#include "src/base/base64.h"
#include "src/base/clock.h"

namespace tilewright::measure {
namespace {

/// Bytes of a file per message: base64 of it stays far below LineReader::kMaxLine.
constexpr std::size_t kPartBytes = std::size_t{4} << 20;
/// How long a runner may take to say what it is: a connection is made, perhaps a board wakes up.
constexpr double kProbeSeconds = 60;

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool IsPlainName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

constexpr std::int64_t kMaxReferenceBytes = std::int64_t{1} << 34;  // as a runner reads

Status AppendFile(const std::string& path, std::string_view bytes, bool anew) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), anew ? "wb" : "ab"), &std::fclose);
  if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() ||
      std::fflush(file.get()) != 0) {
    return Unavailable("cannot write " + path);
  }
  return {};
}

std::string LinesOf(const std::string& name, std::string_view left) {
  std::string lines;
  bool first = true;
  do {
    const std::string_view part = left.substr(0, kPartBytes);
    lines += LineOf(ToJson(FileChunk{name, first, std::string(part)}));
    left.remove_prefix(part.size());
    first = false;
  } while (!left.empty());
  return lines;
}

}  // namespace

Result<std::string> FileSender::EncodeMissingFiles(RunOrder& order) {
  std::string lines;
  for (RunOrder::Item& item : order.items) {
    TW_ASSIGN_OR_RETURN(const auto artifact, ReadFile(item.kernel.artifact));
    item.kernel.artifact.clear();
    std::string& name = item.kernel.artifact_name;
    if (name.empty()) name = ArtifactName(artifact);
    lines += LinesOf(name, artifact);
    if (item.reference.empty()) continue;  // it is compared with none
    if (!sent_.contains(item.reference)) {
      TW_ASSIGN_OR_RETURN(const auto reference, ReadFile(item.reference, kMaxReferenceBytes));
      lines += LinesOf(NameOf(item.reference), reference);
      sent_.insert(item.reference);
    }
    item.reference = NameOf(item.reference);
  }
  return lines;
}

Status FileReceiver::Receive(const FileChunk& part) {
  if (!IsPlainName(part.name)) return Corrupt("message: '" + part.name + "' is no file name");
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

std::vector<std::string> RunnerCommand(const std::string& command) {
  return {"/bin/sh", "-c", command};
}

Result<RunnerIdentity> ProbeRunner(const std::string& command) {
  const auto failed = [&command](const std::string& what) {
    return Unavailable("the runner '" + command + "': " + what);
  };
  SubprocessOptions options;
  options.command = RunnerCommand(command);
  PipeTransport runner(options);
  RunWorkerSettings settings;
  settings.calibrate = false;
  SystemClock clock;
  const double start = clock.MonotonicSeconds();
  const Status connected = runner.Connect();
  if (!connected.ok()) return failed(connected.message());
  // A command that ends at once must not end this program, and may still have said why.
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  (void)runner.Send(LineOf(ToJson(settings)), kProbeSeconds);
  ::signal(SIGPIPE, before);
  while (clock.MonotonicSeconds() < start + kProbeSeconds) {
    auto open = runner.Receive();
    if (!open.ok()) return failed(open.status().message());
    if (const auto line = runner.Next()) {
      auto json = ParseJson(*line);
      if (!json.ok() || MessageType(*json) != "ready") {
        return failed("said '" + line->substr(0, 80) + "', expected a runner's greeting");
      }
      auto handshake = RunnerHandshakeFrom(*json);
      if (!handshake.ok()) return failed(handshake.status().message());
      auto device = DeviceFingerprint::Parse(handshake->device);
      if (!device.ok()) return failed(device.status().message());
      (void)runner.End(/*at_once=*/true);
      return RunnerIdentity{*std::move(device), handshake->target};
    }
    if (!*open) return failed("ended with " + runner.End(/*at_once=*/false));
    constexpr useconds_t kPauseMicroseconds = 5000;
    ::usleep(kPauseMicroseconds);
  }
  (void)runner.End(/*at_once=*/true);
  return failed("said nothing for " + std::to_string(static_cast<int>(kProbeSeconds)) + " s");
}

}  // namespace tilewright::measure
