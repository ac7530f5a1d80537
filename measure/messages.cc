// Messages as JSON objects: encoding and decoding. A member that is missing, or of another type, is
// an error that names it: the sender may be another version of this program, or defective.

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

constexpr std::array<const char*, 3> kFaultDomains = {"candidate", "unclear", "machine"};
constexpr EnumCodec kFaultDomain = {kFaultDomains};

/// Codec of a time of at most `most` seconds.
constexpr NumberCodec TimeCodec(double most = std::numeric_limits<double>::infinity()) {
  return {0, most, "is not a time"};
}

/// Codec of the version of the protocol.
struct VersionCodec {
  Json Write(std::int64_t version) const { return version; }
  void Read(JsonReader& reader, const char* name, const Json& json, std::int64_t& version) const {
    PlainCodec().Read(reader, name, json, version);
    if (version == kProtocolVersion) return;
    reader.Fail(Unsupported("message: protocol version " + std::to_string(version) + ", expected " +
                            std::to_string(kProtocolVersion) +
                            "; take both programs from the same version of Tilewright"));
  }
};

void DescribeVersion(auto& fields) {
  std::int64_t version = kProtocolVersion;
  fields("protocol", version, VersionCodec());
}

/// Codec of bytes as a text.
struct BytesCodec {
  Json Write(const std::string& bytes) const {
    return EncodeBase64(std::as_bytes(std::span(bytes)));
  }
  void Read(JsonReader& reader, const char* name, const Json& json, std::string& bytes) const {
    if (!reader.Expect(name, json.is_string())) return;
    const auto decoded = DecodeBase64(json.get_ref<const std::string&>());
    if (!decoded.ok()) return reader.Fail(name, "is not base64: " + decoded.status().message());
    bytes.assign(reinterpret_cast<const char*>(decoded->data()), decoded->size());
  }
};

}  // namespace

static void Describe(auto& fields, DescribedAs<Fault> auto& fault) {
  fields("builder", fault.builder);
  fields("runner", fault.runner);
  fields("artifact", fault.artifact);
  fields("symbol", fault.symbol);
}

static void Describe(auto& fields, DescribedAs<ReferenceOrder> auto& order) {
  fields("task", order.task);
  fields("path", order.path);
}

static void Describe(auto& fields, DescribedAs<BuildOrder> auto& order) {
  fields("ticket", order.ticket);
  fields("task", order.task);
  fields("template", order.candidate.template_key);
  fields("template_version", order.candidate.template_version);
  fields("config", order.candidate.config, ConfigCodec());
  fields("path", order.path);
  fields.Optional("fault", order.fault != Fault(), order.fault);
}

static void Describe(auto& fields, DescribedAs<BuildReply> auto& reply) {
  fields("ticket", reply.ticket);
  fields("reference", reply.reference);
  fields("outcome", reply.outcome, OutcomeCodec());
  fields("reason", reply.reason);
  fields("blame", reply.fault_domain, kFaultDomain);
  fields("seconds", reply.seconds, NumberCodec());
  if (reply.outcome == Outcome::kOk && reply.reference.empty()) fields("kernel", reply.kernel);
}

static void Describe(auto& fields, DescribedAs<ProbeOrder> auto& order) {
  fields("target", order.target);
  fields("path", order.path);
  fields("threads", order.threads, kThreads);
}

static void Describe(auto& fields, DescribedAs<ProbeReply> auto& reply) {
  fields("problem", reply.problem);
}

static void Describe(auto& fields, DescribedAs<RunOrder::Item> auto& item) {
  constexpr double kMaxMinSamplingSeconds = 3600;
  fields("ticket", item.ticket);
  fields("kernel", item.kernel);
  fields("reference", item.reference);
  fields("best", item.best_seconds, TimeCodec());
  fields("patience", item.min_sampling_seconds, TimeCodec(kMaxMinSamplingSeconds));
  fields("known", item.known_seconds, TimeCodec());
  fields("anchor", item.anchor);
  fields.Optional("fault", item.fault != Fault(), item.fault);
}

static void Describe(auto& fields, DescribedAs<RunOrder> auto& order) {
  constexpr double kMaxRaceSeconds = 24 * 3600;
  fields("items", order.items);
  fields("race", order.race_seconds, TimeCodec(kMaxRaceSeconds));
  fields("wait", order.wait_seconds, TimeCodec(kMaxRaceSeconds));
}

static void Describe(auto& fields, DescribedAs<RunReply> auto& reply) {
  fields("ticket", reply.ticket);
  fields("outcome", reply.outcome, OutcomeCodec());
  fields("reason", reply.reason);
  fields("blame", reply.fault_domain, kFaultDomain);
  fields("samples", reply.samples, kNumbers);
  fields("canaries", reply.probe_times, kNumbers);
  fields("memory_canaries", reply.memory_probe_times, kNumbers);
  fields("value", reply.value, NumberCodec());
  fields("noise", reply.noise, NumberCodec());
  fields("quiet_share", reply.clean_fraction, ShareCodec());
  fields.Optional("others", true, reply.others, PositivesCodec());
  fields("verified", reply.verified);
  fields("max_abs_error", reply.max_abs_error, NumberCodec());
  fields("run_seconds", reply.run_seconds, NumberCodec());
  fields("timing_seconds", reply.timing_seconds, NumberCodec());
  fields("device", reply.device);
  fields("capacity", reply.capacity);
  fields("runner_ends", reply.runner_ends);
}

static void Describe(auto& fields, DescribedAs<RunnerHandshake> auto& handshake) {
  DescribeVersion(fields);
  fields("device", handshake.device);
  fields("target", handshake.target);
  fields("canary_seconds", handshake.probe_seconds, NumberCodec());
  fields("resolution", handshake.resolution, NumberCodec());
  fields("unprotected", handshake.unprotected);
}

