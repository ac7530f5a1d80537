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

// What the supervisor and its workers say to each other: one JSON object per line. Included by .cc
// files of measure/ only.

namespace tilewright::measure {

/// Raised when the meaning of a message changes, or of a workload's key in it: a runner on another
/// machine may be of another version of this program. 7: keys say that weights are narrow. 8:
/// weights come from afar. 9: files of reference results have a fresh check.
inline constexpr std::int64_t kProtocolVersion = 9;

/// A failure to be injected: used by tests to show what the supervision does. Empty in real work.
struct Fault {
  std::string builder;   ///< what the builder does instead: see fault_hooks.h
  std::string runner;    ///< what the runner does before it starts the kernel
  std::string artifact;  ///< a ready shared object, run instead of what was built
  std::string symbol;    ///< the kernel in it
  friend bool operator==(const Fault&, const Fault&) = default;
};

/// Whose a failure is. What is not clear is decided by a probe (see Supervisor); what is the
/// machine's (no room, no descriptors, no processes, no memory) is never a result of the candidate.
enum class FaultDomain : std::uint8_t { kCandidate, kUndetermined, kMachine };

/// The symbol of every candidate, and how the names of its grids' kernels begin.
inline constexpr const char* kCandidateSymbol = "tw_candidate";

/// A built kernel: all that the runner must know about it.
struct KernelSpec {
  std::uint64_t task = 0;  ///< number of the next three in the table of tasks
  Target target;           ///< whose device runs it
  Workload workload;
  Epilogue epilogue;
  KernelSignature signature;    ///< of loops
  std::string artifact;         ///< its file on this machine; empty: it was sent before the order
  std::string artifact_name;    ///< what is in it, see ArtifactName; empty: anything, of a test
  std::string symbol;           ///< of loops
  std::int64_t code_bytes = 0;  ///< of its machine code; 0: not known
  int threads = 1;
  std::optional<double> tolerance;            ///< of a float result, see Compare
  std::vector<CudaLaunch> launches;           ///< if the artifact is PTX: its kernels, in order
  std::vector<std::int64_t> workspace_bytes;  ///< ... and what they take behind the parameters
};

/// Supervisor to builder: make the reference results of a workload with an epilogue.
struct ReferenceOrder {
  std::uint64_t task = 0;
  std::string path;  ///< file to write
};

/// Supervisor to builder.
struct BuildOrder {
  std::uint64_t ticket = 0;
  std::uint64_t task = 0;  ///< the candidate's
  Candidate candidate;
  std::string path;  ///< of the artifact to write
  Fault fault;
};

/// Supervisor to builder: make a shared object that does nothing. To the runner: load it and call
/// it. Between them they find what a machine lacks before it costs candidates.
struct ProbeOrder {
  std::string target;  ///< that of the candidates
  std::string path;    ///< of the shared object; its kernel is kProbeSymbol
  int threads = 1;     ///< that a candidate starts
};
inline constexpr const char* kProbeSymbol = "tw_probe";

/// The answer of both.
struct ProbeReply {
  std::string problem;  ///< empty: it went well
};

/// Builder to supervisor, for a ReferenceOrder or a BuildOrder.
struct BuildReply {
  std::uint64_t ticket = 0;  ///< 0 for a ReferenceOrder
  std::string reference;     ///< path, for a ReferenceOrder
  Outcome outcome = Outcome::kOk;
  std::string reason;
  FaultDomain fault_domain = FaultDomain::kCandidate;  ///< if not ok
  double seconds = 0;
  KernelSpec kernel;  ///< if ok and a BuildOrder
};

/// Supervisor to runner: time these kernels; more than one means interleaved.
struct RunOrder {
  struct Item {
    std::uint64_t ticket = 0;
    KernelSpec kernel;
    std::string reference;  ///< file of the expected results
    double best_seconds = 0;
    double min_sampling_seconds = 0;  ///< see SamplingSettings
    Fault fault;
    double known_seconds = 0;  ///< a race: what it took in quiet moments before; 0: unknown
    bool anchor = false;       ///< a race: it stays to the end
  };
  std::vector<Item> items;
  double race_seconds = 0;  ///< a race may take, where more than its usual time is; 0: no limit
  double wait_seconds = 0;  ///< a race may wait for quiet rounds, beyond that
};

/// Runner to supervisor, one per item.
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
  int capacity = 1;           ///< orders it takes at a time
  bool runner_ends = false;   ///< its device works no more in this process: it ends after the reply
  double run_seconds = 0;     ///< from order to reply, in the runner
  double timing_seconds = 0;  ///< of it: taking samples
};

/// Supervisor to a runner on another machine: a part of a file that orders name.
struct FileChunk {
  std::string name;   ///< without a folder
  bool first = true;  ///< else it follows the part before
  std::string bytes;
};

/// The runner's answer to being configured.
struct RunnerHandshake {
  std::string device;        ///< DeviceFingerprint of its processor, as text
  std::string target;        ///< what `native` is there
  double probe_seconds = 0;  ///< quiet time of the canary
  double resolution = 0;     ///< of the A/A test
  std::string unprotected;   ///< see SandboxGaps::Unprotected; empty: nothing is
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

/// Errors: kCorrupt naming the field that is missing or of the wrong type, or a task that is not in
/// the table; kUnsupported for settings or a greeting of another version of the protocol.
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

/// "prepare", "build", "run", "started", …: the field `type`; empty if there is none.
std::string MessageType(const Json& json);
/// One line; bytes that are no UTF-8 are replaced.
std::string LineOf(const Json& json);

}  // namespace tilewright::measure
