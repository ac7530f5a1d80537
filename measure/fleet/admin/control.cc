#include "measure/fleet/admin/control.h"

#include <fmt/format.h>
#include <signal.h>

#include <utility>

#include "measure/fleet/device_registry.h"
#include "measure/fleet/subjects.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/strings.h"

namespace tilewright::measure::fleet {
namespace {

/// Parses two names with a dot between them.
Result<std::pair<std::string, std::string>> TwoNames(const std::string& text, const char* what) {
  const auto words = Split(text, '.');
  if (words.size() != 2 || !IsName(words[0]) || !IsName(words[1])) {
    return InvalidArgument("'" + text + "', expected " + what + " as `fleet status` names it");
  }
  return std::pair(words[0], words[1]);
}

/// Publishes a control message and waits for a sign of life of its receiver. heard: subject that
/// the receiver publishes to regularly. A busy receiver answers late but still gets the message;
/// therefore the message is sent first, and the discovery request second.
Status SendControl(Broker& broker, const std::string& receiver, const std::string& heard,
                   const std::string& subject, const Control& control) {
  TW_RETURN_IF_ERROR(broker.Subscribe(heard));
  TW_RETURN_IF_ERROR(broker.Publish(subject, Encode(control)));
  TW_RETURN_IF_ERROR(broker.Publish(kDiscoverySubject, ""));
  constexpr double kSeconds = 5;
  TW_RETURN_IF_ERROR(broker.Flush(kSeconds));
  const double offline_seconds = DeviceRegistry::Settings().offline_seconds;
  // A rejection arrives as a separate event, possibly after messages of others.
  constexpr double kAnswerSeconds = 0.2;
  SystemClock clock;
  const double until = clock.MonotonicSeconds() + offline_seconds;
  bool there = false;
  while (true) {
    const double left = until - clock.MonotonicSeconds();
    if (!there && left <= 0) break;
    const auto incoming = broker.Next(there ? kAnswerSeconds : left);
    if (!incoming && there) return {};
    if (!incoming) continue;
    if (incoming->kind == BrokerEvent::Kind::kRejected) return Unavailable(incoming->payload);
    there = there || incoming->kind == BrokerEvent::Kind::kMessage;
  }
  return InvalidArgument(
      fmt::format("'{}' did not answer within {:g} s: expected one that `fleet status` shows",
                  receiver, offline_seconds));
}

}  // namespace

Result<DeviceName> ParseDeviceName(const std::string& text) {
  TW_ASSIGN_OR_RETURN(const auto names, TwoNames(text, "WORKER.DEVICE"));
  return DeviceName{names.first, names.second};
}

Result<JobName> ParseJobName(const std::string& text) {
  TW_ASSIGN_OR_RETURN(const auto names, TwoNames(text, "USER.JOB"));
  return JobName{names.first, names.second};
}

Status ControlDevice(Broker& broker, const DeviceName& device, const Control& control) {
  return SendControl(broker, device.ToString(), AnnouncementSubject("*", device),
                     DeviceControlSubject(device), control);
}

Status CancelJob(Broker& broker, const JobName& job, const std::string& why) {
  return SendControl(broker, job.user + "." + job.job, JobSubject("*", job), JobControlSubject(job),
                     Control{"cancel", why});
}

Status CreateStreams(const Address& admin, const std::vector<std::string>& users,
                     const std::vector<std::string>& classes) {
  TW_ASSIGN_OR_RETURN(auto broker, Connect(admin, "tilewright fleet"));
  for (const std::string& user : users) {
    const JobName no_job{user.empty() ? admin.user : user, "nobody"};
    std::vector<Queue> queues = {BuildQueue(no_job)};
    for (const std::string& one : classes) queues.push_back(MeasureQueue(one, no_job));
    for (const Queue& queue : queues) {
      TW_RETURN_IF_ERROR(broker->OpenQueue(queue));
      broker->CloseQueue(queue);
    }
  }
  constexpr double kSeconds = 5;
  return broker->Flush(kSeconds);
}

bool ReloadServer(const FleetFolder& folder) {
  constexpr std::int64_t kMaxBytes = 64;
  const auto text = ReadFile(folder.process_file(), kMaxBytes);
  const auto pid = text.ok() ? ParseInt64(Trim(*text)) : Result<std::int64_t>(text.status());
  return pid.ok() && *pid > 1 && ::kill(static_cast<pid_t>(*pid), SIGHUP) == 0;
}

}  // namespace tilewright::measure::fleet
