// `tilewright fleet`: sets up a fleet, shows its members, and controls devices and jobs.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>

#include "measure/fleet/device_registry.h"
#include "measure/fleet/setup/fleet_folder.h"
#include "measure/fleet/wire.h"
#include "python_free_cli/arguments/fleet_argument.h"
#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/printable.h"
#include "src/base/strings.h"
#include "src/base/text/plural.h"

namespace tilewright::cli {
namespace {

namespace fleet = measure::fleet;

constexpr const char* kServer = "/usr/sbin/nats-server";

const char* StateName(fleet::DeviceState state) {
  switch (state) {
    case fleet::DeviceState::kDraining:
      return "draining";
    case fleet::DeviceState::kQuarantined:
      return "quarantined";
    default:
      return "ready";
  }
}

/// Messages received in a few seconds.
struct Seen {
  struct Device {
    std::string device_class;
    fleet::Announcement first, last;
    double first_at = 0, last_at = 0;
  };
  struct Job {
    std::string device_class;
    fleet::JobAnnouncement first, last;
    double first_at = 0, last_at = 0;
  };
  std::map<std::string, Device> devices;
  std::map<std::string, Job> jobs;
  std::vector<std::string> others;  // of another version
  bool builders = false;            // a worker builds for other machines
};

Seen Listen(fleet::Broker& broker, double seconds) {
  Seen seen;
  SystemClock clock;
  (void)broker.Publish(fleet::kDiscoverySubject, "");
  // A rate needs two announcements of a device, which are sent every two seconds. A second request
  // near the end yields the second one.
  constexpr double kAnswerSeconds = 0.4;
  constexpr std::size_t kMaxOthers = 100;
  const double until = clock.MonotonicSeconds() + seconds;
  double ask_at = until - std::min(kAnswerSeconds, seconds / 2);
  while (clock.MonotonicSeconds() < until) {
    if (clock.MonotonicSeconds() >= ask_at) {
      (void)broker.Publish(fleet::kDiscoverySubject, "");
      ask_at = until;
    }
    const auto incoming = broker.Next(std::max(0.0, ask_at - clock.MonotonicSeconds()));
    if (!incoming || incoming->kind != fleet::BrokerEvent::Kind::kMessage) continue;
    if (!fleet::HasNames(incoming->subject)) continue;
    const double now = clock.MonotonicSeconds();
    const std::string device_class(fleet::SubjectToken(incoming->subject, 2));
    if (incoming->subject.starts_with("tw.here.")) {
      const std::string name = fleet::SenderOf(incoming->subject).ToString();
      auto announcement = fleet::DecodeAnnouncement(incoming->payload);
      if (!announcement.ok()) {
        const std::string other = name + ": " + announcement.status().message();
        const bool more = seen.others.size() < kMaxOthers;
        if (more && std::ranges::find(seen.others, other) == seen.others.end())
          seen.others.push_back(Printable(other));
        continue;
      }
      seen.builders = seen.builders || device_class == fleet::kBuilders;
      auto [found, added] = seen.devices.try_emplace(name);
      if (added) found->second = {device_class, *announcement, *announcement, now, now};
      found->second.last = *std::move(announcement);
      found->second.last_at = now;
    } else if (incoming->subject.starts_with("tw.job.")) {
      auto state = fleet::DecodeJobAnnouncement(incoming->payload);
      if (!state.ok() || device_class == fleet::kBuilders) continue;
      const std::string name = std::string(fleet::SubjectToken(incoming->subject, 3)) + "." +
                               std::string(fleet::SubjectToken(incoming->subject, 4));
      auto [found, added] = seen.jobs.try_emplace(name);
      if (added) found->second = {device_class, *state, *state, now, now};
      found->second.last = *std::move(state);
      found->second.last_at = now;
    }
  }
  return seen;
}

double Rate(double first, double last, double seconds) {
  return seconds > 0 ? std::max(0.0, last - first) / seconds : 0;
}

/// Returns a warning for each class, with its waiting jobs, that has no builder.
std::vector<std::string> WaitForBuilders(const Seen& seen) {
  if (seen.builders) return {};
  std::map<std::string, int> measure_only;
  for (const auto& [name, device] : seen.devices) {
    if (device.last.measures && !device.last.builds) ++measure_only[device.device_class];
  }
  std::vector<std::string> problems;
  for (const auto& [device_class, count] : measure_only) {
    std::string jobs;
    for (const auto& [name, job] : seen.jobs) {
      if (job.device_class == device_class)
        jobs += (jobs.empty() ? "; waiting: job " : ", ") + name;
    }
    problems.push_back(
        fmt::format("class {}: {} only measure{}, and there is no builder (start "
                    "`tilewright worker --build`){}",
                    device_class, Counted(count, "device"), count == 1 ? "s" : "", jobs));
  }
  return problems;
}

Json SeenJson(const Seen& seen) {
  Json json = {{"devices", Json::array()}, {"jobs", Json::array()}, {"problems", seen.others}};
  for (const auto& [name, device] : seen.devices) {
    const fleet::Announcement& last = device.last;
    const double seconds = device.last_at - device.first_at;
    const double up = last.up_seconds - device.first.up_seconds;
    json["devices"].push_back(
        {{"name", name},
         {"class", device.device_class},
         {"model", DeviceFingerprint::Parse(last.fingerprint)->model},
         {"state", StateName(last.state)},
         {"builds", last.builds},
         {"measures", last.measures},
         {"held", last.held},
         {"done", last.done},
         {"trials_per_second",
          Rate(static_cast<double>(device.first.done), static_cast<double>(last.done), seconds)},
         {"busy_share", Rate(device.first.busy_seconds, last.busy_seconds, up)},
         {"resolution", last.resolution},
         {"up_seconds", last.up_seconds},
         {"version", last.version}});
  }
  for (const auto& [name, job] : seen.jobs) {
    const double seconds = job.last_at - job.first_at;
    json["jobs"].push_back(
        {{"name", name},
         {"class", job.device_class},
         {"what", job.last.what},
         {"weight", job.last.weight},
         {"open", job.last.open},
         {"done", job.last.done},
         {"trials_per_second",
          Rate(static_cast<double>(job.first.done), static_cast<double>(job.last.done), seconds)},
         {"oldest_seconds", job.last.oldest_seconds},
         {"split", job.last.split},
         {"set_aside", job.last.excluded}});
    if (job.last.remaining_seconds)
      json["jobs"].back()["deadline_in_seconds"] = *job.last.remaining_seconds;
  }
  for (const std::string& one : WaitForBuilders(seen)) json["problems"].push_back(one);
  return json;
}

std::string DeadlineText(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole <= 0) return "its deadline is over";
  constexpr std::int64_t kHour = 3600, kMinute = 60;
  return fmt::format("its deadline is in {}:{:02}:{:02}", whole / kHour, whole % kHour / kMinute,
                     whole % kMinute);
}

void PrintSeen(const Json& json) {
  std::string last;
  for (const Json& device : json["devices"]) {
    const auto device_class = device["class"].get<std::string>();
    if (device_class != last) {
      PrintOut("class {}: {}\n", device_class, device["model"].get<std::string>());
    }
    last = device_class;
    PrintOut("  {:<28} {:<12} busy {:3.0f} %  {:7.1f} trials/s  {} done, {} held\n",
             device["name"].get<std::string>(), device["state"].get<std::string>(),
             100 * std::min(1.0, device["busy_share"].get<double>()),
             device["trials_per_second"].get<double>(), device["done"].get<std::int64_t>(),
             device["held"].get<std::int64_t>());
  }
  if (json["devices"].empty()) PrintOut("no device is there\n");
  for (const Json& job : json["jobs"]) {
    PrintOut("job {} ({}): {} done, {} open, {:.1f} trials/s, weight {:g}, oldest order {:.1f} s\n",
             job["name"].get<std::string>(), job["what"].get<std::string>(),
             job["done"].get<std::int64_t>(), job["open"].get<std::int64_t>(),
             job["trials_per_second"].get<double>(), job["weight"].get<double>(),
             job["oldest_seconds"].get<double>());
    if (job.contains("deadline_in_seconds")) {
      PrintOut("  {}\n", DeadlineText(job["deadline_in_seconds"].get<double>()));
    }
    for (const Json& name : job["set_aside"]) {
      PrintOut("  set aside: {}\n", name.get<std::string>());
    }
  }
  for (const Json& problem : json["problems"]) PrintOut("{}\n", problem.get<std::string>());
}

class FleetCommand final : public Command {
 public:
  const char* name() const override { return "fleet"; }
  const char* summary() const override {
    return "Set up a fleet of machines, show its state, and control its devices and jobs";
  }
  const char* examples() const override {
    return "  tilewright fleet up lab --host lab.example.org\n"
           "  tilewright fleet keys add alice --folder lab --role tuner --into alice\n"
           "  tilewright fleet keys add bench7 --folder lab --role worker --into bench7\n"
           "  tilewright fleet status --fleet lab/admin.fleet\n"
           "  tilewright fleet open cpu-5d41402abc4b --fleet lab/admin.fleet\n"
           "  tilewright fleet drain bench7.d0 --fleet lab/admin.fleet\n"
           "  tilewright fleet cancel alice.1f3a77b2c0de --fleet lab/admin.fleet\n"
           "A fleet needs nats-server on one machine: sudo apt-get install nats-server, or "
           "scripts/setup.sh --with-fleet in the source tree.\n";
  }
  void Declare(CLI::App& app) override {
    app.require_subcommand(1);
    CLI::App* up =
        Add(app, "up", "Create the folder of a fleet if it does not exist, and run its server",
            &FleetCommand::Up);
    up->add_option("folder", folder_, "Folder for keys, certificates, configuration and storage")
        ->required();
    up->add_option("--host", host_,
                   "Name or address of the server; several, separated by commas, form a cluster "
                   "whose servers share the folder");
    up->add_option("--server", server_, "Host that this server is, in a cluster");
    up->add_option("--port", port_, "Port of the server")->check(CLI::Range(1, 65535));
    up->add_flag("--write-only", write_only_, "Create the folder and do not start the server");
    CLI::App* status = Add(app, "status", "Show devices and jobs", &FleetCommand::Show);
    AddFleet(status);
    status->add_flag("--json", json_, "Print one line of JSON");
    status->add_flag("--watch", watch_, "Repeat until Ctrl-C");
    status->add_option("--seconds", seconds_, "Time to wait for announcements, in seconds")
        ->check(CLI::Range(0.5, 600.0));
    for (const auto& [subcommand, what] :
         {std::pair("drain", "Let a device finish its orders, then stop its worker"),
          std::pair("quarantine", "Send no more orders to a device"),
          std::pair("resume", "Send orders to a device again")}) {
      CLI::App* sub = Add(app, subcommand, what, &FleetCommand::TellDevice);
      sub->add_option("device", device_, "Device, as `fleet status` shows it: WORKER.DEVICE")
          ->required();
      sub->add_option("--why", why_, "Reason that `fleet status` shows");
      AddFleet(sub);
    }
    CLI::App* open = Add(app, "open", "Create the streams of a device class, which its jobs need",
                         &FleetCommand::OpenClass);
    open->add_option("class", device_, "Device class, as `fleet status` shows it")->required();
    AddFleet(open);
    CLI::App* cancel =
        Add(app, "cancel", "End a job; its trials stay in its store", &FleetCommand::Cancel);
    cancel->add_option("job", device_, "Job, as `fleet status` shows it: USER.JOB")->required();
    cancel->add_option("--why", why_, "Reason that `fleet status` shows");
    AddFleet(cancel);
    DeclareKeys(app);
  }
  Result<int> Run() override { return (this->*run_)(); }