static void Describe(auto& fields, DescribedAs<FileChunk> auto& part) {
  fields("name", part.name);
  fields("first", part.first);
  fields("data", part.bytes, BytesCodec());
}

static void Describe(auto& fields, DescribedAs<CudaWorkerSettings> auto& cuda) {
  fields("library", cuda.library);
  fields("nvml", cuda.nvml);
  fields("ordinal", cuda.ordinal);
  fields("lock_folder", cuda.lock_folder);
}

static void Describe(auto& fields, DescribedAs<RunWorkerSettings> auto& settings) {
  auto& sampling = settings.sampling;
  DescribeVersion(fields);
  fields("cache_bytes", settings.cache_bytes);
  fields("memory_bytes", settings.memory_bytes);
  fields("far_weights", settings.cold_weights);
  fields("calibrate", settings.calibrate);
  fields("batch_seconds", sampling.batch_seconds);
  fields("slice_seconds", sampling.slice_seconds);
  fields("budget_seconds", sampling.budget_seconds);
  fields("contender_budget_seconds", sampling.contender_budget_seconds);
  fields("contender_factor", sampling.contender_factor);
  fields("settled_noise", sampling.converged_noise);
  fields("worse_factor", sampling.early_stop_factor);
  fields("cutoff_factor", sampling.cutoff_factor);
  fields("settled_samples", sampling.min_converged_samples);
  fields("max_samples", sampling.max_samples);
  fields("flush_bytes", sampling.flush_bytes);
  fields("quiet_file", settings.probe_baseline_file);
  fields("cuda", settings.cuda);
  fields.Optional("powercap", settings.joules, settings.powercap);
}

namespace {

template <typename T>
Json TypedJson(const char* type, const T& message) {
  return WriteJson(message, Json{{"type", type}});
}

}  // namespace

Json ToJson(const ReferenceOrder& order) { return TypedJson("prepare", order); }
Json ToJson(const BuildOrder& order) { return TypedJson("build", order); }
Json ToJson(const BuildReply& reply) { return TypedJson("built", reply); }
Json ToJson(const ProbeOrder& order) { return TypedJson("probe", order); }
Json ToJson(const ProbeReply& reply) { return TypedJson("probed", reply); }
Json ToJson(const RunOrder& order) { return TypedJson("run", order); }
Json ToJson(const RunReply& reply) { return TypedJson("ran", reply); }
Json ToJson(const RunnerHandshake& handshake) { return TypedJson("ready", handshake); }
Json ToJson(const FileChunk& part) { return TypedJson("file", part); }
Json ToJson(const RunWorkerSettings& settings) { return TypedJson("configure", settings); }

Result<ReferenceOrder> ReferenceOrderFrom(const Json& json) {
  return ReadJson<ReferenceOrder>(json, kMessage);
}

Result<BuildOrder> BuildOrderFrom(const Json& json, const TaskTable& tasks) {
  TW_ASSIGN_OR_RETURN(auto order, ReadJson<BuildOrder>(json, kMessage));
  TW_ASSIGN_OR_RETURN(const TaskInfo* task, TaskOf(order.task, tasks));
  order.candidate.task = {task->workload, task->target};
  order.candidate.epilogue = task->epilogue;
  return order;
}

Result<BuildReply> BuildReplyFrom(const Json& json, const TaskTable& tasks) {
  TW_ASSIGN_OR_RETURN(auto reply, ReadJson<BuildReply>(json, kMessage));
  if (reply.outcome == Outcome::kOk && reply.reference.empty()) {
    TW_RETURN_IF_ERROR(CompleteKernel(reply.kernel, tasks));
  }
  return reply;
}

Result<ProbeOrder> ProbeOrderFrom(const Json& json) { return ReadJson<ProbeOrder>(json, kMessage); }

Result<ProbeReply> ProbeReplyFrom(const Json& json) { return ReadJson<ProbeReply>(json, kMessage); }

Result<RunOrder> RunOrderFrom(const Json& json, const TaskTable& tasks) {
  TW_ASSIGN_OR_RETURN(auto order, ReadJson<RunOrder>(json, kMessage));
  for (RunOrder::Item& item : order.items) {
    TW_RETURN_IF_ERROR(CompleteKernel(item.kernel, tasks));
    if (&DeviceTraitsOf(item.kernel.target) != &DeviceTraitsOf(order.items[0].kernel.target)) {
      return Corrupt("message: an order for two devices");
    }
  }
  return order;
}

Result<RunReply> RunReplyFrom(const Json& json) {
  TW_ASSIGN_OR_RETURN(auto reply, ReadJson<RunReply>(json, kMessage));
  reply.capacity = std::clamp(reply.capacity, 1, 1024);
  return reply;
}

Result<RunnerHandshake> RunnerHandshakeFrom(const Json& json) {
  return ReadJson<RunnerHandshake>(json, kMessage);
}

Result<FileChunk> FileChunkFrom(const Json& json) { return ReadJson<FileChunk>(json, kMessage); }

Result<RunWorkerSettings> RunWorkerSettingsFrom(const Json& json) {
  TW_ASSIGN_OR_RETURN(auto settings, ReadJson<RunWorkerSettings>(json, kMessage));
  settings.joules = json.contains("powercap");  // earlier versions do not send it
  return settings;
}

std::string MessageType(const Json& json) {
  if (!json.is_object()) return {};
  const auto found = json.find("type");
  if (found == json.end() || !found->is_string()) return {};
  return found->get<std::string>();
}

std::string LineOf(const Json& json) { return DumpJson(json) + "\n"; }

}  // namespace tilewright::measure
