// Messages of a fleet as JSON and back. Members have limits. A value beyond them is an error that
// names the member, and the receiver drops the message.

#include "measure/fleet/wire.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "measure/fleet/wire_fields.h"
#include "measure/kernel_message.h"
#include "src/target/device.h"

namespace tilewright::measure::fleet {
namespace {

constexpr std::size_t kMaxCandidates = 128;
constexpr std::size_t kMaxLeases = 1024;
constexpr std::size_t kMaxToken = 64;
constexpr std::size_t kMaxSamples = 4096;
// Of a workload or epilogue as text: each candidate of an order has a copy of its value.
constexpr std::size_t kMaxTaskText = std::size_t{64} << 10;
// Of a race. The runner's own limit is a day, too long for a shared device.
constexpr double kMaxRaceSeconds = 3600;

constexpr std::array<const char*, 4> kStages = {"whole", "build", "run", "race"};

using DeviceCodec = TextCodec<&DeviceFingerprint::ToString, DeviceFingerprint::Parse>;

bool AreTimes(const std::vector<double>& values) {
  return std::ranges::all_of(values,
                             [](double value) { return value >= 0 && std::isfinite(value); });
}

/// Codec of the task that is sent with a message.
struct TaskCodec {
  Json Write(const TaskInfo& task) const { return ToJson(TaskMessage{kOrderTask, task}); }
  void Read(JsonReader& reader, const char* name, const Json& json, TaskInfo& task) const {
    if (!reader.Expect(name, json.is_object())) return;
    JsonReader members(json, kMessage);
    std::string text;
    for (const char* member : {"workload", "epilogue", "target"}) {
      members(member, text, ShortTextCodec{kMaxTaskText});
    }
    reader.Fail(members.status());
    if (!reader.ok()) return;
    auto message = TaskMessageFrom(json);
    reader.Fail(message.status());
    if (message.ok()) task = std::move(message->task);
  }
};

/// Codec of the task of an order's candidates. Reading makes one candidate, which has the task.
struct CandidatesTaskCodec {
  Json Write(const std::vector<Candidate>& candidates) const {
    const Candidate& first = candidates.front();
    return TaskCodec().Write({first.task.workload, first.epilogue, first.task.target});
  }
  void Read(JsonReader& reader, const char* name, const Json& json,
            std::vector<Candidate>& candidates) const {
    TaskInfo task;
    TaskCodec().Read(reader, name, json, task);
    candidates.resize(1);
    candidates[0].task = {std::move(task.workload), std::move(task.target)};
    candidates[0].epilogue = std::move(task.epilogue);
  }
};

/// Codec of a candidate without its task. Reading keeps the task it has.
struct DescribeCandidate {
  void operator()(auto& fields, auto& candidate) const {
    fields("template", candidate.template_key, ShortTextCodec());
    fields("version", candidate.template_version, kVersion);
    fields("config", candidate.config, ConfigCodec());
  }
};
using CandidateCodec = ObjectCodec<DescribeCandidate>;

/// Codec of an order's candidates, after their task.
struct CandidatesCodec {
  Json Write(const std::vector<Candidate>& candidates) const {
    return ListCodec<CandidateCodec>().Write(candidates);
  }
  void Read(JsonReader& reader, const char* name, const Json& json,
            std::vector<Candidate>& candidates) const {
    if (!reader.Expect(name, json.is_array())) return;
    const std::size_t count = json.size();
    reader.Require(count >= 1 && count <= kMaxCandidates, std::to_string(count) + " candidates");
    if (!reader.ok()) return;
    candidates.resize(count, Candidate(candidates[0]));
    for (std::size_t i = 0; i < count; ++i) {
      CandidateCodec().Read(reader, name, json[i], candidates[i]);
    }
  }
};

/// Codec of the index of a race's anchor, -1: none.
struct AnchorCodec {
  Json Write(const std::optional<std::size_t>& anchor) const {
    return anchor ? static_cast<std::int64_t>(*anchor) : std::int64_t{-1};
  }
  void Read(JsonReader& reader, const char* name, const Json& json,
            std::optional<std::size_t>& anchor) const {
    std::int64_t number = -1;
    PlainCodec().Read(reader, name, json, number);
    if (number >= 0) anchor = static_cast<std::size_t>(number);
  }
};

/// Codec of the task of a result's artifact. Reading makes the artifact's kernel, which has the
/// task.
struct BuiltTaskCodec {
  Json Write(const std::optional<Built>& built) const {
    return TaskCodec().Write(
        {built->kernel.workload, built->kernel.epilogue, built->kernel.target});
  }
  void Read(JsonReader& reader, const char* name, const Json& json,
            std::optional<Built>& built) const {
    TaskInfo task;
    TaskCodec().Read(reader, name, json, task);
    KernelSpec& kernel = built.emplace().kernel;
    kernel.workload = std::move(task.workload);
    kernel.epilogue = std::move(task.epilogue);
    kernel.target = std::move(task.target);
  }
};

/// Codec of an artifact from another machine. A decoded kernel is not complete: see CompleteKernel.
struct BuiltCodec {
  Json Write(const Built& built) const {
    Built sent = built;
    sent.kernel.task = kOrderTask;
    sent.kernel.artifact.clear();
    return WriteJson(sent);
  }
  void Read(JsonReader& reader, const char* name, const Json& json, Built& built) const {
    PlainCodec().Read(reader, name, json, built);
  }
};

/// Codec of the name of a metric: "seconds", or of an open task "size[B]".
struct MetricCodec {
  Json Write(const std::string& text) const { return text; }
  void Read(JsonReader& reader, const char* name, const Json& json, std::string& text) const {
    constexpr std::size_t kMaxMetric = 64;
    PlainCodec().Read(reader, name, json, text);
    const bool valid =
        !text.empty() && text.size() <= kMaxMetric &&
        std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != '"'; });
    if (!valid) reader.Fail(name, "is not a metric");
  }
};

