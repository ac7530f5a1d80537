// Each message as a JSON object and back. A member that is missing, or of another kind, is an error
// that names it: the other side may be another version of this program, or broken.

#include "measure/messages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "src/base/base64.h"

namespace tilewright::measure {
namespace {

/// Reads the fields of one object and remembers the first that was not as expected.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {
    if (!json.is_object()) status_ = Corrupt("message: expected an object");
  }
  const Json& Get(const char* name, Json::value_t type) {
    static const Json kNull;
    if (!status_.ok()) return kNull;
    const auto found = json_.find(name);
    const bool there = found != json_.end();
    if (!there || !Matches(*found, type)) {
      status_ = Corrupt(std::string("message: field ") + name +
                        (there ? " is of the wrong type" : " is missing"));
      return kNull;
    }
    return *found;
  }
  bool Has(const char* name) const { return json_.contains(name); }
  std::string Text(const char* name) {
    const Json& value = Get(name, Json::value_t::string);
    return value.is_string() ? value.get<std::string>() : std::string();
  }
  double Number(const char* name) {
    const Json& value = Get(name, Json::value_t::number_float);
    return value.is_number() ? value.get<double>() : 0;
  }
  std::optional<double> NumberOrNull(const char* name) {
    const auto found = json_.find(name);
    if (found != json_.end() && found->is_null()) return std::nullopt;
    return Number(name);
  }
  std::int64_t Integer(const char* name) {
    const Json& value = Get(name, Json::value_t::number_integer);
    return value.is_number_integer() ? value.get<std::int64_t>() : 0;
  }
  bool Flag(const char* name) {
    const Json& value = Get(name, Json::value_t::boolean);
    return value.is_boolean() && value.get<bool>();
  }
  std::vector<double> Numbers(const char* name) {
    std::vector<double> numbers;
    for (const Json& value : Get(name, Json::value_t::array)) {
      numbers.push_back(value.is_number() ? value.get<double>() : 0);
    }
    return numbers;
  }
  void Fail(const Status& status) {
    if (status_.ok()) status_ = status;
  }
  const Status& status() const { return status_; }

 private:
  static bool Matches(const Json& value, Json::value_t type) {
    if (type == Json::value_t::number_float) return value.is_number();
    if (type == Json::value_t::number_integer) return value.is_number_integer();
    return value.type() == type;
  }
  const Json& json_;
  Status status_;
};

/// JSON has no infinities: the largest number stands for them.
double Finite(double value) {
  if (std::isnan(value)) return 1e300;
  return std::clamp(value, -1e300, 1e300);
}

std::vector<std::int64_t> IntegersFrom(const char* name, Fields& fields) {
  std::vector<std::int64_t> integers;
  for (const Json& value : fields.Get(name, Json::value_t::array)) {
    integers.push_back(value.is_number_integer() ? value.get<std::int64_t>() : 0);
  }
  return integers;
}

Json TypeJson(const TensorType& type) {
  return Json{{"shape", type.shape}, {"dtype", DataTypeName(type.dtype)}};
}

/// A number of threads: more than any machine has is no order.
int ThreadsFrom(Fields& fields) {
  constexpr std::int64_t kMostThreads = 4096;
  const std::int64_t threads = fields.Integer("threads");
  if (threads >= 1 && threads <= kMostThreads) return static_cast<int>(threads);
  fields.Fail(Corrupt("message: " + std::to_string(threads) + " threads, expected 1 to " +
                      std::to_string(kMostThreads)));
  return 1;
}

TensorType TypeFrom(const Json& json, Fields& outer) {
  Fields fields(json);
  TensorType type;
  type.shape = IntegersFrom("shape", fields);
  auto dtype = ParseDataType(fields.Text("dtype"));
  // No more than an address space holds, or sizes would run over.
  constexpr double kMostElements = 1e14;
  double elements = 1;
  for (std::int64_t extent : type.shape) {
    elements *= static_cast<double>(std::max<std::int64_t>(extent, 1));
    if (extent < 0) elements = 2 * kMostElements;
  }
  if (elements > kMostElements) {
    fields.Fail(Corrupt("message: shape is none of a tensor"));
  }
  outer.Fail(fields.status());
  if (dtype.ok()) {
    type.dtype = *dtype;
  } else {
    outer.Fail(dtype.status());
  }
  return type;
}

