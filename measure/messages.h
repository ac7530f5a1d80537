#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "measure/sampling.h"
#include "measure/task_table.h"
#include "measure/workers.h"
#include "src/base/json.h"
#include "src/runtime/cuda_session.h"
#include "src/space/trial.h"
#include "src/tensor/compute/kernel_signature.h"

// Messages between the supervisor and its workers: one JSON object per line. Included by .cc files
// of measure/ only.

namespace tilewright::measure {

/// Version of the protocol. Raise it when the meaning of a message changes, or of a workload's key
/// in it: a runner on another machine may be of another version of this program. 7: keys contain
/// reduced-range weights. 8: timing with cold weights. 9: files of reference results contain a
/// fresh check. 10: keys contain bfloat16, epilogues operands that broadcast.
inline constexpr std::int64_t kProtocolVersion = 10;

/// Fault to inject, for tests of the supervision. Empty in normal operation.
struct Fault {
  std::string builder;   ///< fault of the builder: see fault_hooks.h
  std::string runner;    ///< fault of the runner before it starts the kernel
  std::string artifact;  ///< shared object that runs instead of the built one
  std::string symbol;    ///< the kernel in it
  friend bool operator==(const Fault&, const Fault&) = default;
};

/// Fault domain of a failure. A probe decides an undetermined one (see Supervisor). A failure of
/// the machine (no disk space, descriptors, processes or memory) never becomes a result of the
/// candidate.
enum class FaultDomain : std::uint8_t { kCandidate, kUndetermined, kMachine };

/// Symbol of every candidate, and prefix of the names of its grids' kernels.
inline constexpr const char* kCandidateSymbol = "tw_candidate";

/// Specification of a built kernel: everything that the runner needs.
struct KernelSpec {
  std::uint64_t task = 0;  ///< number of the next three in the table of tasks
  Target target;           ///< of the device that runs it
  Workload workload;
  Epilogue epilogue;
  KernelSignature signature;    ///< of loops
  std::string artifact;         ///< its file on this machine; empty: it was sent before the order
  std::string artifact_name;    ///< see ArtifactName; empty: unchecked, in tests
  std::string symbol;           ///< of loops
  std::int64_t code_bytes = 0;  ///< of its machine code; 0: unknown
  int threads = 1;
  std::optional<double> tolerance;            ///< of a float result, see Compare
  std::vector<GridLaunch> launches;           ///< if the artifact is PTX or OpenCL C
  std::vector<std::int64_t> workspace_bytes;  ///< and their workspaces, which follow the parameters
};

/// Message from the supervisor to a builder: compute the reference results of a workload with an
/// epilogue.
struct ReferenceOrder {
  std::uint64_t task = 0;
  std::string path;  ///< file to write
};

/// Message from the supervisor to a builder: build a candidate.
struct BuildOrder {
  std::uint64_t ticket = 0;
  std::uint64_t task = 0;  ///< of the candidate
  Candidate candidate;
  std::string path;  ///< of the artifact to write
  Fault fault;
};

/// Message from the supervisor. The builder makes a shared object that does nothing; the runner
/// loads and calls it. Together they detect missing resources of the machine before candidates
/// fail.
struct ProbeOrder {
  std::string target;  ///< of the candidates
  std::string path;    ///< of the shared object; its kernel is kProbeSymbol
  int threads = 1;     ///< number that a candidate starts
};
inline constexpr const char* kProbeSymbol = "tw_probe";

/// Reply of both to a ProbeOrder.
struct ProbeReply {
  std::string problem;  ///< empty on success
};

/// Message from a builder to the supervisor: reply to a ReferenceOrder or a BuildOrder.
struct BuildReply {
  std::uint64_t ticket = 0;  ///< 0 for a ReferenceOrder
  std::string reference;     ///< path, for a ReferenceOrder
  Outcome outcome = Outcome::kOk;
  std::string reason;
  FaultDomain fault_domain = FaultDomain::kCandidate;  ///< if not ok
  double seconds = 0;
  KernelSpec kernel;  ///< if ok and a BuildOrder
};

/// Message from the supervisor to a runner: time these kernels; more than one are interleaved.
struct RunOrder {
  struct Item {
    std::uint64_t ticket = 0;
    KernelSpec kernel;
    std::string reference;  ///< file of the expected results
    double best_seconds = 0;
    double min_sampling_seconds = 0;  ///< see SamplingSettings
    Fault fault;
    double known_seconds = 0;  ///< in a race: its time in earlier clean samples; 0: unknown
    bool anchor = false;       ///< in a race: it stays to the end
  };
  std::vector<Item> items;
  double race_seconds = 0;  ///< maximum of a race, if less than its default; 0: no limit
  double wait_seconds = 0;  ///< additional maximum of a race while rounds are noisy
};

/// Message from a runner to the supervisor, one per item.
struct RunReply {
  std::uint64_t ticket = 0;
  Outcome outcome = Outcome::kOk;
  std::string reason;
  FaultDomain fault_domain = FaultDomain::kCandidate;  ///< if not ok
  std::vector<double> samples;
  std::vector<double> probe_times;
  std::vector<double> memory_probe_times;
  double value = 0, noise = 0;
  double clean_fraction = -1;            ///< see Trial
  std::map<std::string, double> others;  ///< see Trial
  bool verified = false;
  double max_abs_error = 0;
  std::string device;         ///< DeviceFingerprint of the runner's processor, as text
  int capacity = 1;           ///< number of orders it takes at a time
  bool runner_ends = false;   ///< its device is unusable in this process: it ends after the reply
  double run_seconds = 0;     ///< from order to reply, in the runner
  double timing_seconds = 0;  ///< part of it: taking samples
};

/// Message from the supervisor to a runner on another machine: a part of a file that orders name.
struct FileChunk {
  std::string name;   ///< without a folder
  bool first = true;  ///< else it continues the part before
  std::string bytes;
};

/// Reply of a runner to its configuration.
struct RunnerHandshake {
  std::string device;        ///< DeviceFingerprint of its processor, as text
  std::string target;        ///< the target that `native` means there
  double probe_seconds = 0;  ///< uncontended time of the interference probe
  double resolution = 0;     ///< of the A/A test
  std::string unprotected;   ///< see SandboxGaps::Unprotected; empty: fully protected
};

Json ToJson(const ReferenceOrder& order);
Json ToJson(const BuildOrder& order);
Json ToJson(const BuildReply& reply);
Json ToJson(const ProbeOrder& order);
Json ToJson(const ProbeReply& reply);
Json ToJson(const RunOrder& order);
Json ToJson(const RunReply& reply);
Json ToJson(const RunnerHandshake& handshake);
Json ToJson(const FileChunk& part);
Json ToJson(const RunWorkerSettings& settings);

/// Errors: kCorrupt naming the field that is missing or of the wrong type, or a task that the table
/// lacks; kUnsupported for settings or a handshake of another version of the protocol.
Result<ReferenceOrder> ReferenceOrderFrom(const Json& json);
Result<BuildOrder> BuildOrderFrom(const Json& json, const TaskTable& tasks);
Result<BuildReply> BuildReplyFrom(const Json& json, const TaskTable& tasks);
Result<ProbeOrder> ProbeOrderFrom(const Json& json);
Result<ProbeReply> ProbeReplyFrom(const Json& json);
Result<RunOrder> RunOrderFrom(const Json& json, const TaskTable& tasks);
Result<RunReply> RunReplyFrom(const Json& json);
Result<RunnerHandshake> RunnerHandshakeFrom(const Json& json);
Result<FileChunk> FileChunkFrom(const Json& json);
Result<RunWorkerSettings> RunWorkerSettingsFrom(const Json& json);

/// Returns the member `type`: "prepare", "build", "run", "started", …; empty if it is missing.
std::string MessageType(const Json& json);
/// Returns one line; bytes that are not UTF-8 are replaced.
std::string LineOf(const Json& json);

}  // namespace tilewright::measure