 private:
  using Subcommand = Result<int> (FleetCommand::*)();
  CLI::App* Add(CLI::App& app, const char* subcommand, const char* what, Subcommand run) {
    CLI::App* sub = app.add_subcommand(subcommand, what);
    sub->callback([this, subcommand, run] {
      subcommand_ = subcommand;
      run_ = run;
    });
    return sub;
  }
  void AddFleet(CLI::App* sub) {
    sub->add_option(
           "--fleet", fleet_,
           "Broker of the fleet: nats://host:4222, or a file that `tilewright fleet` wrote")
        ->required();
  }
  void DeclareKeys(CLI::App& app) {
    CLI::App* keys = app.add_subcommand("keys", "Manage the keys of the fleet");
    keys->require_subcommand(1);
    CLI::App* add = Add(*keys, "add", "Create a key for a user or a worker", &FleetCommand::AddKey);
    add->add_option("user", user_.name, "Name of a user or worker")->required();
    add->add_option("--role", user_.role,
                    "Role: tuner, worker, builder (a worker that builds for others) or admin")
        ->required();
    add->add_option("--class", user_.device_class, "Only device class that a worker may serve");
    add->add_option("--into", into_, "Folder for the user's files")->required();
    CLI::App* remove = Add(*keys, "remove", "Revoke a key", &FleetCommand::RemoveKey);
    remove->add_option("user", user_.name)->required();
    CLI::App* list = Add(*keys, "list", "List the users with keys", &FleetCommand::ListKeys);
    list->add_flag("--json", json_, "Print one line of JSON");
    for (CLI::App* sub : {add, remove, list}) {
      sub->add_option("--folder", folder_, "Folder of the fleet (from `fleet up`)")->required();
    }
  }