Json FormJson(const AnchorForm& form) {
  return Json{{"data", form.data},
              {"weight", form.weight},
              {"output", form.output},
              {"multiply", form.multiply_dtype ? DataTypeName(*form.multiply_dtype) : ""},
              {"shift", form.shift_data},
              {"winograd", form.winograd_tile}};
}

AnchorForm FormFrom(const Json& json, Fields& outer) {
  Fields fields(json);
  AnchorForm form;
  form.data = fields.Text("data");
  form.weight = fields.Text("weight");
  form.output = fields.Text("output");
  form.shift_data = fields.Flag("shift");
  form.winograd_tile = fields.Integer("winograd");
  const std::string multiply = fields.Text("multiply");
  outer.Fail(fields.status());
  if (!multiply.empty()) {
    auto dtype = ParseDataType(multiply);
    if (dtype.ok()) form.multiply_dtype = *dtype;
    outer.Fail(ToStatus(dtype));
  }
  return form;
}

Json LaunchesJson(const KernelSpec& kernel) {
  Json launches = Json::array();
  for (const CudaLaunch& launch : kernel.launches) {
    launches.push_back({{"kernel", launch.kernel},
                        {"grid", launch.grid},
                        {"block", launch.block},
                        {"shared_bytes", launch.shared_bytes}});
    const CudaLibraryCall& call = launch.library;
    if (call.file.empty()) continue;
    launches.back()["library"] = call.file;
    launches.back()["operation"] = call.operation;
    launches.back()["shape"] = call.shape;
    launches.back()["operands"] = call.operands;
  }
  return launches;
}

CudaLaunch LaunchFrom(const Json& json, Fields& outer) {
  Fields fields(json);
  CudaLaunch launch;
  launch.kernel = fields.Text("kernel");
  const auto extents = [&](const char* name) {
    std::array<std::int64_t, 3> three = {1, 1, 1};
    const std::vector<std::int64_t> all = IntegersFrom(name, fields);
    if (all.size() == three.size()) {
      std::ranges::copy(all, three.begin());
    } else {
      fields.Fail(Corrupt(std::string("message: ") + name + " has not three numbers"));
    }
    return three;
  };
  launch.grid = extents("grid");
  launch.block = extents("block");
  launch.shared_bytes = fields.Integer("shared_bytes");
  if (fields.Has("library")) {
    CudaLibraryCall& call = launch.library;
    call.file = fields.Text("library");
    call.operation = fields.Text("operation");
    call.shape = IntegersFrom("shape", fields);
    if (call.shape.size() * sizeof(std::int64_t) != sizeof(TwLibraryShape)) {
      fields.Fail(Corrupt("message: shape is none of a library's call"));
    }
    const auto operands = extents("operands");
    for (std::size_t i = 0; i < operands.size(); ++i) {
      call.operands[i] = static_cast<int>(operands[i]);
    }
  }
  outer.Fail(fields.status());
  return launch;
}

Json KernelJson(const KernelSpec& kernel) {
  Json parameters = Json::array();
  for (const KernelParameter& parameter : kernel.signature.parameters) {
    parameters.push_back(TypeJson(parameter.type));
  }
  return Json{{"workload", kernel.workload.Key()},
              {"epilogue", kernel.epilogue.ToString()},
              {"form", FormJson(kernel.signature.form)},
              {"parameters", std::move(parameters)},
              {"artifact", kernel.artifact},
              {"symbol", kernel.symbol},
              {"threads", kernel.threads},
              {"vta_target", kernel.vta_target},
              {"tolerance", kernel.tolerance ? Json(*kernel.tolerance) : Json()},
              {"launches", LaunchesJson(kernel)},
              {"workspace_bytes", kernel.workspace_bytes}};
}

