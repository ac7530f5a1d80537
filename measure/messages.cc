// Each message as a JSON object and back. A member that is missing, or of another kind, is an error
// that names it: the other side may be another version of this program, or broken.

#include "measure/messages.h"

#include <algorithm>
#include <array>
#include <span>

#include "measure/kernel_message.h"
#include "measure/message_fields.h"
#include "src/base/base64.h"
#include "src/target/device.h"

namespace tilewright::measure {
namespace {

Json FaultJson(const Fault& fault) {
  return Json{{"builder", fault.builder},
              {"runner", fault.runner},
              {"artifact", fault.artifact},
              {"symbol", fault.symbol}};
}

Fault FaultFrom(const Json& json, Fields& outer) {
  Fields fields(json);
  Fault fault;
  fault.builder = fields.Text("builder");
  fault.runner = fields.Text("runner");
  fault.artifact = fields.Text("artifact");
  fault.symbol = fields.Text("symbol");
  outer.Fail(fields.status());
  return fault;
}

Outcome OutcomeFrom(Fields& fields) {
  auto outcome = ParseOutcome(fields.Text("outcome"));
  fields.Fail(ToStatus(outcome));
  return outcome.ok() ? *outcome : Outcome::kRunFailed;
}

constexpr std::array<const char*, 3> kFaultDomains = {"candidate", "unclear", "machine"};

const char* FaultDomainName(FaultDomain fault_domain) {
  return kFaultDomains[static_cast<std::size_t>(fault_domain)];
}

FaultDomain FaultDomainFrom(Fields& fields) {
  const std::string name = fields.Text("blame");
  const auto found = std::ranges::find(kFaultDomains, name);
  if (found != kFaultDomains.end()) return static_cast<FaultDomain>(found - kFaultDomains.begin());
  fields.Fail(Corrupt("message: blame '" + name + "' is not known"));
  return FaultDomain::kCandidate;
}

std::uint64_t TicketFrom(Fields& fields) {
  return static_cast<std::uint64_t>(fields.Integer("ticket"));
}

Json TicketJson(std::uint64_t ticket) { return static_cast<std::int64_t>(ticket); }

void CheckVersion(Fields& fields) {
  const std::int64_t version = fields.Integer("protocol");
  if (version == kProtocolVersion) return;
  fields.Fail(Unsupported("message: protocol version " + std::to_string(version) + ", expected " +
                          std::to_string(kProtocolVersion) +
                          "; take both programs from the same version of Tilewright"));
}

}  // namespace

Json ToJson(const ReferenceOrder& order) {
  return Json{
      {"type", "prepare"}, {"task", static_cast<std::int64_t>(order.task)}, {"path", order.path}};
}

Result<ReferenceOrder> ReferenceOrderFrom(const Json& json) {
  Fields fields(json);
  ReferenceOrder order;
  order.task = static_cast<std::uint64_t>(fields.Integer("task"));
  order.path = fields.Text("path");
  return Finish(fields, std::move(order));
}

Json ToJson(const BuildOrder& order) {
  const Candidate& candidate = order.candidate;
  Json json{{"type", "build"},
            {"ticket", TicketJson(order.ticket)},
            {"task", static_cast<std::int64_t>(order.task)},
            {"template", candidate.template_key},
            {"template_version", candidate.template_version},
            {"config", candidate.config.ToString()},
            {"path", order.path}};
  if (order.fault != Fault()) json["fault"] = FaultJson(order.fault);
  return json;
}

Result<BuildOrder> BuildOrderFrom(const Json& json, const TaskTable& tasks) {
  Fields fields(json);
  BuildOrder order;
  order.ticket = TicketFrom(fields);
  Candidate& candidate = order.candidate;
  const TaskInfo* task = TaskFrom(fields, tasks, &order.task);
  auto config = Config::Parse(fields.Text("config"));
  candidate.template_key = fields.Text("template");
  candidate.template_version = static_cast<int>(fields.Integer("template_version"));
  order.path = fields.Text("path");
  if (json.is_object() && json.contains("fault")) order.fault = FaultFrom(json["fault"], fields);
  TW_RETURN_IF_ERROR(fields.status());
  TW_RETURN_IF_ERROR(config);
  candidate.task = {task->workload, task->target};
  candidate.epilogue = task->epilogue;
  candidate.config = *std::move(config);
  return order;
}

Json ToJson(const BuildReply& reply) {
  Json json{{"type", "built"},
            {"ticket", TicketJson(reply.ticket)},
            {"reference", reply.reference},
            {"outcome", OutcomeName(reply.outcome)},
            {"reason", reply.reason},
            {"blame", FaultDomainName(reply.fault_domain)},
            {"seconds", Finite(reply.seconds)}};
  if (reply.outcome == Outcome::kOk && reply.reference.empty()) {
    json["kernel"] = ToJson(reply.kernel);
  }
  return json;
}

Result<BuildReply> BuildReplyFrom(const Json& json, const TaskTable& tasks) {
  Fields fields(json);
  BuildReply reply;
  reply.ticket = TicketFrom(fields);
  reply.reference = fields.Text("reference");
  reply.outcome = OutcomeFrom(fields);
  reply.reason = fields.Text("reason");
  reply.fault_domain = FaultDomainFrom(fields);
  reply.seconds = fields.Number("seconds");
  if (reply.outcome == Outcome::kOk && reply.reference.empty()) {
    reply.kernel = KernelSpecFrom(fields.Get("kernel", Json::value_t::object), fields, tasks);
  }
  return Finish(fields, std::move(reply));
}

Json ToJson(const ProbeOrder& order) {
  return Json{{"type", "probe"},
              {"target", order.target},
              {"path", order.path},
              {"threads", order.threads}};
}

Result<ProbeOrder> ProbeOrderFrom(const Json& json) {
  Fields fields(json);
  ProbeOrder order;
  order.target = fields.Text("target");
  order.path = fields.Text("path");
  order.threads = fields.Threads();
  return Finish(fields, std::move(order));
}

Json ToJson(const ProbeReply& reply) {
  return Json{{"type", "probed"}, {"problem", reply.problem}};
}

Result<ProbeReply> ProbeReplyFrom(const Json& json) {
  Fields fields(json);
  ProbeReply reply;
  reply.problem = fields.Text("problem");
  return Finish(fields, std::move(reply));
}

Json ToJson(const RunOrder& order) {
  Json items = Json::array();
  for (const RunOrder::Item& item : order.items) {
    Json json{{"ticket", TicketJson(item.ticket)},
              {"kernel", ToJson(item.kernel)},
              {"reference", item.reference},
              {"best", Finite(item.best_seconds)},
              {"patience", Finite(item.min_sampling_seconds)},
              {"known", Finite(item.known_seconds)},
              {"anchor", item.anchor}};
    if (item.fault != Fault()) json["fault"] = FaultJson(item.fault);
    items.push_back(std::move(json));
  }
  return Json{{"type", "run"},
              {"items", std::move(items)},
              {"race", Finite(order.race_seconds)},
              {"wait", Finite(order.wait_seconds)}};
}

Result<RunOrder> RunOrderFrom(const Json& json, const TaskTable& tasks) {
  Fields fields(json);
  RunOrder order;
  for (const Json& entry : fields.Get("items", Json::value_t::array)) {
    Fields inner(entry);
    RunOrder::Item item;
    item.ticket = TicketFrom(inner);
    item.kernel = KernelSpecFrom(inner.Get("kernel", Json::value_t::object), inner, tasks);
    item.reference = inner.Text("reference");
    item.best_seconds = inner.Number("best");
    item.min_sampling_seconds = inner.Number("patience");
    item.known_seconds = inner.Number("known");
    item.anchor = inner.Flag("anchor");
    constexpr double kMaxMinSamplingSeconds = 3600;
    if (!(item.best_seconds >= 0 && item.min_sampling_seconds >= 0 &&
          item.min_sampling_seconds <= kMaxMinSamplingSeconds && item.known_seconds >= 0)) {
      inner.Fail(Corrupt("message: best, known and patience are no times"));
    }
    if (entry.is_object() && entry.contains("fault")) item.fault = FaultFrom(entry["fault"], inner);
    fields.Fail(inner.status());
    order.items.push_back(std::move(item));
    if (&DeviceTraitsOf(order.items.back().kernel.target) !=
        &DeviceTraitsOf(order.items.front().kernel.target)) {
      fields.Fail(Corrupt("message: an order for two devices"));
    }
  }
  order.race_seconds = fields.Number("race");
  order.wait_seconds = fields.Number("wait");
  constexpr double kMaxRace = 24 * 3600;
  if (!(order.race_seconds >= 0 && order.race_seconds <= kMaxRace && order.wait_seconds >= 0 &&
        order.wait_seconds <= kMaxRace)) {
    fields.Fail(Corrupt("message: race and wait are no times"));
  }
  return Finish(fields, std::move(order));
}

Json ToJson(const RunReply& reply) {
  return Json{{"type", "ran"},
              {"ticket", TicketJson(reply.ticket)},
              {"outcome", OutcomeName(reply.outcome)},
              {"reason", reply.reason},
              {"blame", FaultDomainName(reply.fault_domain)},
              {"samples", reply.samples},
              {"canaries", reply.probe_times},
              {"memory_canaries", reply.memory_probe_times},
              {"value", Finite(reply.value)},
              {"noise", Finite(reply.noise)},
              {"quiet_share", Finite(reply.clean_fraction)},
              {"others", reply.others},
              {"verified", reply.verified},
              {"max_abs_error", Finite(reply.max_abs_error)},
              {"run_seconds", Finite(reply.run_seconds)},
              {"timing_seconds", Finite(reply.timing_seconds)},
              {"device", reply.device},
              {"capacity", reply.capacity},
              {"runner_ends", reply.runner_ends}};
}

Result<RunReply> RunReplyFrom(const Json& json) {
  Fields fields(json);
  RunReply reply;
  reply.ticket = TicketFrom(fields);
  reply.outcome = OutcomeFrom(fields);
  reply.reason = fields.Text("reason");
  reply.fault_domain = FaultDomainFrom(fields);
  reply.samples = fields.Numbers("samples");
  reply.probe_times = fields.Numbers("canaries");
  reply.memory_probe_times = fields.Numbers("memory_canaries");
  reply.value = fields.Number("value");
  reply.noise = fields.Number("noise");
  reply.clean_fraction = std::clamp(fields.Number("quiet_share"), -1.0, 1.0);
  reply.others = fields.Positives("others");
  reply.verified = fields.Flag("verified");
  reply.max_abs_error = fields.Number("max_abs_error");
  reply.run_seconds = fields.Number("run_seconds");
  reply.timing_seconds = fields.Number("timing_seconds");
  reply.device = fields.Text("device");
  reply.capacity = static_cast<int>(std::clamp<std::int64_t>(fields.Integer("capacity"), 1, 1024));
  reply.runner_ends = fields.Flag("runner_ends");
  return Finish(fields, std::move(reply));
}

Json ToJson(const RunnerHandshake& handshake) {
  return Json{{"type", "ready"},
              {"protocol", kProtocolVersion},
              {"device", handshake.device},
              {"target", handshake.target},
              {"canary_seconds", Finite(handshake.probe_seconds)},
              {"resolution", Finite(handshake.resolution)},
              {"unprotected", handshake.unprotected}};
}

Result<RunnerHandshake> RunnerHandshakeFrom(const Json& json) {
  Fields fields(json);
  RunnerHandshake handshake;
  CheckVersion(fields);
  handshake.device = fields.Text("device");
  handshake.target = fields.Text("target");
  handshake.probe_seconds = fields.Number("canary_seconds");
  handshake.resolution = fields.Number("resolution");
  handshake.unprotected = fields.Text("unprotected");
  return Finish(fields, handshake);
}

Json ToJson(const FileChunk& part) {
  return Json{{"type", "file"},
              {"name", part.name},
              {"first", part.first},
              {"data", EncodeBase64(std::as_bytes(std::span(part.bytes)))}};
}

Result<FileChunk> FileChunkFrom(const Json& json) {
  Fields fields(json);
  FileChunk part;
  part.name = fields.Text("name");
  part.first = fields.Flag("first");
  auto bytes = DecodeBase64(fields.Text("data"));
  TW_RETURN_IF_ERROR(fields.status());
  if (!bytes.ok()) return Corrupt("message: field data: " + bytes.status().message());
  part.bytes.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  return part;
}

Json ToJson(const RunWorkerSettings& settings) {
  const SamplingSettings& sampling = settings.sampling;
  Json json = {{"type", "configure"},
               {"protocol", kProtocolVersion},
               {"cache_bytes", settings.cache_bytes},
               {"memory_bytes", settings.memory_bytes},
               {"far_weights", settings.cold_weights},
               {"calibrate", settings.calibrate},
               {"batch_seconds", sampling.batch_seconds},
               {"slice_seconds", sampling.slice_seconds},
               {"budget_seconds", sampling.budget_seconds},
               {"contender_budget_seconds", sampling.contender_budget_seconds},
               {"contender_factor", sampling.contender_factor},
               {"settled_noise", sampling.converged_noise},
               {"worse_factor", sampling.early_stop_factor},
               {"cutoff_factor", sampling.cutoff_factor},
               {"settled_samples", sampling.min_converged_samples},
               {"max_samples", sampling.max_samples},
               {"flush_bytes", sampling.flush_bytes},
               {"quiet_file", settings.probe_baseline_file},
               {"cuda",
                {{"library", settings.cuda.library},
                 {"nvml", settings.cuda.nvml},
                 {"ordinal", settings.cuda.ordinal},
                 {"lock_folder", settings.cuda.lock_folder}}}};
  if (settings.joules) json["powercap"] = settings.powercap;
  return json;
}

Result<RunWorkerSettings> RunWorkerSettingsFrom(const Json& json) {
  Fields fields(json);
  RunWorkerSettings settings;
  CheckVersion(fields);
  SamplingSettings& sampling = settings.sampling;
  settings.cache_bytes = fields.Integer("cache_bytes");
  settings.memory_bytes = fields.Integer("memory_bytes");
  settings.cold_weights = fields.Flag("far_weights");
  settings.calibrate = fields.Flag("calibrate");
  sampling.batch_seconds = fields.Number("batch_seconds");
  sampling.slice_seconds = fields.Number("slice_seconds");
  sampling.budget_seconds = fields.Number("budget_seconds");
  sampling.contender_budget_seconds = fields.Number("contender_budget_seconds");
  sampling.contender_factor = fields.Number("contender_factor");
  sampling.converged_noise = fields.Number("settled_noise");
  sampling.early_stop_factor = fields.Number("worse_factor");
  sampling.cutoff_factor = fields.Number("cutoff_factor");
  sampling.min_converged_samples = static_cast<int>(fields.Integer("settled_samples"));
  sampling.max_samples = static_cast<int>(fields.Integer("max_samples"));
  sampling.flush_bytes = fields.Integer("flush_bytes");
  settings.probe_baseline_file = fields.Text("quiet_file");
  settings.joules = fields.Has("powercap");  // not in messages of earlier versions
  if (settings.joules) settings.powercap = fields.Text("powercap");
  Fields cuda(fields.Get("cuda", Json::value_t::object));
  settings.cuda.library = cuda.Text("library");
  settings.cuda.nvml = cuda.Text("nvml");
  settings.cuda.ordinal = static_cast<int>(cuda.Integer("ordinal"));
  settings.cuda.lock_folder = cuda.Text("lock_folder");
  fields.Fail(cuda.status());
  return Finish(fields, settings);
}

std::string MessageType(const Json& json) {
  if (!json.is_object()) return {};
  const auto found = json.find("type");
  if (found == json.end() || !found->is_string()) return {};
  return found->get<std::string>();
}

std::string LineOf(const Json& json) { return DumpJson(json) + "\n"; }

}  // namespace tilewright::measure
