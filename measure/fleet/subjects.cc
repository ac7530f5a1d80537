#include "measure/fleet/subjects.h"

#include <algorithm>

#include "src/base/hash.h"
#include "src/base/printable.h"

namespace tilewright::measure::fleet {
namespace {

bool IsNameLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

}  // namespace

bool IsName(std::string_view text) {
  constexpr std::size_t kMax = 64;
  return !text.empty() && text.size() <= kMax && std::ranges::all_of(text, IsNameLetter);
}

Status CheckName(std::string_view what, std::string_view text) {
  if (IsName(text)) return {};
  return InvalidArgument(std::string(what) + ": '" + Printable(text.substr(0, 80)) +
                         "', expected 1 to 64 letters, digits, '-' and '_'");
}

std::string ClassOf(const DeviceFingerprint& device) {
  constexpr std::size_t kDigits = 12;
  const std::string kind = IsName(device.kind) ? device.kind : "device";
  return kind + "-" + HexOf(Mix64(Fnv1a64(device.ToString()))).substr(0, kDigits);
}

std::string AnnouncementSubject(const std::string& device_class, const DeviceName& device) {
  return "tw.here." + device_class + "." + device.ToString();
}
std::string HeartbeatSubject(const JobName& job, const DeviceName& device) {
  return "tw.beat." + job.user + "." + job.job + "." + device.ToString();
}
std::string ResultSubject(const JobName& job, const DeviceName& device) {
  return "tw.result." + job.user + "." + job.job + "." + device.ToString();
}
std::string JobSubject(const std::string& device_class, const JobName& job) {
  return "tw.job." + device_class + "." + job.user + "." + job.job;
}
std::string DirectSubject(const std::string& device_class, const DeviceName& device,
                          const JobName& job) {
  return "tw.direct." + device_class + "." + device.ToString() + "." + job.user + "." + job.job;
}
std::string DeviceControlSubject(const DeviceName& device) {
  return "tw.control.device." + device.ToString();
}
std::string JobControlSubject(const JobName& job) {
  return "tw.control.job." + job.user + "." + job.job;
}

std::string_view SubjectToken(std::string_view subject, int index) {
  for (; index > 0; --index) {
    const std::size_t dot = subject.find('.');
    if (dot == std::string_view::npos) return {};
    subject.remove_prefix(dot + 1);
  }
  return subject.substr(0, subject.find('.'));
}

bool HasNames(std::string_view subject) {
  constexpr int kMaxWords = 8;
  const auto words = std::ranges::count(subject, '.') + 1;
  if (words > kMaxWords) return false;
  for (int i = 2; i < words; ++i) {
    if (!IsName(SubjectToken(subject, i))) return false;
  }
  return true;
}

DeviceName SenderOf(std::string_view subject) {
  const int first = subject.starts_with("tw.here.") ? 3 : 4;
  return {std::string(SubjectToken(subject, first)), std::string(SubjectToken(subject, first + 1))};
}

// ':' cannot occur in a name, so streams of different users have different names.
std::string MeasureStream(const std::string& device_class, const std::string& user) {
  return "TWRUN:" + device_class + ":" + user;
}
std::string BuildStream(const std::string& user) { return kBuildStreams + user; }

Queue MeasureQueue(const std::string& device_class, const JobName& job) {
  return {MeasureStream(device_class, job.user), job.job,
          "tw.run." + device_class + "." + job.user + "." + job.job};
}

Queue BuildQueue(const JobName& job) {
  return {BuildStream(job.user), job.job, "tw.build." + job.user + "." + job.job};
}

std::string ArtifactObject(const JobName& job, const std::string& hash, int part) {
  return "tw.artifact." + job.user + "." + job.job + "." + hash + "." + std::to_string(part);
}

}  // namespace tilewright::measure::fleet
