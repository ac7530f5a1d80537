#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/fleet/subjects.h"
#include "measure/measurer.h"
#include "measure/messages.h"
#include "src/base/status.h"
#include "src/space/trial.h"

// What the members of a fleet say to each other: one JSON object per message, with the version of
// the wire format in it. Nobody trusts what comes: sizes and values have limits, and what is no
// message is not heard.

namespace tilewright::measure::fleet {

/// Raised when the meaning of a message changes, or of a workload's key in it. A worker or tuner of
/// another version is told so. 2: keys say that weights are narrow. 3: weights come from afar.
/// 4: a kernel's artifact is the same bytes wherever it is built.
inline constexpr std::int64_t kWireVersion = 4;

/// Longest message of each kind, in bytes.
inline constexpr std::size_t kMaxOrderBytes = std::size_t{512} << 10;
inline constexpr std::size_t kMaxResultBytes = std::size_t{512} << 10;
inline constexpr std::size_t kMaxSmallBytes = std::size_t{64} << 10;
/// Largest artifact, and all artifacts of one order together, in bytes.
inline constexpr std::int64_t kMaxArtifactBytes = std::int64_t{32} << 20;
inline constexpr std::int64_t kMaxOrderArtifactBytes = std::int64_t{128} << 20;

/// What is to be done with an order's candidates.
enum class Stage : std::uint8_t {
  kWhole,  ///< build and measure, on one machine
  kBuild,  ///< build only: the artifact is put where runners find it
  kRun,    ///< measure what was built
  kRace,   ///< build and measure all of them, interleaved
};

/// An artifact that was built elsewhere.
struct Built {
  KernelSpec kernel;      ///< `artifact`: none; `artifact_name`: as of ArtifactName
  std::string hash;       ///< SHA-256 of the artifact, 64 hexadecimal digits: its name in the fleet
  std::int64_t size = 0;  ///< bytes
};

/// Tuner to a worker: candidates of one task.
struct Order {
  JobName job;
  std::uint64_t epoch = 0;      ///< of this life of the tuner
  std::uint64_t sequence = 0;   ///< number of the order in it, from 1
  std::int64_t generation = 0;  ///< how often it was put into a queue, or said, before
  std::string token;            ///< known to those who were given this generation of it alone
  Stage stage = Stage::kWhole;
  std::vector<Candidate> candidates;  ///< of one task and epilogue; one, unless they race
  std::vector<double> known_seconds;  ///< see RaceSettings; of a race
  std::optional<std::size_t> anchor;  ///< of a race
  double race_seconds = 0, wait_seconds = 0;
  double best_seconds = 0;  ///< see Request
  bool alone = false;       ///< beside nothing else: workers were lost with it
  std::vector<Built>
      built;  ///< of kRun, and of a race if its device cannot build: one for each candidate
};

/// Which delivery of an order: a later one is greater. What an earlier one says does not count.
struct Fence {
  std::int64_t generation = 0, deliveries = 0;
  friend auto operator<=>(const Fence&, const Fence&) = default;
};

/// An order that a worker has.
struct Lease {
  std::uint64_t sequence = 0;
  Fence fence;
  std::string handle;    ///< for Broker::Acknowledge; empty if it was said to the worker directly
  bool started = false;  ///< the device works on it
  std::string token;     ///< the order's
};

/// Worker to a tuner, every second and when it gets orders: those of the job that it has.
struct Heartbeat {
  std::uint64_t epoch = 0;
  std::string instance;  ///< of the worker's process: another one after a restart
  std::vector<Lease> leases;
};

/// Worker to a tuner: what came of an order.
struct OrderResult {
  std::uint64_t epoch = 0;
  std::string instance;
  Lease lease;
  /// In the order of the candidates; their `candidate` is not set. Empty where it was not done.
  std::vector<Trial> trials;
  std::optional<Built> built;  ///< of kBuild, if its trial's outcome is ok
  std::string refusal;         ///< why it was not done; the order is somebody else's then
};

/// How a refusal begins where the artifact that an order names cannot be had.
inline constexpr const char* kArtifactUnavailable = "its artifact";
/// The refusal of a device that cannot build.
inline constexpr const char* kNoBuilder = "no builder is here";

/// What a device is doing.
enum class DeviceState : std::uint8_t { kReady, kDraining, kQuarantined };

/// Worker to all, every two seconds: a device is here.
struct Announcement {
  std::string instance;
  std::string version;      ///< of the program, for people
  std::string fingerprint;  ///< DeviceFingerprint as text
  std::string target;       ///< what `native` is there
  bool builds = false, measures = false;
  int build_slots = 0, measure_slots = 0;  ///< orders it takes at a time
  double resolution = 0;                   ///< see Measurer
  double probe_seconds = 0;  ///< that a constant piece of work took in the last moments; 0: unknown
  DeviceState state = DeviceState::kReady;
  std::int64_t held = 0, done = 0;  ///< orders
  double busy_seconds = 0;          ///< of the device, since the worker began
  double up_seconds = 0;            ///< since the worker began
};

/// Tuner to the workers of a class, every second: a job is here.
struct JobAnnouncement {
  std::uint64_t epoch = 0;
  double weight = 1;  ///< share of the devices' time, beside other jobs'
  std::optional<double>
      remaining_seconds;              ///< until its deadline, 0 if that is over; none: it has none
  bool split = false;                 ///< orders for measuring have been built already, by builders
  bool ended = false;                 ///< nothing of it is wanted any more
  std::uint64_t floor = 0;            ///< orders of lower numbers are not wanted any more
  std::int64_t open = 0;              ///< orders that are not done
  std::int64_t done = 0;              ///< trials
  double oldest_seconds = 0;          ///< that an order has waited which nobody has
  std::string what;                   ///< for people: the graph
  std::vector<std::string> excluded;  ///< devices whose times do not count: DeviceName as text
};

/// Who runs the fleet to a device or a job.
struct Control {
  std::string action;  ///< "drain", "quarantine", "resume"; of a job: "cancel"
  std::string why;
};

std::string Encode(const Order& order);
std::string Encode(const Heartbeat& heartbeat);
std::string Encode(const OrderResult& result);
std::string Encode(const Announcement& announcement);
std::string Encode(const JobAnnouncement& state);
std::string Encode(const Control& control);

/// Errors: kCorrupt naming what is wrong; kUnsupported for another version of the wire format.
Result<Order> DecodeOrder(std::string_view text);
Result<Heartbeat> DecodeHeartbeat(std::string_view text);
Result<OrderResult> DecodeResult(std::string_view text);
Result<Announcement> DecodeAnnouncement(std::string_view text);
Result<JobAnnouncement> DecodeJobAnnouncement(std::string_view text);
Result<Control> DecodeControl(std::string_view text);

/// The task of an order's candidates, as number 1.
TaskTable TableOf(const Candidate& candidate);
inline constexpr std::uint64_t kOrderTask = 1;

}  // namespace tilewright::measure::fleet