struct DescribeTrial {
  void operator()(auto& fields, auto& trial) const {
    fields("outcome", trial.outcome, OutcomeCodec());
    fields("reason", trial.reason, PrintableCodec());
    fields("metric", trial.metric, MetricCodec());
    fields("samples", trial.samples, ListCodec(NumberOrZeroCodec(), kMaxSamples));
    fields.Require(AreTimes(trial.samples), "a sample is none");
    fields("value", trial.value, kNotNegative);
    fields("noise", trial.noise, kNotNegative);
    fields("quiet_share", trial.clean_fraction, ShareCodec());
    fields.Optional("others", true, trial.others, PositivesCodec());
    fields("verified", trial.verified);
    fields("max_abs_error", trial.max_abs_error, kNotNegative);
    fields("build_seconds", trial.build_seconds, kSeconds);
    fields("run_seconds", trial.run_seconds, kSeconds);
    fields("device", trial.device, DeviceCodec{kMaxText});
    fields("codegen_version", trial.codegen_version, kVersion);
    fields("finished", trial.finished_unix_seconds, kNotNegative);
  }
};

}  // namespace

static void Describe(auto& fields, DescribedAs<Built> auto& built) {
  fields("kernel", built.kernel);
  fields("hash", built.hash);
  fields("size", built.size, RangeCodec<std::int64_t>{0, kMaxArtifactBytes});
  constexpr std::size_t kDigits = 64;
  const bool digits = built.hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  fields.Require(built.hash.size() == kDigits && digits, "hash is none");
  fields.Require(built.kernel.artifact.empty(), "artifact names a file");
}

static void Describe(auto& fields, DescribedAs<Lease> auto& lease) {
  fields("sequence", lease.sequence, kNumber);
  fields("generation", lease.fence.generation, kCount);
  fields("deliveries", lease.fence.deliveries, kCount);
  fields("handle", lease.handle, ShortTextCodec());
  fields("token", lease.token, ShortTextCodec{kMaxToken});
  fields("started", lease.started);
}

