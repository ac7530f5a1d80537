#include "src/report/fleet/fleet.h"

#include <algorithm>
#include <map>

#include "src/base/format_printable.h"
#include "src/base/json.h"
#include "src/base/text/plural.h"

namespace tilewright::report {
namespace {

namespace fleet = measure::fleet;

const char* DeviceStateName(fleet::DeviceState state) {
  switch (state) {
    case fleet::DeviceState::kDraining:
      return "draining";
    case fleet::DeviceState::kQuarantined:
      return "quarantined";
    default:
      return "ready";
  }
}

double RateOf(double first, double last, double seconds) {
  return seconds > 0 ? std::max(0.0, last - first) / seconds : 0;
}

std::string DeadlineText(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole <= 0) return "its deadline is over";
  constexpr std::int64_t kHour = 3600, kMinute = 60;
  return fmt::format("its deadline is in {}:{:02}:{:02}", whole / kHour, whole % kHour / kMinute,
                     whole % kMinute);
}

}  // namespace

Json FleetStatusJson(const fleet::FleetStatus& status) {
  Json json = {{"devices", Json::array()}, {"jobs", Json::array()}, {"problems", status.others}};
  for (const auto& [name, device] : status.devices) {
    const fleet::Announcement &first = device.first, &last = device.last;
    json["devices"].push_back(
        {{"name", name},
         {"class", device.device_class},
         {"model", DeviceFingerprint::Parse(last.fingerprint)->model},
         {"state", DeviceStateName(last.state)},
         {"builds", last.builds},
         {"measures", last.measures},
         {"held", last.held},
         {"done", last.done},
         {"trials_per_second", RateOf(static_cast<double>(first.done),
                                      static_cast<double>(last.done), device.seconds())},
         {"busy_share",
          RateOf(first.busy_seconds, last.busy_seconds, last.up_seconds - first.up_seconds)},
         {"resolution", last.resolution},
         {"up_seconds", last.up_seconds},
         {"version", last.version}});
  }
  for (const auto& [name, job] : status.jobs) {
    const fleet::JobAnnouncement& last = job.last;
    json["jobs"].push_back(
        {{"name", name},
         {"class", job.device_class},
         {"what", last.what},
         {"weight", last.weight},
         {"open", last.open},
         {"done", last.done},
         {"trials_per_second", RateOf(static_cast<double>(job.first.done),
                                      static_cast<double>(last.done), job.seconds())},
         {"oldest_seconds", last.oldest_seconds},
         {"split", last.split},
         {"set_aside", last.excluded}});
    if (last.remaining_seconds) {
      json["jobs"].back()["deadline_in_seconds"] = *last.remaining_seconds;
    }
  }
  for (const std::string& one : status.ClassesWithoutBuilder()) json["problems"].push_back(one);
  return json;
}

std::string FleetStatusText(const fleet::FleetStatus& status) {
  std::string text, last_class;
  for (const auto& [name, device] : status.devices) {
    const fleet::Announcement &first = device.first, &last = device.last;
    if (device.device_class != last_class) {
      text += FormatPrintable("class {}: {}\n", device.device_class,
                              DeviceFingerprint::Parse(last.fingerprint)->model);
    }
    last_class = device.device_class;
    const double busy =
        RateOf(first.busy_seconds, last.busy_seconds, last.up_seconds - first.up_seconds);
    text += FormatPrintable(
        "  {:<28} {:<12} busy {:3.0f} %  {:7.1f} trials/s  {} done, {} held\n", name,
        DeviceStateName(last.state), 100 * std::min(1.0, busy),
        RateOf(static_cast<double>(first.done), static_cast<double>(last.done), device.seconds()),
        last.done, last.held);
  }
  if (status.devices.empty()) text += "no device is there\n";
  for (const auto& [name, job] : status.jobs) {
    const fleet::JobAnnouncement& last = job.last;
    text += FormatPrintable(
        "job {} ({}): {} done, {} open, {:.1f} trials/s, weight {:g}, oldest order {:.1f} s\n",
        name, last.what, last.done, last.open,
        RateOf(static_cast<double>(job.first.done), static_cast<double>(last.done), job.seconds()),
        last.weight, last.oldest_seconds);
    if (last.remaining_seconds) {
      text += FormatPrintable("  {}\n", DeadlineText(*last.remaining_seconds));
    }
    for (const std::string& excluded : last.excluded) {
      text += FormatPrintable("  set aside: {}\n", excluded);
    }
  }
  for (const std::string& problem : status.others) text += FormatPrintable("{}\n", problem);
  for (const std::string& problem : status.ClassesWithoutBuilder()) {
    text += FormatPrintable("{}\n", problem);
  }
  return text;
}

Json FleetJobJson(const fleet::FleetMeasurer& measurer) {
  const auto counts = measurer.dispatcher().counts();
  Json json = {{"lost", counts.lost},
               {"late", counts.late},
               {"doubled", counts.duplicates},
               {"sent_again", counts.resent},
               {"refused", counts.refused},
               {"foreign", counts.foreign},
               {"revised", counts.revised},
               {"baselines", counts.baselines},
               {"checks", counts.checks},
               {"checks_failed", counts.checks_failed},
               {"rebuilt", counts.rebuilt},
               {"unconfirmed", counts.unconfirmed},
               {"took_workers_down", counts.poisoned},
               {"longest_loss_seconds", counts.longest_recovery_seconds}};
  json["winners"] = Json::array();
  for (const auto& one : measurer.confirmations()) {
    json["winners"].push_back({{"workload", one.workload},
                               {"confirmed", one.unconfirmed_reason.empty()},
                               {"doubt", one.unconfirmed_reason}});
  }
  return json;
}

std::string FleetJobText(const fleet::FleetMeasurer& measurer) {
  std::map<std::string, int> unconfirmed_reasons;
  int confirmed = 0;
  for (const auto& one : measurer.confirmations()) {
    one.unconfirmed_reason.empty() ? ++confirmed : ++unconfirmed_reasons[one.unconfirmed_reason];
  }
  std::string text =
      FormatPrintable("fleet: {} confirmed on a second device\n", Counted(confirmed, "winner"));
  for (const auto& [reason, count] : unconfirmed_reasons) {
    text += FormatPrintable("fleet: {} {}\n", count, reason);
  }
  return text;
}

}  // namespace tilewright::report