KernelSpec KernelFrom(const Json& json, Fields& outer) {
  Fields fields(json);
  KernelSpec kernel;
  auto workload = Workload::Parse(fields.Text("workload"));
  auto epilogue = Epilogue::Parse(fields.Text("epilogue"));
  const AnchorForm form = FormFrom(fields.Get("form", Json::value_t::object), fields);
  std::vector<TensorType> types;
  for (const Json& type : fields.Get("parameters", Json::value_t::array)) {
    types.push_back(TypeFrom(type, fields));
  }
  kernel.artifact = fields.Text("artifact");
  kernel.symbol = fields.Text("symbol");
  kernel.threads = ThreadsFrom(fields);
  kernel.tolerance = fields.NumberOrNull("tolerance");
  kernel.vta_target = fields.Text("vta_target");
  for (const Json& launch : fields.Get("launches", Json::value_t::array)) {
    kernel.launches.push_back(LaunchFrom(launch, fields));
  }
  kernel.workspace_bytes = IntegersFrom("workspace_bytes", fields);
  outer.Fail(fields.status());
  outer.Fail(ToStatus(workload));
  outer.Fail(ToStatus(epilogue));
  if (!outer.status().ok()) return kernel;
  kernel.workload = *std::move(workload);
  kernel.epilogue = *std::move(epilogue);
  if (types.empty() && !kernel.vta_target.empty()) return kernel;
  auto signature = SignatureOf(kernel.workload, kernel.epilogue, form, types);
  outer.Fail(ToStatus(signature));
  if (signature.ok()) kernel.signature = *std::move(signature);
  return kernel;
}

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

constexpr std::array<const char*, 3> kBlames = {"candidate", "unclear", "machine"};

const char* BlameName(Blame blame) { return kBlames[static_cast<std::size_t>(blame)]; }

Blame BlameFrom(Fields& fields) {
  const std::string name = fields.Text("blame");
  const auto found = std::ranges::find(kBlames, name);
  if (found != kBlames.end()) return static_cast<Blame>(found - kBlames.begin());
  fields.Fail(Corrupt("message: blame '" + name + "' is not known"));
  return Blame::kCandidate;
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

template <typename T>
Result<T> Finish(const Fields& fields, T value) {
  TW_RETURN_IF_ERROR(fields.status());
  return value;
}

}  // namespace

Json ToJson(const PrepareOrder& order) {
  return Json{{"type", "prepare"},
              {"workload", order.workload},
              {"epilogue", order.epilogue},
              {"path", order.path}};
}

Result<PrepareOrder> PrepareOrderFrom(const Json& json) {
  Fields fields(json);
  PrepareOrder order;
  order.workload = fields.Text("workload");
  order.epilogue = fields.Text("epilogue");
  order.path = fields.Text("path");
  return Finish(fields, std::move(order));
}

Json ToJson(const BuildOrder& order) {
  const Candidate& candidate = order.candidate;
  Json json{{"type", "build"},
            {"ticket", TicketJson(order.ticket)},
            {"workload", candidate.task.workload.Key()},
            {"target", candidate.task.target.ToString()},
            {"epilogue", candidate.epilogue.ToString()},
            {"template", candidate.template_key},
            {"template_version", candidate.template_version},
            {"config", candidate.config.ToString()},
            {"path", order.path}};
  if (order.fault != Fault()) json["fault"] = FaultJson(order.fault);
  return json;
}

Result<BuildOrder> BuildOrderFrom(const Json& json) {
  Fields fields(json);
  BuildOrder order;
  order.ticket = TicketFrom(fields);
  Candidate& candidate = order.candidate;
  auto workload = Workload::Parse(fields.Text("workload"));
  auto target = Target::Parse(fields.Text("target"));
  auto epilogue = Epilogue::Parse(fields.Text("epilogue"));
  auto config = Config::Parse(fields.Text("config"));
  candidate.template_key = fields.Text("template");
  candidate.template_version = static_cast<int>(fields.Integer("template_version"));
  order.path = fields.Text("path");
  if (json.is_object() && json.contains("fault")) order.fault = FaultFrom(json["fault"], fields);
  TW_RETURN_IF_ERROR(fields.status());
  TW_RETURN_IF_ERROR(workload);
  TW_RETURN_IF_ERROR(target);
  TW_RETURN_IF_ERROR(epilogue);
  TW_RETURN_IF_ERROR(config);
  candidate.task.workload = *std::move(workload);
  candidate.task.target = *std::move(target);
  candidate.epilogue = *std::move(epilogue);
  candidate.config = *std::move(config);
  return order;
}

