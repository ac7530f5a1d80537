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

// Wire format of a fleet's messages: one JSON object per message, which contains the version of the
// format. Receivers trust no message: sizes and values have limits, and invalid messages are
// dropped.

namespace tilewright::measure::fleet {

/// Version of the wire format. Raise it when the meaning of a message changes, or of a workload's
/// key in it. A worker or tuner of another version receives a refusal. 2: keys contain
/// reduced-range weights. 3: timing with cold weights. 4: a kernel's artifact has the same bytes on
/// every build machine. 5: keys contain bfloat16, epilogues operands that broadcast. 6: orders of
/// open tasks, and the programs of a worker.
inline constexpr std::int64_t kWireVersion = 6;

/// Maximum length of each kind of message, in bytes.
inline constexpr std::size_t kMaxOrderBytes = std::size_t{512} << 10;
inline constexpr std::size_t kMaxResultBytes = std::size_t{512} << 10;
inline constexpr std::size_t kMaxSmallBytes = std::size_t{64} << 10;
/// Maximum size of an artifact, and of all artifacts of one order together, in bytes.
inline constexpr std::int64_t kMaxArtifactBytes = std::int64_t{32} << 20;
inline constexpr std::int64_t kMaxOrderArtifactBytes = std::int64_t{128} << 20;

/// Maximum number of open tasks that a worker lists.
inline constexpr std::size_t kMaxPrograms = 256;

/// Work that an order requests for its candidates.
enum class Stage : std::uint8_t {
  kWhole,  ///< build and measure, on one machine
  kBuild,  ///< build only: the artifact is stored where runners find it
  kRun,    ///< measure built artifacts
  kRace,   ///< build and measure all of them, interleaved
};

/// Artifact that another machine built.
struct Built {
  KernelSpec kernel;      ///< `artifact`: empty; `artifact_name`: of ArtifactName
  std::string hash;       ///< SHA-256 of the artifact, 64 hexadecimal digits: its name in the fleet
  std::int64_t size = 0;  ///< bytes
};

/// Message from a tuner to a worker: candidates of one task.
struct Order {
  JobName job;
  std::uint64_t epoch = 0;      ///< of this run of the tuner
  std::uint64_t sequence = 0;   ///< number of the order in it, from 1
  std::int64_t generation = 0;  ///< number of earlier deliveries, by queue or directly
  std::string token;            ///< known only to recipients of this generation of the order
  Stage stage = Stage::kWhole;
  std::vector<Candidate> candidates;  ///< of one task and epilogue; one, except in a race
  std::vector<double> known_seconds;  ///< see RaceSettings; of a race
  std::optional<std::size_t> anchor;  ///< of a race
  double race_seconds = 0, wait_seconds = 0;
  double best_seconds = 0;  ///< see Request
  bool alone = false;       ///< with no other work in parallel: workers were lost with it
  std::vector<Built>
      built;  ///< of kRun, and of a race if its device cannot build: one for each candidate
};

/// Delivery number of an order: a later delivery has a greater one. Receivers ignore messages about
/// earlier deliveries.
struct Fence {
  std::int64_t generation = 0, deliveries = 0;
  friend auto operator<=>(const Fence&, const Fence&) = default;
};

/// Order that a worker holds.
struct Lease {
  std::uint64_t sequence = 0;
  Fence fence;
  std::string handle;  ///< for Broker::Acknowledge; empty if the worker received the order directly
  bool started = false;  ///< the device works on it
  std::string token;     ///< the order's
};

/// Message from a worker to a tuner, every second and when it gets orders: the job's orders that
/// the worker holds.
struct Heartbeat {
  std::uint64_t epoch = 0;
  std::string instance;  ///< of the worker's process: changes with a restart
  std::vector<Lease> leases;
};

/// Message from a worker to a tuner: result of an order.
struct OrderResult {
  std::uint64_t epoch = 0;
  std::string instance;
  Lease lease;
  /// In the order of the candidates; their `candidate` is not set. Empty if the order was refused.
  std::vector<Trial> trials;
  std::optional<Built> built;  ///< of kBuild, if its trial's outcome is ok
  std::string refusal;  ///< the reason if the worker refused the order; another worker gets it then
};

/// Prefix of a refusal because an artifact of the order is unavailable.
inline constexpr const char* kArtifactUnavailable = "its artifact";
/// Refusal of a device that cannot build.
inline constexpr const char* kNoBuilder = "no builder is here";

/// State of a device.
enum class DeviceState : std::uint8_t { kReady, kDraining, kQuarantined };

/// Message from a worker to all members, every two seconds: announces a device.
struct Announcement {
  std::string instance;
  std::string version;      ///< of the program, for display
  std::string fingerprint;  ///< DeviceFingerprint as text
  std::string target;       ///< the target that `native` means there
  bool builds = false, measures = false;
  int build_slots = 0, measure_slots = 0;  ///< number of orders it takes at a time
  double resolution = 0;                   ///< see Measurer
  double probe_seconds = 0;  ///< recent duration of a constant piece of work; 0: unknown
  /// Keys of the open tasks that the worker's configuration lists; empty: it measures kernels.
  std::vector<std::string> programs;
  DeviceState state = DeviceState::kReady;
  std::int64_t held = 0, done = 0;  ///< number of orders
  double busy_seconds = 0;          ///< of the device, since the worker started
  double up_seconds = 0;            ///< since the worker started
};

/// Message from a tuner to the workers of a class, every second: announces a job.
struct JobAnnouncement {
  std::uint64_t epoch = 0;
  double weight = 1;  ///< share of the devices' time, relative to other jobs
  std::optional<double>
      remaining_seconds;              ///< until its deadline, 0 if that is over; empty: no deadline
  bool split = false;                 ///< builders build the orders before devices measure them
  bool ended = false;                 ///< all orders of the job are canceled
  std::uint64_t floor = 0;            ///< orders of lower numbers are canceled
  std::int64_t open = 0;              ///< number of orders that are not done
  std::int64_t done = 0;              ///< trials
  double oldest_seconds = 0;          ///< age of the oldest order that no worker holds
  std::string what;                   ///< for display: the graph
  std::vector<std::string> excluded;  ///< devices whose times do not count: DeviceName as text
};

/// Message from the operator of the fleet to a device or a job.
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

/// Errors: kCorrupt naming the invalid member; kUnsupported for another version of the wire format.
Result<Order> DecodeOrder(std::string_view text);
Result<Heartbeat> DecodeHeartbeat(std::string_view text);
Result<OrderResult> DecodeResult(std::string_view text);
Result<Announcement> DecodeAnnouncement(std::string_view text);
Result<JobAnnouncement> DecodeJobAnnouncement(std::string_view text);
Result<Control> DecodeControl(std::string_view text);

/// Table with the task of an order's candidates, as number 1.
TaskTable TableOf(const Candidate& candidate);
inline constexpr std::uint64_t kOrderTask = 1;

}  // namespace tilewright::measure::fleet
