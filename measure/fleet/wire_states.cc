// Messages about the states of devices and jobs.

#include <algorithm>
#include <array>

#include "measure/fleet/wire_fields.h"

namespace tilewright::measure::fleet {
namespace {

constexpr std::size_t kMaxExcluded = 512;
constexpr std::size_t kMaxDeviceName = 2 * 64 + 1;  // two names and a dot
constexpr std::size_t kMaxProgramKey = 128;
constexpr RangeCodec<int> kSlots = {0, 4096};
constexpr std::array<const char*, 3> kStates = {"ready", "draining", "quarantined"};

/// Codec of a version of the program, for display.
struct VersionTextCodec : PrintableCodec {
  Json Write(const std::string& text) const { return text; }
};

/// Codec of the time until a deadline, which may be over, or further away than kMaxSeconds.
struct RemainingSecondsCodec : NumberCodec {
  Json Write(double seconds) const { return std::clamp(seconds, 0.0, kMaxSeconds); }
};

}  // namespace

static void Describe(auto& fields, DescribedAs<Announcement> auto& announcement) {
  fields("instance", announcement.instance, NameCodec());
  fields("version", announcement.version, VersionTextCodec{{{64}}});
  fields("fingerprint", announcement.fingerprint, ShortTextCodec());
  fields("target", announcement.target, ShortTextCodec());
  fields("builds", announcement.builds);
  fields("measures", announcement.measures);
  fields("build_slots", announcement.build_slots, kSlots);
  fields("measure_slots", announcement.measure_slots, kSlots);
  fields("resolution", announcement.resolution, kNotNegative);
  fields.Optional("canary", announcement.probe_seconds > 0, announcement.probe_seconds, kSeconds);
  fields.Optional("programs", !announcement.programs.empty(), announcement.programs,
                  ListCodec(ShortTextCodec{kMaxProgramKey}, kMaxPrograms));
  fields("state", announcement.state, EnumCodec{kStates});
  fields("held", announcement.held, kCount);
  fields("done", announcement.done, kCount);
  fields("busy", announcement.busy_seconds, kNotNegative);
  fields("up", announcement.up_seconds, kNotNegative);
}

static void Describe(auto& fields, DescribedAs<JobAnnouncement> auto& state) {
  fields("epoch", state.epoch, kNumber);
  fields("weight", state.weight, RangeCodec<double>{1e-3, 1e3});
  fields("split", state.split);
  fields("ended", state.ended);
  fields("floor", state.floor, kNumber);
  fields("open", state.open, kCount);
  fields("done", state.done, kCount);
  fields("oldest", state.oldest_seconds, kSeconds);
  fields("what", state.what, PrintableCodec());
  fields("aside", state.excluded, ListCodec(ShortTextCodec{kMaxDeviceName}, kMaxExcluded));
  fields.Optional("left", state.remaining_seconds, RemainingSecondsCodec{kSeconds});
}

static void Describe(auto& fields, DescribedAs<Control> auto& control) {
  fields("action", control.action, NameCodec());
  fields("why", control.why, PrintableCodec());
}

std::string Encode(const Announcement& announcement) { return Encoded("here", announcement); }
std::string Encode(const JobAnnouncement& state) { return Encoded("job", state); }
std::string Encode(const Control& control) { return Encoded("control", control); }

Result<Announcement> DecodeAnnouncement(std::string_view text) {
  TW_ASSIGN_OR_RETURN(auto announcement, Decoded<Announcement>(text, kMaxSmallBytes, "here"));
  TW_RETURN_IF_ERROR(DeviceFingerprint::Parse(announcement.fingerprint));
  return announcement;
}

Result<JobAnnouncement> DecodeJobAnnouncement(std::string_view text) {
  return Decoded<JobAnnouncement>(text, kMaxSmallBytes, "job");
}

Result<Control> DecodeControl(std::string_view text) {
  return Decoded<Control>(text, kMaxSmallBytes, "control");
}

}  // namespace tilewright::measure::fleet