static void Describe(auto& fields, DescribedAs<Order> auto& order) {
  fields("user", order.job.user, NameCodec());
  fields("job", order.job.job, NameCodec());
  fields("epoch", order.epoch, kNumber);
  fields("sequence", order.sequence, kNumber);
  fields("generation", order.generation, kCount);
  fields("token", order.token, ShortTextCodec{kMaxToken});
  fields("stage", order.stage, EnumCodec{kStages});
  fields("task", order.candidates, CandidatesTaskCodec());
  fields("candidates", order.candidates, CandidatesCodec());
  fields("best", order.best_seconds, kNotNegative);
  fields.Optional("alone", order.alone, order.alone);
  const std::size_t count = order.candidates.size();
  const bool run = order.stage == Stage::kRun, race = order.stage == Stage::kRace;
  fields.Require(count == 1 || race, std::to_string(count) + " candidates");
  if (race) {
    fields("known", order.known_seconds, ListCodec(NumberOrZeroCodec(), kMaxCandidates));
    fields.Require(AreTimes(order.known_seconds), "known is not a list of times");
    fields("anchor", order.anchor, AnchorCodec());
    fields.Require(order.anchor.value_or(0) < count, "anchor is none");
    fields("race", order.race_seconds, kSeconds);
    fields("wait", order.wait_seconds, kSeconds);
    const double seconds = order.race_seconds + order.wait_seconds;
    fields.Require(seconds <= kMaxRaceSeconds, "race and wait are " + std::to_string(seconds) +
                                                   " s, expected at most " +
                                                   std::to_string(kMaxRaceSeconds));
  }
  fields.Optional("built", !order.built.empty(), order.built,
                  ListCodec(BuiltCodec(), kMaxCandidates));
  std::int64_t artifact_bytes = 0;
  for (const Built& built : order.built) artifact_bytes += built.size;
  fields.Require(artifact_bytes <= kMaxOrderArtifactBytes,
                 "artifacts of more than " + std::to_string(kMaxOrderArtifactBytes) + " bytes");
  const bool all = order.built.size() == count;
  fields.Require(run ? all : order.built.empty() || (race && all),
                 "built does not go with its stage");
}

static void Describe(auto& fields, DescribedAs<Heartbeat> auto& heartbeat) {
  fields("epoch", heartbeat.epoch, kNumber);
  fields("instance", heartbeat.instance, NameCodec());
  fields("leases", heartbeat.leases, ListCodec(PlainCodec(), kMaxLeases));
}

static void Describe(auto& fields, DescribedAs<OrderResult> auto& result) {
  fields("epoch", result.epoch, kNumber);
  fields("instance", result.instance, NameCodec());
  fields("lease", result.lease);
  fields("trials", result.trials, ListCodec(ObjectCodec<DescribeTrial>(), kMaxCandidates));
  fields("refusal", result.refusal, PrintableCodec());
  if (fields.Optional("task", result.built.has_value(), result.built, BuiltTaskCodec())) {
    fields("built", *result.built, BuiltCodec());
  }
}

TaskTable TableOf(const Candidate& candidate) {
  TaskTable table;
  TW_CHECK(
      table.Add(kOrderTask, {candidate.task.workload, candidate.epilogue, candidate.task.target})
          .ok());
  return table;
}

std::string Encode(const Order& order) {
  TW_CHECK(!order.candidates.empty());
  return Encoded("order", order);
}
std::string Encode(const Heartbeat& heartbeat) { return Encoded("beat", heartbeat); }
std::string Encode(const OrderResult& result) { return Encoded("result", result); }

Result<Order> DecodeOrder(std::string_view text) {
  TW_ASSIGN_OR_RETURN(auto order, Decoded<Order>(text, kMaxOrderBytes, "order"));
  const TaskTable tasks = TableOf(order.candidates.front());
  for (Built& built : order.built) TW_RETURN_IF_ERROR(CompleteKernel(built.kernel, tasks));
  return order;
}

Result<Heartbeat> DecodeHeartbeat(std::string_view text) {
  return Decoded<Heartbeat>(text, kMaxResultBytes, "beat");
}

Result<OrderResult> DecodeResult(std::string_view text) {
  TW_ASSIGN_OR_RETURN(auto result, Decoded<OrderResult>(text, kMaxResultBytes, "result"));
  if (result.built) {
    KernelSpec& kernel = result.built->kernel;
    TaskTable tasks;
    TW_RETURN_IF_ERROR(tasks.Add(kOrderTask, {kernel.workload, kernel.epilogue, kernel.target}));
    TW_RETURN_IF_ERROR(CompleteKernel(kernel, tasks));
  }
  for (Trial& trial : result.trials) {
    const bool ok = trial.outcome == Outcome::kOk;
    if (!result.built && ok && trial.value <= 0) {
      return Corrupt("message: value is none of a trial that went well");
    }
    trial.verified = trial.verified && ok;
  }
  return result;
}

}  // namespace tilewright::measure::fleet
