#include "measure/supervisor/file_sender.h"

#include <signal.h>
#include <unistd.h>

#include "measure/kernel_message.h"
#include "measure/supervisor/pipe_transport.h"
#include "measure/supervisor/runner_address.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"

namespace tilewright::measure {
namespace {

/// Bytes of a file per message: base64 of it stays far below LineReader::kMaxLine.
constexpr std::size_t kPartBytes = std::size_t{4} << 20;
/// Time limit for a runner's handshake: it includes the connection, and possibly the start of a
/// board.
constexpr double kProbeSeconds = 60;

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

constexpr std::int64_t kMaxReferenceBytes = std::int64_t{1} << 34;  // as a runner reads

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
    if (item.reference.empty()) continue;  // it has no reference result
    if (!sent_.contains(item.reference)) {
      TW_ASSIGN_OR_RETURN(const auto reference, ReadFile(item.reference, kMaxReferenceBytes));
      lines += LinesOf(NameOf(item.reference), reference);
      sent_.insert(item.reference);
    }
    item.reference = NameOf(item.reference);
  }
  return lines;
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
  // A command that ends at once must not end this program, and its error text is still needed.
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