  Result<std::unique_ptr<fleet::Broker>> Reach() const {
    TW_ASSIGN_OR_RETURN(auto address, FleetAddress(fleet_));
    return fleet::Connect(address, "tilewright fleet");
  }

  Result<int> Up() {
    TW_ASSIGN_OR_RETURN(auto opened, FileExists(folder_ + "/fleet.json")
                                         ? fleet::FleetFolder::Open(folder_)
                                         : fleet::FleetFolder::Make(folder_, host_, port_));
    if (!server_.empty()) TW_RETURN_IF_ERROR(opened.SetServer(server_));
    TW_RETURN_IF_ERROR(opened.Write());
    PrintErr("fleet {}: {}; you are {}/admin.fleet\n", opened.path(), opened.url(), opened.path());
    if (write_only_) return kExitDone;
    const auto hosts = opened.hosts();
    if (hosts.size() > 1 && opened.server().empty()) {
      return InvalidArgument("--server: missing, expected which of the cluster this is: " +
                             fmt::format("{}", fmt::join(hosts, ", ")));
    }
    if (!FileExists(kServer)) {
      return Unavailable(std::string(kServer) +
                         " is not installed: sudo apt-get install nats-server, or "
                         "scripts/setup.sh --with-fleet in the source tree");
    }
    // From here on this process is the server; the caller ends it by a signal.
    const std::string configuration = opened.configuration();
    ::execl(kServer, kServer, "-c", configuration.c_str(), nullptr);
    return Unavailable(std::string(kServer) + ": " + ErrnoReason());
  }

