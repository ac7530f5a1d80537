#include "measure/fleet/wire_fields.h"

namespace tilewright::measure::fleet {
namespace {

constexpr std::size_t kMaxExcluded = 512;
constexpr std::size_t kMaxDeviceName = 2 * 64 + 1;  // two names and a dot
constexpr std::array<const char*, 3> kStates = {"ready", "draining", "quarantined"};

const char* NameOf(DeviceState state) { return kStates[static_cast<std::size_t>(state)]; }

}  // namespace

std::string Encode(const Announcement& announcement) {
  Json json = Header("here");
  json["instance"] = announcement.instance;
  json["version"] = announcement.version;
  json["fingerprint"] = announcement.fingerprint;
  json["target"] = announcement.target;
  json["builds"] = announcement.builds;
  json["measures"] = announcement.measures;
  json["build_slots"] = announcement.build_slots;
  json["measure_slots"] = announcement.measure_slots;
  json["resolution"] = Finite(announcement.resolution);
  if (announcement.probe_seconds > 0) json["canary"] = Finite(announcement.probe_seconds);
  json["state"] = NameOf(announcement.state);
  json["held"] = announcement.held;
  json["done"] = announcement.done;
  json["busy"] = Finite(announcement.busy_seconds);
  json["up"] = Finite(announcement.up_seconds);
  return DumpJson(json);
}

Result<Announcement> DecodeAnnouncement(std::string_view text) {
  TW_ASSIGN_OR_RETURN(auto json, ParseMessage(text, kMaxSmallBytes, "here"));
  Fields fields(json);
  constexpr std::int64_t kMaxSlots = 4096;
  Announcement announcement;
  announcement.instance = NameFrom(fields, "instance");
  announcement.version = Printable(ShortText(fields, "version", 64));
  announcement.fingerprint = ShortText(fields, "fingerprint");
  announcement.target = ShortText(fields, "target");
  announcement.builds = fields.Flag("builds");
  announcement.measures = fields.Flag("measures");
  announcement.build_slots = static_cast<int>(CountFrom(fields, "build_slots", kMaxSlots));
  announcement.measure_slots = static_cast<int>(CountFrom(fields, "measure_slots", kMaxSlots));
  announcement.resolution = NumberFrom(fields, "resolution");
  if (fields.Has("canary")) announcement.probe_seconds = SecondsFrom(fields, "canary");
  announcement.state = EnumFrom(fields, "state", kStates, DeviceState::kReady);
  announcement.held = CountFrom(fields, "held");
  announcement.done = CountFrom(fields, "done");
  announcement.busy_seconds = NumberFrom(fields, "busy");
  announcement.up_seconds = NumberFrom(fields, "up");
  TW_RETURN_IF_ERROR(fields.status());
  TW_RETURN_IF_ERROR(DeviceFingerprint::Parse(announcement.fingerprint));
  return announcement;
}

std::string Encode(const JobAnnouncement& state) {
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
  json["aside"] = state.excluded;
  if (state.remaining_seconds)
    json["left"] = std::clamp(*state.remaining_seconds, 0.0, kMaxSeconds);
  return DumpJson(json);
}

Result<JobAnnouncement> DecodeJobAnnouncement(std::string_view text) {
  TW_ASSIGN_OR_RETURN(auto json, ParseMessage(text, kMaxSmallBytes, "job"));
  Fields fields(json);
  JobAnnouncement state;
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
  if (fields.Has("left")) state.remaining_seconds = SecondsFrom(fields, "left");
  for (const Json& name : fields.Get("aside", Json::value_t::array)) {
    if (!name.is_string() || name.get_ref<const std::string&>().size() > kMaxDeviceName) {
      return Corrupt("message: aside: not a device name");
    }
    state.excluded.push_back(name.get<std::string>());
    if (state.excluded.size() > kMaxExcluded) return Corrupt("message: too many devices aside");
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
  TW_ASSIGN_OR_RETURN(auto json, ParseMessage(text, kMaxSmallBytes, "control"));
  Fields fields(json);
  Control control;
  control.action = NameFrom(fields, "action");
  control.why = Printable(ShortText(fields, "why"));
  return Finish(fields, std::move(control));
}

}  // namespace tilewright::measure::fleet
