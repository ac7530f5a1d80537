#pragma once

#include <string>
#include <string_view>

#include "measure/fleet/broker.h"
#include "src/base/status.h"
#include "src/target/cpu.h"

// Subjects of a fleet's messages. Permissions are granted by subject: the last words of a worker's
// subjects are its own name and device, the middle words of a job's subjects are its user's.

namespace tilewright::measure::fleet {

/// Returns whether the text can be one word of a subject: 1 to 64 letters, digits, '-' and '_'.
bool IsName(std::string_view text);
/// Checks that the text is a name. what: kind of name, for the message. Errors: kInvalidArgument.
Status CheckName(std::string_view what, std::string_view text);

/// Returns the class of a device: the device kind followed by twelve hexadecimal digits. Devices of
/// one class have equal fingerprints, and each job is measured on one class.
std::string ClassOf(const DeviceFingerprint& device);

/// Job name in the fleet: user and job.
struct JobName {
  std::string user, job;
  friend auto operator<=>(const JobName&, const JobName&) = default;
};

/// Device name in the fleet: the worker, whose key signs in, and its device.
struct DeviceName {
  std::string worker, device;
  std::string ToString() const { return worker + "." + device; }
  friend auto operator<=>(const DeviceName&, const DeviceName&) = default;
};

// Published by workers.
std::string AnnouncementSubject(const std::string& device_class, const DeviceName& device);
std::string HeartbeatSubject(const JobName& job, const DeviceName& device);
std::string ResultSubject(const JobName& job, const DeviceName& device);
// Published by tuners.
std::string JobSubject(const std::string& device_class, const JobName& job);
std::string DirectSubject(const std::string& device_class, const DeviceName& device,
                          const JobName& job);
// Published by any member to discover devices; workers reply at once.
inline constexpr const char* kDiscoverySubject = "tw.ask";
// Published by the fleet's operator.
std::string DeviceControlSubject(const DeviceName& device);
std::string JobControlSubject(const JobName& job);

/// Returns the word at `index` (from 0) of a subject, between dots; empty if there is none.
std::string_view SubjectToken(std::string_view subject, int index);
/// Returns whether each word after the message kind is a name. Brokers accept other words, which
/// may contain control characters of terminals.
bool HasNames(std::string_view subject);
/// Returns the sender, from a subject of AnnouncementSubject, HeartbeatSubject or ResultSubject.
DeviceName SenderOf(std::string_view subject);

/// Returns the queue from which the devices of a class take a job's orders.
Queue MeasureQueue(const std::string& device_class, const JobName& job);
/// Returns the queue from which builders take the job's orders.
Queue BuildQueue(const JobName& job);
/// Streams of these queues. Each holds the queues of one user, because the permission to
/// acknowledge is granted by stream name only.
std::string MeasureStream(const std::string& device_class, const std::string& user);
std::string BuildStream(const std::string& user);
/// Prefix of the streams of build orders.
inline constexpr const char* kBuildStreams = "TWBUILD:";
/// Stream of the artifacts.
inline constexpr const char* kArtifactStream = "TWARTIFACT";
/// Class name in the announcements of devices that build for others.
inline constexpr const char* kBuilders = "builders";

/// Returns the object name of an artifact part. Any member that knows the hash can read it.
std::string ArtifactObject(const JobName& job, const std::string& hash, int part);

}  // namespace tilewright::measure::fleet