  Result<int> Show() {
    TW_ASSIGN_OR_RETURN(auto broker, Reach());
    for (const char* pattern : {"tw.here.>", "tw.job.>"}) {
      TW_RETURN_IF_ERROR(broker->Subscribe(pattern));
    }
    do {
      const Json json = SeenJson(Listen(*broker, seconds_));
      if (json_) {
        PrintJson(json);
      } else {
        if (watch_) PrintOut("\n");
        PrintSeen(json);
      }
    } while (watch_);
    return kExitDone;
  }

  /// Creates the streams of a class for all users that may tune. A tuner may create queues in its
  /// streams, but no streams.
  static Status MakeStreams(const std::string& admin, const std::vector<std::string>& users,
                            const std::vector<std::string>& classes) {
    TW_ASSIGN_OR_RETURN(auto address, FleetAddress(admin));
    TW_ASSIGN_OR_RETURN(auto broker, fleet::Connect(address, "tilewright fleet"));
    for (const std::string& user : users) {
      const fleet::JobName no_job{user.empty() ? address.user : user, "nobody"};
      std::vector<fleet::Queue> queues = {fleet::BuildQueue(no_job)};
      for (const std::string& one : classes) queues.push_back(fleet::MeasureQueue(one, no_job));
      for (const fleet::Queue& queue : queues) {
        TW_RETURN_IF_ERROR(broker->OpenQueue(queue));
        broker->CloseQueue(queue);
      }
    }
    constexpr double kSeconds = 5;
    return broker->Flush(kSeconds);
  }

