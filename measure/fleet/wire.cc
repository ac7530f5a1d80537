// Messages of a fleet as JSON and back. Each reader states the limits of what it takes; what is
// beyond them is an error that names the field, and the message is dropped by who got it.

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
// Of a workload or epilogue as text: each candidate of an order has a copy of what it says.
constexpr std::size_t kMaxTaskText = std::size_t{64} << 10;
// A race: the runner's own limit is a day, which nobody has to wait for on a shared device.
constexpr double kMaxRaceSeconds = 3600;

constexpr std::array<const char*, 4> kStages = {"whole", "build", "run", "race"};
const char* NameOf(Stage stage) { return kStages[static_cast<std::size_t>(stage)]; }
Json BuiltJson(const Built& built) {
  KernelSpec kernel = built.kernel;
  kernel.task = kOrderTask;
  kernel.artifact.clear();
  return Json{{"kernel", ToJson(kernel)}, {"hash", built.hash}, {"size", built.size}};
}

/// The task is told with it: a kernel's parameters follow from it.
Built BuiltFrom(const Json& json, Fields& outer, const TaskTable& tasks) {
  Fields fields(json);
  Built built;
  built.kernel = KernelSpecFrom(fields.Get("kernel", Json::value_t::object), fields, tasks);
  built.hash = fields.Text("hash");
  built.size = CountFrom(fields, "size", kMaxArtifactBytes);
  constexpr std::size_t kDigits = 64;
  const bool digits = built.hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (built.hash.size() != kDigits || !digits) fields.Fail(Corrupt("message: hash is none"));
  if (!built.kernel.artifact.empty()) fields.Fail(Corrupt("message: artifact names a file"));
  outer.Fail(fields.status());
  return built;
}

Json TaskJson(const Candidate& candidate) {
  return ToJson(TaskMessage{kOrderTask,
                            {candidate.task.workload, candidate.epilogue, candidate.task.target}});
}

/// The task that is told with a message.
Result<TaskMessage> TaskOf(Fields& fields) {
  const Json& told = fields.Get("task", Json::value_t::object);
  TW_RETURN_IF_ERROR(fields.status());
  Fields inner(told);
  for (const char* name : {"workload", "epilogue", "target"}) {
    (void)ShortText(inner, name, kMaxTaskText);
  }
  TW_RETURN_IF_ERROR(inner.status());
  return TaskMessageFrom(told);
}

Json CandidateJson(const Candidate& candidate) {
  return Json{{"template", candidate.template_key},
              {"version", candidate.template_version},
              {"config", candidate.config.ToString()}};
}

void ReadCandidates(Fields& fields, const TaskInfo& task, Order& order) {
  for (const Json& entry : fields.Get("candidates", Json::value_t::array)) {
    Fields inner(entry);
    Candidate candidate;
    candidate.task = {task.workload, task.target};
    candidate.epilogue = task.epilogue;
    candidate.template_key = ShortText(inner, "template");
    candidate.template_version = static_cast<int>(CountFrom(inner, "version", 1 << 30));
    auto config = Config::Parse(inner.Text("config"));
    fields.Fail(inner.status());
    if (!fields.status().ok()) return;
    fields.Fail(ToStatus(config));
    if (!config.ok()) return;
    candidate.config = *std::move(config);
    order.candidates.push_back(std::move(candidate));
    if (order.candidates.size() > kMaxCandidates) break;
  }
  const std::size_t count = order.candidates.size();
  if (count < 1 || count > kMaxCandidates || (count > 1 && order.stage != Stage::kRace)) {
    fields.Fail(Corrupt("message: " + std::to_string(count) + " candidates"));
  }
}

// Field by field: a list of them would be made and copied first.
Json LeaseJson(const Lease& lease) {
  Json json;
  json["sequence"] = Signed(lease.sequence);
  json["generation"] = lease.fence.generation;
  json["deliveries"] = lease.fence.deliveries;
  json["handle"] = lease.handle;
  json["token"] = lease.token;
  json["started"] = lease.started;
  return json;
}

Lease LeaseFrom(const Json& json, Fields& outer) {
  Fields fields(json);
  Lease lease;
  lease.sequence = static_cast<std::uint64_t>(CountFrom(fields, "sequence"));
  lease.fence.generation = CountFrom(fields, "generation");
  lease.fence.deliveries = CountFrom(fields, "deliveries");
  lease.handle = ShortText(fields, "handle");
  lease.token = ShortText(fields, "token", kMaxToken);
  lease.started = fields.Flag("started");
  outer.Fail(fields.status());
  return lease;
}