Json ToJson(const BuildReply& reply) {
  Json json{{"type", "built"},
            {"ticket", TicketJson(reply.ticket)},
            {"reference", reply.reference},
            {"outcome", OutcomeName(reply.outcome)},
            {"reason", reply.reason},
            {"blame", BlameName(reply.blame)},
            {"seconds", Finite(reply.seconds)}};
  if (reply.outcome == Outcome::kOk && reply.reference.empty()) {
    json["kernel"] = KernelJson(reply.kernel);
  }
  return json;
}

Result<BuildReply> BuildReplyFrom(const Json& json) {
  Fields fields(json);
  BuildReply reply;
  reply.ticket = TicketFrom(fields);
  reply.reference = fields.Text("reference");
  reply.outcome = OutcomeFrom(fields);
  reply.reason = fields.Text("reason");
  reply.blame = BlameFrom(fields);
  reply.seconds = fields.Number("seconds");
  if (reply.outcome == Outcome::kOk && reply.reference.empty()) {
    reply.kernel = KernelFrom(fields.Get("kernel", Json::value_t::object), fields);
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
  order.threads = ThreadsFrom(fields);
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
              {"kernel", KernelJson(item.kernel)},
              {"reference", item.reference},
              {"best", Finite(item.best_seconds)},
              {"patience", Finite(item.patience_seconds)},
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

Result<RunOrder> RunOrderFrom(const Json& json) {
  Fields fields(json);
  RunOrder order;
  for (const Json& entry : fields.Get("items", Json::value_t::array)) {
    Fields inner(entry);
    RunOrder::Item item;
    item.ticket = TicketFrom(inner);
    item.kernel = KernelFrom(inner.Get("kernel", Json::value_t::object), inner);
    item.reference = inner.Text("reference");
    item.best_seconds = inner.Number("best");
    item.patience_seconds = inner.Number("patience");
    item.known_seconds = inner.Number("known");
    item.anchor = inner.Flag("anchor");
    constexpr double kMostPatience = 3600;
    if (!(item.best_seconds >= 0 && item.patience_seconds >= 0 &&
          item.patience_seconds <= kMostPatience && item.known_seconds >= 0)) {
      inner.Fail(Corrupt("message: best, known and patience are no times"));
    }
    if (entry.is_object() && entry.contains("fault")) item.fault = FaultFrom(entry["fault"], inner);
    fields.Fail(inner.status());
    order.items.push_back(std::move(item));
  }
  order.race_seconds = fields.Number("race");
  order.wait_seconds = fields.Number("wait");
  constexpr double kMostRace = 24 * 3600;
  if (!(order.race_seconds >= 0 && order.race_seconds <= kMostRace && order.wait_seconds >= 0 &&
        order.wait_seconds <= kMostRace)) {
    fields.Fail(Corrupt("message: race and wait are no times"));
  }
  return Finish(fields, std::move(order));
}

Json ToJson(const RunReply& reply) {
  return Json{{"type", "ran"},
              {"ticket", TicketJson(reply.ticket)},
              {"outcome", OutcomeName(reply.outcome)},
              {"reason", reply.reason},
              {"blame", BlameName(reply.blame)},
              {"samples", reply.samples},
              {"canaries", reply.canaries},
              {"memory_canaries", reply.memory_canaries},
              {"value", Finite(reply.value)},
              {"noise", Finite(reply.noise)},
              {"quiet_share", Finite(reply.quiet_share)},
              {"verified", reply.verified},
              {"max_abs_error", Finite(reply.max_abs_error)},
              {"run_seconds", Finite(reply.run_seconds)},
              {"timing_seconds", Finite(reply.timing_seconds)},
              {"runner_ends", reply.runner_ends}};
}

Result<RunReply> RunReplyFrom(const Json& json) {
  Fields fields(json);
  RunReply reply;
  reply.ticket = TicketFrom(fields);
  reply.outcome = OutcomeFrom(fields);
  reply.reason = fields.Text("reason");
  reply.blame = BlameFrom(fields);
  reply.samples = fields.Numbers("samples");
  reply.canaries = fields.Numbers("canaries");
  reply.memory_canaries = fields.Numbers("memory_canaries");
  reply.value = fields.Number("value");
  reply.noise = fields.Number("noise");
  reply.quiet_share = std::clamp(fields.Number("quiet_share"), -1.0, 1.0);
  reply.verified = fields.Flag("verified");
  reply.max_abs_error = fields.Number("max_abs_error");
  reply.run_seconds = fields.Number("run_seconds");
  reply.timing_seconds = fields.Number("timing_seconds");
  reply.runner_ends = fields.Flag("runner_ends");
  return Finish(fields, std::move(reply));
}

Json ToJson(const Greeting& greeting) {
  return Json{{"type", "ready"},
              {"protocol", kProtocolVersion},
              {"device", greeting.device},
              {"target", greeting.target},
              {"canary_seconds", Finite(greeting.canary_seconds)},
              {"resolution", Finite(greeting.resolution)}};
}

Result<Greeting> GreetingFrom(const Json& json) {
  Fields fields(json);
  Greeting greeting;
  CheckVersion(fields);
  greeting.device = fields.Text("device");
  greeting.target = fields.Text("target");
  greeting.canary_seconds = fields.Number("canary_seconds");
  greeting.resolution = fields.Number("resolution");
  return Finish(fields, greeting);
}

Json ToJson(const FilePart& part) {
  return Json{{"type", "file"},
              {"name", part.name},
              {"first", part.first},
              {"data", EncodeBase64(std::as_bytes(std::span(part.bytes)))}};
}

Result<FilePart> FilePartFrom(const Json& json) {
  Fields fields(json);
  FilePart part;
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
  return Json{{"type", "configure"},
              {"protocol", kProtocolVersion},
              {"cache_bytes", settings.cache_bytes},
              {"memory_bytes", settings.memory_bytes},
              {"calibrate", settings.calibrate},
              {"batch_seconds", sampling.batch_seconds},
              {"slice_seconds", sampling.slice_seconds},
              {"budget_seconds", sampling.budget_seconds},
              {"contender_budget_seconds", sampling.contender_budget_seconds},
              {"contender_factor", sampling.contender_factor},
              {"settled_noise", sampling.settled_noise},
              {"worse_factor", sampling.worse_factor},
              {"cutoff_factor", sampling.cutoff_factor},
              {"settled_samples", sampling.settled_samples},
              {"max_samples", sampling.max_samples},
              {"flush_bytes", sampling.flush_bytes},
              {"quiet_file", settings.quiet_file},
              {"cuda",
               {{"library", settings.cuda.library},
                {"nvml", settings.cuda.nvml},
                {"ordinal", settings.cuda.ordinal},
                {"lock_folder", settings.cuda.lock_folder}}}};
}

Result<RunWorkerSettings> RunWorkerSettingsFrom(const Json& json) {
  Fields fields(json);
  RunWorkerSettings settings;
  CheckVersion(fields);
  SamplingSettings& sampling = settings.sampling;
  settings.cache_bytes = fields.Integer("cache_bytes");
  settings.memory_bytes = fields.Integer("memory_bytes");
  settings.calibrate = fields.Flag("calibrate");
  sampling.batch_seconds = fields.Number("batch_seconds");
  sampling.slice_seconds = fields.Number("slice_seconds");
  sampling.budget_seconds = fields.Number("budget_seconds");
  sampling.contender_budget_seconds = fields.Number("contender_budget_seconds");
  sampling.contender_factor = fields.Number("contender_factor");
  sampling.settled_noise = fields.Number("settled_noise");
  sampling.worse_factor = fields.Number("worse_factor");
  sampling.cutoff_factor = fields.Number("cutoff_factor");
  sampling.settled_samples = static_cast<int>(fields.Integer("settled_samples"));
  sampling.max_samples = static_cast<int>(fields.Integer("max_samples"));
  sampling.flush_bytes = fields.Integer("flush_bytes");
  settings.quiet_file = fields.Text("quiet_file");
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