  Result<int> OpenClass() {
    TW_RETURN_IF_ERROR(fleet::CheckName("the class", device_));
    // Without keys every user has all permissions.
    if (fleet_.find("://") != std::string::npos) {
      TW_RETURN_IF_ERROR(MakeStreams(fleet_, {""}, {device_}));
      return kExitDone;
    }
    const auto folder = std::filesystem::path(fleet_).parent_path().string();
    auto opened = fleet::FleetFolder::Open(folder.empty() ? "." : folder);
    if (!opened.ok()) {
      return opened.status().WithContext(
          "--fleet: expected admin.fleet in the folder of `fleet up`, whose configuration has the "
          "rights for the class");
    }
    TW_RETURN_IF_ERROR(opened->OpenClass(device_));
    Reload(*opened);
    std::vector<std::string> users;
    for (const fleet::FleetUser& user : opened->users()) {
      if (fleet::MayTune(user)) users.push_back(user.name);
    }
    TW_RETURN_IF_ERROR(MakeStreams(fleet_, users, {device_}));
    return kExitDone;
  }

  /// Publishes a control message and waits for a sign of life of its receiver. heard: subject that
  /// the receiver publishes to regularly. A busy receiver answers late but still gets the message;
  /// therefore the message is sent first, and the discovery request second.
  Result<int> Tell(const std::string& heard, const std::string& subject,
                   const std::string& action) {
    TW_ASSIGN_OR_RETURN(auto broker, Reach());
    TW_RETURN_IF_ERROR(broker->Subscribe(heard));
    TW_RETURN_IF_ERROR(broker->Publish(subject, fleet::Encode(fleet::Control{action, why_})));
    TW_RETURN_IF_ERROR(broker->Publish(fleet::kDiscoverySubject, ""));
    constexpr double kSeconds = 5;
    TW_RETURN_IF_ERROR(broker->Flush(kSeconds));
    const double offline_seconds = fleet::DeviceRegistry::Settings().offline_seconds;
    // A rejection arrives as a separate event, possibly after messages of others.
    constexpr double kAnswerSeconds = 0.2;
    SystemClock clock;
    const double until = clock.MonotonicSeconds() + offline_seconds;
    bool there = false;
    while (true) {
      const double left = until - clock.MonotonicSeconds();
      if (!there && left <= 0) break;
      const auto incoming = broker->Next(there ? kAnswerSeconds : left);
      if (!incoming && there) return kExitDone;
      if (!incoming) continue;
      if (incoming->kind == fleet::BrokerEvent::Kind::kRejected)
        return Unavailable(incoming->payload);
      there = there || incoming->kind == fleet::BrokerEvent::Kind::kMessage;
    }
    return InvalidArgument(
        fmt::format("'{}' did not answer within {:g} s: expected one that `fleet status` shows",
                    device_, offline_seconds));
  }
  /// Parses two names with a dot between them.
  Result<std::pair<std::string, std::string>> TwoNames(const char* what) const {
    const auto words = Split(device_, '.');
    if (words.size() != 2 || !fleet::IsName(words[0]) || !fleet::IsName(words[1])) {
      return InvalidArgument("'" + device_ + "', expected " + what + " as `fleet status` names it");
    }
    return std::pair(words[0], words[1]);
  }
  Result<int> TellDevice() {
    TW_ASSIGN_OR_RETURN(auto names, TwoNames("WORKER.DEVICE"));
    const fleet::DeviceName device{names.first, names.second};
    return Tell(fleet::AnnouncementSubject("*", device), fleet::DeviceControlSubject(device),
                subcommand_);
  }
  Result<int> Cancel() {
    TW_ASSIGN_OR_RETURN(auto names, TwoNames("USER.JOB"));
    const fleet::JobName job{names.first, names.second};
    return Tell(fleet::JobSubject("*", job), fleet::JobControlSubject(job), "cancel");
  }

