#pragma once

#include <string>
#include <string_view>

#include "measure/fleet/broker.h"
#include "src/base/status.h"
#include "src/target/cpu.h"

// What the subjects of a fleet's messages are called. Permissions are given by them: the last words
// of what a worker says are its own name and device, the middle ones of a job are its user's.

namespace tilewright::measure::fleet {

/// A name that may be one word of a subject: 1 to 64 letters, digits, '-' and '_'.
bool IsName(std::string_view text);
/// Errors: kInvalidArgument; what: what is named, for the message.
Status CheckName(std::string_view what, std::string_view text);

/// Devices of one class are the same as far as fingerprints say; trials of a job are measured on
/// one class. Twelve hexadecimal digits behind the kind of device.
std::string ClassOf(const DeviceFingerprint& device);

/// A job's name in the fleet: its user and its own.
struct JobName {
  std::string user, job;
  friend auto operator<=>(const JobName&, const JobName&) = default;
};

/// A device's name in the fleet: that of its worker, whose key it speaks with, and its own.
struct DeviceName {
  std::string worker, device;
  std::string ToString() const { return worker + "." + device; }
  friend auto operator<=>(const DeviceName&, const DeviceName&) = default;
};

// Said by workers.
std::string AnnouncementSubject(const std::string& device_class, const DeviceName& device);
std::string HeartbeatSubject(const JobName& job, const DeviceName& device);
std::string ResultSubject(const JobName& job, const DeviceName& device);
// Said by tuners.
std::string JobSubject(const std::string& device_class, const JobName& job);
std::string DirectSubject(const std::string& device_class, const DeviceName& device,
                          const JobName& job);
// Said by anybody who wants to know who is there: workers answer at once.
inline constexpr const char* kDiscoverySubject = "tw.ask";
// Said by who runs the fleet.
std::string DeviceControlSubject(const DeviceName& device);
std::string JobControlSubject(const JobName& job);

/// The part of a subject between dots, from 0; empty if there is none.
std::string_view SubjectToken(std::string_view subject, int index);
/// Returns whether each word after the kind of message is a name. Brokers accept other words, which
/// may hold control characters of terminals.
bool HasNames(std::string_view subject);
/// Who says it, by a subject of AnnouncementSubject, HeartbeatSubject or ResultSubject.
DeviceName SenderOf(std::string_view subject);

/// Where measurers of a class take a job's orders.
Queue MeasureQueue(const std::string& device_class, const JobName& job);
/// Where builders take them.
Queue BuildQueue(const JobName& job);
/// The streams behind them. Each holds the queues of one user: who may acknowledge what is given by
/// the name of a stream, and by nothing else.
std::string MeasureStream(const std::string& device_class, const std::string& user);
std::string BuildStream(const std::string& user);
/// What the names of streams of orders to build begin with.
inline constexpr const char* kBuildStreams = "TWBUILD:";
/// Where artifacts are.
inline constexpr const char* kArtifactStream = "TWARTIFACT";
/// Stands for a class where those that build for others say so.
inline constexpr const char* kBuilders = "builders";

/// What an artifact is kept as: it can be had by anybody who knows its hash.
std::string ArtifactObject(const JobName& job, const std::string& hash, int part);

}  // namespace tilewright::measure::fleet
