#include "measure/fleet/wire_fields.h"

namespace tilewright::measure::fleet {
namespace {

constexpr std::size_t kMaxAside = 512;
constexpr std::size_t kMaxDeviceName = 2 * 64 + 1;  // two names and a dot
constexpr std::array<const char*, 3> kStates = {"ready", "draining", "quarantined"};

const char* NameOf(DeviceState state) { return kStates[static_cast<std::size_t>(state)]; }

}  // namespace

std::string Encode(const Here& here) {
  Json json = Header("here");
  json["instance"] = here.instance;
  json["version"] = here.version;
  json["fingerprint"] = here.fingerprint;
  json["target"] = here.target;
  json["builds"] = here.builds;
  json["measures"] = here.measures;
  json["build_slots"] = here.build_slots;
  json["measure_slots"] = here.measure_slots;
  json["resolution"] = Finite(here.resolution);
  if (here.canary_seconds > 0) json["canary"] = Finite(here.canary_seconds);
  json["state"] = NameOf(here.state);
  json["held"] = here.held;
  json["done"] = here.done;
  json["busy"] = Finite(here.busy_seconds);
  json["up"] = Finite(here.up_seconds);
  return DumpJson(json);
}

Result<Here> DecodeHere(std::string_view text) {
  TW_ASSIGN_OR_RETURN(auto json, Parsed(text, kMaxSmallBytes, "here"));
  Fields fields(json);
  constexpr std::int64_t kMaxSlots = 4096;
  Here here;
  here.instance = NameFrom(fields, "instance");
  here.version = Printable(ShortText(fields, "version", 64));
  here.fingerprint = ShortText(fields, "fingerprint");
  here.target = ShortText(fields, "target");
  here.builds = fields.Flag("builds");
  here.measures = fields.Flag("measures");
  here.build_slots = static_cast<int>(CountFrom(fields, "build_slots", kMaxSlots));
  here.measure_slots = static_cast<int>(CountFrom(fields, "measure_slots", kMaxSlots));
  here.resolution = NumberFrom(fields, "resolution");
  if (fields.Has("canary")) here.canary_seconds = SecondsFrom(fields, "canary");
  here.state = NamedFrom(fields, "state", kStates, DeviceState::kReady);
  here.held = CountFrom(fields, "held");
  here.done = CountFrom(fields, "done");
  here.busy_seconds = NumberFrom(fields, "busy");
  here.up_seconds = NumberFrom(fields, "up");
  TW_RETURN_IF_ERROR(fields.status());
  TW_RETURN_IF_ERROR(DeviceFingerprint::Parse(here.fingerprint));
  return here;
}

std::string Encode(const JobState& state) {
  Json json = Header("job");
  json["epoch"] = Signed(state.epoch);
  json["weight"] = state.weight;
  json["split"] = state.split;
  json["ended"] = state.ended;
  json["floor"] = Signed(state.floor);
  json["open"] = state.open;
  json["done"] = state.done;
  json["oldest"] = Finite(state.oldest_seconds);
  json["what"] = Printable(state.what.substr(0, kMaxText));
  json["aside"] = state.aside;
  if (state.left_seconds) json["left"] = std::clamp(*state.left_seconds, 0.0, kMaxSeconds);
  return DumpJson(json);
}

Result<JobState> DecodeJobState(std::string_view text) {
  TW_ASSIGN_OR_RETURN(auto json, Parsed(text, kMaxSmallBytes, "job"));
  Fields fields(json);
  JobState state;
  state.epoch = EpochFrom(fields);
  state.weight = fields.Number("weight");
  constexpr double kMin = 1e-3, kMax = 1e3;
  if (!(state.weight >= kMin && state.weight <= kMax)) {
    fields.Fail(Corrupt("message: weight is out of range"));
  }
  state.split = fields.Flag("split");
  state.ended = fields.Flag("ended");
  state.floor = static_cast<std::uint64_t>(CountFrom(fields, "floor"));
  state.open = CountFrom(fields, "open");
  state.done = CountFrom(fields, "done");
  state.oldest_seconds = SecondsFrom(fields, "oldest");
  state.what = Printable(ShortText(fields, "what"));
  if (fields.Has("left")) state.left_seconds = SecondsFrom(fields, "left");
  for (const Json& name : fields.Get("aside", Json::value_t::array)) {
    if (!name.is_string() || name.get_ref<const std::string&>().size() > kMaxDeviceName) {
      return Corrupt("message: aside: not a device name");
    }
    state.aside.push_back(name.get<std::string>());
    if (state.aside.size() > kMaxAside) return Corrupt("message: too many devices aside");
  }
  return Finish(fields, std::move(state));
}

std::string Encode(const Control& control) {
  Json json = Header("control");
  json["action"] = control.action;
  json["why"] = Printable(control.why.substr(0, kMaxText));
  return DumpJson(json);
}

Result<Control> DecodeControl(std::string_view text) {
  TW_ASSIGN_OR_RETURN(auto json, Parsed(text, kMaxSmallBytes, "control"));
  Fields fields(json);
  Control control;
  control.action = NameFrom(fields, "action");
  control.why = Printable(ShortText(fields, "why"));
  return Finish(fields, std::move(control));
}

}  // namespace tilewright::measure::fleet