  /// Makes a running server reload its configuration. Returns false if none runs here.
  static bool Reload(const fleet::FleetFolder& folder) {
    constexpr std::int64_t kMaxBytes = 64;
    const auto text = ReadFile(folder.process_file(), kMaxBytes);
    const auto pid = text.ok() ? ParseInt64(Trim(*text)) : Result<std::int64_t>(text.status());
    if (pid.ok() && *pid > 1 && ::kill(static_cast<pid_t>(*pid), SIGHUP) == 0) return true;
    PrintErr("note: no server of this fleet runs here; copy {} to the server and reload it\n",
             folder.configuration());
    return false;
  }
  Result<int> AddKey() {
    TW_ASSIGN_OR_RETURN(auto folder, fleet::FleetFolder::Open(folder_));
    TW_ASSIGN_OR_RETURN(auto file, folder.Add(user_, into_));
    const bool runs = Reload(folder);
    if (runs && fleet::MayTune(user_) && !folder.classes().empty()) {
      const Status made = MakeStreams(folder.admin_file(), {user_.name}, folder.classes());
      if (!made.ok()) {
        PrintErr("note: {} has no queues yet; `tilewright fleet open` creates them: {}\n",
                 user_.name, made.message());
      }
    }
    PrintOut("{}\n", file);
    return kExitDone;
  }
  Result<int> RemoveKey() {
    TW_ASSIGN_OR_RETURN(auto folder, fleet::FleetFolder::Open(folder_));
    TW_RETURN_IF_ERROR(folder.Remove(user_.name));
    Reload(folder);
    return kExitDone;
  }
  Result<int> ListKeys() {
    TW_ASSIGN_OR_RETURN(auto folder, fleet::FleetFolder::Open(folder_));
    Json json = Json::array();
    for (const fleet::FleetUser& user : folder.users()) {
      json.push_back({{"name", user.name},
                      {"role", user.role},
                      {"class", user.device_class},
                      {"public_key", user.public_key}});
      if (json_) continue;
      PrintOut("{:<20} {:<8} {:<20} {}\n", user.name, user.role, user.device_class,
               user.public_key);
    }
    if (json_) PrintJson(json);
    return kExitDone;
  }

  Subcommand run_ = nullptr;
  std::string subcommand_, fleet_, folder_, host_ = "localhost", server_, device_, why_, into_;
  int port_ = 4222;
  double seconds_ = 3;
  bool json_ = false, watch_ = false, write_only_ = false;
  fleet::FleetUser user_;
};

}  // namespace

std::unique_ptr<Command> MakeFleetCommand() { return std::make_unique<FleetCommand>(); }

}  // namespace tilewright::cli