Json TrialJson(const Trial& trial) {
  Json json;
  json["outcome"] = std::string(OutcomeName(trial.outcome));
  json["reason"] = Printable(trial.reason.substr(0, kMaxText));
  json["metric"] = trial.metric;
  json["samples"] = trial.samples;
  json["value"] = Finite(trial.value);
  json["noise"] = Finite(trial.noise);
  json["quiet_share"] = Finite(trial.clean_fraction);
  json["others"] = trial.others;
  json["verified"] = trial.verified;
  json["max_abs_error"] = Finite(trial.max_abs_error);
  json["build_seconds"] = Finite(trial.build_seconds);
  json["run_seconds"] = Finite(trial.run_seconds);
  json["device"] = trial.device.ToString();
  json["codegen_version"] = trial.codegen_version;
  json["finished"] = Finite(trial.finished_unix_seconds);
  return json;
}

/// measured: not only built.
Trial TrialFrom(const Json& json, Fields& outer, bool measured) {
  Fields fields(json);
  Trial trial;
  auto outcome = ParseOutcome(fields.Text("outcome"));
  fields.Fail(ToStatus(outcome));
  if (outcome.ok()) trial.outcome = *outcome;
  trial.reason = Printable(ShortText(fields, "reason"));
  trial.metric = NameFrom(fields, "metric");
  trial.samples = fields.Numbers("samples");
  if (trial.samples.size() > kMaxSamples) fields.Fail(Corrupt("message: too many samples"));
  for (const double sample : trial.samples) {
    if (!(sample >= 0 && std::isfinite(sample))) fields.Fail(Corrupt("message: a sample is none"));
  }
  trial.value = NumberFrom(fields, "value");
  trial.noise = NumberFrom(fields, "noise");
  trial.clean_fraction = std::clamp(fields.Number("quiet_share"), -1.0, 1.0);
  trial.others = fields.Positives("others");
  trial.verified = fields.Flag("verified");
  trial.max_abs_error = NumberFrom(fields, "max_abs_error");
  trial.build_seconds = SecondsFrom(fields, "build_seconds");
  trial.run_seconds = SecondsFrom(fields, "run_seconds");
  trial.codegen_version = static_cast<int>(CountFrom(fields, "codegen_version", 1 << 30));
  trial.finished_unix_seconds = NumberFrom(fields, "finished");
  auto device = DeviceFingerprint::Parse(ShortText(fields, "device"));
  fields.Fail(ToStatus(device));
  if (device.ok()) trial.device = *std::move(device);
  if (measured && trial.outcome == Outcome::kOk && trial.value <= 0) {
    fields.Fail(Corrupt("message: value is none of a trial that went well"));
  }
  trial.verified = trial.verified && trial.outcome == Outcome::kOk;
  outer.Fail(fields.status());
  return trial;
}

}  // namespace

TaskTable TableOf(const Candidate& candidate) {
  TaskTable table;
  TW_CHECK(
      table.Add(kOrderTask, {candidate.task.workload, candidate.epilogue, candidate.task.target})
          .ok());
  return table;
}

std::string Encode(const Order& order) {
  TW_CHECK(!order.candidates.empty());
  Json json = Header("order");
  json["user"] = order.job.user;
  json["job"] = order.job.job;
  json["epoch"] = Signed(order.epoch);
  json["sequence"] = Signed(order.sequence);
  json["generation"] = order.generation;
  json["token"] = order.token;
  json["stage"] = NameOf(order.stage);
  json["task"] = TaskJson(order.candidates.front());
  json["candidates"] = Json::array();
  for (const Candidate& one : order.candidates) json["candidates"].push_back(CandidateJson(one));
  json["best"] = Finite(order.best_seconds);
  if (order.alone) json["alone"] = true;
  if (order.stage == Stage::kRace) {
    json["known"] = order.known_seconds;
    json["anchor"] = order.anchor ? static_cast<std::int64_t>(*order.anchor) : std::int64_t{-1};
    json["race"] = Finite(order.race_seconds);
    json["wait"] = Finite(order.wait_seconds);
  }
  for (const Built& built : order.built) json["built"].push_back(BuiltJson(built));
  return DumpJson(json);
}

