// `tilewright fleet`: sets up a fleet, shows its members, and controls devices and jobs.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "measure/fleet/admin/address.h"
#include "measure/fleet/admin/control.h"
#include "measure/fleet/admin/status.h"
#include "measure/fleet/setup/fleet_folder.h"
#include "python_free_cli/command.h"
#include "python_free_cli/print.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/report/fleet/fleet.h"

namespace tilewright::cli {
namespace {

namespace fleet = measure::fleet;

constexpr const char* kServer = "/usr/sbin/nats-server";

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
    TW_ASSIGN_OR_RETURN(auto address, fleet::ReadAddress(fleet_));
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
    TW_RETURN_IF_ERROR(fleet::SubscribeToStatus(*broker));
    do {
      const auto status = fleet::ReceiveStatus(*broker, seconds_);
      if (json_) {
        PrintJson(report::FleetStatusJson(status));
      } else {
        WriteText((watch_ ? "\n" : "") + report::FleetStatusText(status));
      }
    } while (watch_);
    return kExitDone;
  }

  Result<int> OpenClass() {
    TW_RETURN_IF_ERROR(fleet::CheckName("the class", device_));
    // Without keys every user has all permissions.
    if (fleet_.find("://") != std::string::npos) {
      TW_ASSIGN_OR_RETURN(const auto address, fleet::ReadAddress(fleet_));
      TW_RETURN_IF_ERROR(fleet::CreateStreams(address, {""}, {device_}));
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
    TW_ASSIGN_OR_RETURN(const auto address, fleet::ReadAddress(fleet_));
    TW_RETURN_IF_ERROR(fleet::CreateStreams(address, users, {device_}));
    return kExitDone;
  }

  Result<int> TellDevice() {
    TW_ASSIGN_OR_RETURN(const auto device, fleet::ParseDeviceName(device_));
    TW_ASSIGN_OR_RETURN(auto broker, Reach());
    TW_RETURN_IF_ERROR(fleet::ControlDevice(*broker, device, {subcommand_, why_}));
    return kExitDone;
  }
  Result<int> Cancel() {
    TW_ASSIGN_OR_RETURN(const auto job, fleet::ParseJobName(device_));
    TW_ASSIGN_OR_RETURN(auto broker, Reach());
    TW_RETURN_IF_ERROR(fleet::CancelJob(*broker, job, why_));
    return kExitDone;
  }

  /// Makes a running server reload its configuration. Returns false if none runs here.
  static bool Reload(const fleet::FleetFolder& folder) {
    if (fleet::ReloadServer(folder)) return true;
    PrintErr("note: no server of this fleet runs here; copy {} to the server and reload it\n",
             folder.configuration());
    return false;
  }
  Result<int> AddKey() {
    TW_ASSIGN_OR_RETURN(auto folder, fleet::FleetFolder::Open(folder_));
    TW_ASSIGN_OR_RETURN(auto file, folder.Add(user_, into_));
    const bool runs = Reload(folder);
    if (runs && fleet::MayTune(user_) && !folder.classes().empty()) {
      const auto admin = fleet::ReadAddress(folder.admin_file());
      const Status made = admin.ok() ? fleet::CreateStreams(*admin, {user_.name}, folder.classes())
                                     : admin.status();
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