Result<Order> DecodeOrder(std::string_view text) {
  TW_ASSIGN_OR_RETURN(auto json, ParseMessage(text, kMaxOrderBytes, "order"));
  Fields fields(json);
  Order order;
  order.job = {NameFrom(fields, "user"), NameFrom(fields, "job")};
  order.epoch = EpochFrom(fields);
  order.sequence = static_cast<std::uint64_t>(CountFrom(fields, "sequence"));
  order.generation = CountFrom(fields, "generation");
  order.token = ShortText(fields, "token", kMaxToken);
  order.stage = EnumFrom(fields, "stage", kStages, Stage::kWhole);
  order.best_seconds = NumberFrom(fields, "best");
  order.alone = fields.Has("alone") && fields.Flag("alone");
  TW_ASSIGN_OR_RETURN(auto task, TaskOf(fields));
  ReadCandidates(fields, task.task, order);
  if (order.stage == Stage::kRace) {
    order.known_seconds = fields.Numbers("known");
    const std::int64_t anchor = fields.Integer("anchor");
    if (anchor >= std::ssize(order.candidates)) fields.Fail(Corrupt("message: anchor is none"));
    if (anchor >= 0) order.anchor = static_cast<std::size_t>(anchor);
    order.race_seconds = SecondsFrom(fields, "race");
    order.wait_seconds = SecondsFrom(fields, "wait");
    if (order.race_seconds + order.wait_seconds > kMaxRaceSeconds) {
      fields.Fail(Corrupt("message: race and wait are " +
                          std::to_string(order.race_seconds + order.wait_seconds) +
                          " s, expected at most " + std::to_string(kMaxRaceSeconds)));
    }
    const bool times = std::ranges::all_of(
        order.known_seconds, [](double known) { return known >= 0 && std::isfinite(known); });
    if (!times || order.known_seconds.size() > kMaxCandidates) {
      fields.Fail(Corrupt("message: known is no list of times"));
    }
  }
  TW_RETURN_IF_ERROR(fields.status());
  if (fields.Has("built")) {
    const TaskTable tasks = TableOf(order.candidates.front());
    std::int64_t artifact_bytes = 0;
    for (const Json& built : fields.Get("built", Json::value_t::array)) {
      order.built.push_back(BuiltFrom(built, fields, tasks));
      artifact_bytes += order.built.back().size;
      if (order.built.size() > kMaxCandidates || artifact_bytes > kMaxOrderArtifactBytes) break;
    }
    if (artifact_bytes > kMaxOrderArtifactBytes) {
      fields.Fail(Corrupt("message: artifacts of more than " +
                          std::to_string(kMaxOrderArtifactBytes) + " bytes"));
    }
  }
  const bool run = order.stage == Stage::kRun, race = order.stage == Stage::kRace;
  const bool all = order.built.size() == order.candidates.size();
  if (run ? !all : !order.built.empty() && !(race && all)) {
    fields.Fail(Corrupt("message: built does not go with its stage"));
  }
  return Finish(fields, std::move(order));
}

std::string Encode(const Heartbeat& heartbeat) {
  Json json = Header("beat");
  json["epoch"] = Signed(heartbeat.epoch);
  json["instance"] = heartbeat.instance;
  json["leases"] = Json::array();
  for (const Lease& lease : heartbeat.leases) json["leases"].push_back(LeaseJson(lease));
  return DumpJson(json);
}

Result<Heartbeat> DecodeHeartbeat(std::string_view text) {
  TW_ASSIGN_OR_RETURN(auto json, ParseMessage(text, kMaxResultBytes, "beat"));
  Fields fields(json);
  Heartbeat heartbeat;
  heartbeat.epoch = EpochFrom(fields);
  heartbeat.instance = NameFrom(fields, "instance");
  for (const Json& lease : fields.Get("leases", Json::value_t::array)) {
    heartbeat.leases.push_back(LeaseFrom(lease, fields));
    if (heartbeat.leases.size() > kMaxLeases) return Corrupt("message: too many leases");
  }
  return Finish(fields, std::move(heartbeat));
}

std::string Encode(const OrderResult& result) {
  Json json = Header("result");
  json["epoch"] = Signed(result.epoch);
  json["instance"] = result.instance;
  json["lease"] = LeaseJson(result.lease);
  json["trials"] = Json::array();
  for (const Trial& trial : result.trials) json["trials"].push_back(TrialJson(trial));
  json["refusal"] = Printable(result.refusal.substr(0, kMaxText));
  if (result.built) {
    const KernelSpec& kernel = result.built->kernel;
    Candidate of;
    of.task = {kernel.workload, kernel.target};
    of.epilogue = kernel.epilogue;
    json["task"] = TaskJson(of);
    json["built"] = BuiltJson(*result.built);
  }
  return DumpJson(json);
}

Result<OrderResult> DecodeResult(std::string_view text) {
  TW_ASSIGN_OR_RETURN(auto json, ParseMessage(text, kMaxResultBytes, "result"));
  Fields fields(json);
  OrderResult result;
  result.epoch = EpochFrom(fields);
  result.instance = NameFrom(fields, "instance");
  result.lease = LeaseFrom(fields.Get("lease", Json::value_t::object), fields);
  for (const Json& trial : fields.Get("trials", Json::value_t::array)) {
    result.trials.push_back(TrialFrom(trial, fields, !fields.Has("built")));
    if (result.trials.size() > kMaxCandidates) return Corrupt("message: too many trials");
  }
  result.refusal = Printable(ShortText(fields, "refusal"));
  TW_RETURN_IF_ERROR(fields.status());
  if (fields.Has("built")) {
    TW_ASSIGN_OR_RETURN(auto task, TaskOf(fields));
    TaskTable tasks;
    TW_RETURN_IF_ERROR(tasks.Add(kOrderTask, std::move(task.task)));
    result.built = BuiltFrom(fields.Get("built", Json::value_t::object), fields, tasks);
  }
  return Finish(fields, std::move(result));
}

}  // namespace tilewright::measure::fleet
