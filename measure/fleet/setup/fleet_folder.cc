// The users are in fleet.json; nats-server.conf is generated from it alone. Permissions are granted
// by subject (measure/fleet/subjects.h): subjects of a worker end with its name, subjects of a job
// contain its user's name.

#include "measure/fleet/setup/fleet_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "measure/fleet/keys.h"
#include "measure/fleet/setup/loopback.h"
#include "measure/fleet/subjects.h"
#include "src/base/files/file.h"
#include "src/base/files/temp_name.h"
#include "src/base/json.h"
#include "src/base/process/subprocess.h"
#include "src/base/strings.h"

namespace tilewright::measure::fleet {
namespace {

namespace fs = std::filesystem;

// Servers of a cluster connect to each other on the client port plus this offset.
constexpr int kClusterPorts = 2000;
constexpr int kMaxPort = 65535;
// A separate file, because fleet.json is the same for all servers.
constexpr const char* kServerFile = "server";
constexpr const char* kRoles = "tuner, worker, builder or admin";

bool IsRole(const std::string& role) {
  return role == "tuner" || role == "worker" || role == "builder" || role == "admin";
}

/// Writes a file that only its owner can read.
Status WriteSecret(const std::string& path, const std::string& text) {
  const mode_t before = ::umask(0077);
  const Status written = WriteFile(path, text);
  ::umask(before);
  return written;
}

Status RunOpenssl(std::vector<std::string> arguments) {
  SubprocessOptions options;
  options.command = {"/usr/bin/openssl"};
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  auto process = Subprocess::Start(options);
  if (!process.ok()) {
    return Unavailable("openssl cannot be started (install openssl): " +
                       process.status().message());
  }
  process->CloseInput();
  constexpr double kLimitSeconds = 120;
  const auto ended = process->Wait(kLimitSeconds);
  if (ended && ended->ok()) return {};
  return Unavailable("openssl " + arguments.front() +
                     " failed: " + (ended ? ended->ToString() : std::string("it did not end")));
}

/// Creates a certificate authority of the fleet, and the servers' certificate, valid for ten years.
Status MakeCertificates(const std::string& folder, const std::string& hosts) {
  const auto in = [&folder](const char* name) { return folder + "/" + name; };
  const std::vector<std::string> key = {"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                                        "-nodes"};
  const auto with = [&key](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), key.begin(), key.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  std::string names = "subjectAltName=DNS:localhost,IP:127.0.0.1";
  for (const std::string& one : Split(hosts, ',')) {
    const bool six = one.find(':') != std::string::npos;
    const bool number = one.find_first_not_of(six ? "0123456789abcdefABCDEF.:" : "0123456789.") ==
                        std::string::npos;
    names += (number ? ",IP:" : ",DNS:") + one;
  }
  names += "\n";
  TW_RETURN_IF_ERROR(WriteFile(in("names.txt"), names));
  const mode_t before = ::umask(0077);
  Status made = RunOpenssl(with({"req", "-x509"}, {"-days", "3650", "-subj", "/CN=tilewright fleet",
                                                   "-keyout", in("ca.key"), "-out", in("ca.pem")}));
  if (made.ok()) {
    made = RunOpenssl(with({"req"}, {"-subj", "/CN=" + Split(hosts, ',').front(), "-keyout",
                                     in("server.key"), "-out", in("server.csr")}));
  }
  if (made.ok()) {
    made = RunOpenssl({"x509", "-req", "-in", in("server.csr"), "-CA", in("ca.pem"), "-CAkey",
                       in("ca.key"), "-CAcreateserial", "-days", "3650", "-extfile",
                       in("names.txt"), "-out", in("server.pem")});
  }
  ::umask(before);
  std::error_code failed;
  for (const char* name : {"names.txt", "server.csr"}) fs::remove(in(name), failed);
  return made;
}

/// Checks a port. what: names the port, for the message.
Status CheckPort(const std::string& what, const std::string& hosts, std::int64_t port) {
  const bool cluster = hosts.find(',') != std::string::npos;
  const int most = kMaxPort - (cluster ? kClusterPorts : 0);
  if (port >= 1 && port <= most) return {};
  const std::string why = cluster ? ", as servers of a cluster reach each other on the port " +
                                        std::to_string(kClusterPorts) + " further on"
                                  : "";
  return InvalidArgument(what + ": " + std::to_string(port) + ", expected 1 to " +
                         std::to_string(most) + why);
}

/// Returns hosts separated by commas, IPv6 addresses without brackets.
std::string WithoutBrackets(const std::string& hosts) {
  std::string text;
  for (std::string one : Split(hosts, ',')) {
    const bool six = one.starts_with('[') && one.ends_with(']') && one.find(':') < one.size();
    if (six) one = one.substr(1, one.size() - 2);
    text += (text.empty() ? "" : ",") + one;
  }
  return text;
}

/// Returns a host in URL form: IPv6 addresses in brackets.
std::string InUrl(const std::string& host) {
  const bool six = host.find(':') < host.size() && !host.starts_with('[');
  return six ? "[" + host + "]" : host;
}

std::string List(const std::vector<std::string>& subjects) {
  std::string text;
  for (const std::string& subject : subjects) {
    text += (text.empty() ? "" : ", ") + ("\"" + subject + "\"");
  }
  return "[" + text + "]";
}

}  // namespace

bool MayTune(const FleetUser& user) { return user.role == "tuner" || user.role == "admin"; }

FleetPermissions PermissionsOf(const FleetUser& user, const std::vector<FleetUser>& users,
                               const std::vector<std::string>& classes) {
  const std::string& name = user.name;
  const std::string inbox = "_INBOX." + name + ".>";
  if (user.role == "admin") return {{">"}, {">"}, {}};
  if (user.role == "tuner") {
    FleetPermissions may{
        {"tw.run.*." + name + ".*", "tw.build." + name + ".*", "tw.job.*." + name + ".*",
         "tw.direct.*.*.*." + name + ".*", fleet::kDiscoverySubject, "$JS.API.INFO",
         std::string("$JS.API.STREAM.INFO.") + fleet::kArtifactStream},
        {"tw.beat." + name + ".>", "tw.result." + name + ".>", "tw.here.>",
         "tw.control.job." + name + ".*", "tw.job.*." + name + ".*", inbox},
        {}};
    const auto own = [&may](const std::string& stream, const std::string& subjects) {
      for (const std::string& subject :
           {"STREAM.INFO." + stream, "STREAM.PURGE." + stream, "CONSUMER.INFO." + stream + ".*",
            "CONSUMER.DELETE." + stream + ".*",
            "CONSUMER.CREATE." + stream + ".*." + subjects + ".*"}) {
        may.publish.push_back("$JS.API." + subject);
      }
      may.publish.push_back("$JS.ACK." + stream + ".>");
    };
    own(fleet::BuildStream(name), "tw.build." + name);
    for (const std::string& one : classes) {
      own(fleet::MeasureStream(one, name), "tw.run." + one + "." + name);
    }
    return may;
  }
  const std::string of_class = user.device_class.empty() ? "*" : user.device_class;
  FleetPermissions may{{"tw.here." + of_class + "." + name + ".*", "tw.beat.*.*." + name + ".*",
                        "tw.result.*.*." + name + ".*",
                        std::string("$JS.API.DIRECT.GET.") + fleet::kArtifactStream + ".>"},
                       {"tw.job." + of_class + ".>", "tw.direct." + of_class + "." + name + ".>",
                        "tw.control.device." + name + ".*", fleet::kDiscoverySubject, inbox},
                       {}};
  const bool builds = user.role == "builder";
  const std::string next = "$JS.API.CONSUMER.MSG.NEXT.";
  if (user.device_class.empty()) may.publish.push_back(next + "*.*");
  for (const FleetUser& other : users) {
    if (!MayTune(other)) continue;
    if (!user.device_class.empty()) {
      may.publish.push_back(next + fleet::MeasureStream(user.device_class, other.name) + ".*");
    }
    (builds ? may.publish : may.not_publish)
        .push_back(next + fleet::BuildStream(other.name) + ".*");
  }
  if (builds) {
    const std::string builders = std::string(".") + fleet::kBuilders;
    may.publish.push_back("tw.here" + builders + "." + name + ".*");
    may.publish.push_back("tw.artifact.>");
    may.subscribe.push_back("tw.job" + builders + ".>");
  } else if (user.device_class.empty()) {
    may.not_publish.push_back(std::string("tw.here.") + fleet::kBuilders + ".>");
  }
  return may;
}

Result<FleetFolder> FleetFolder::Make(const std::string& folder, const std::string& hosts,
                                      int port) {
  const std::string host = WithoutBrackets(hosts);
  if (FileExists(folder + "/fleet.json")) {
    return InvalidArgument(folder + ": there is a fleet already");
  }
  for (const std::string& one : Split(host, ',')) {
    const bool ok = !one.empty() && std::ranges::all_of(one, [](char c) {
      return fleet::IsName(std::string(1, c)) || c == '.' || c == ':';
    });
    if (!ok) {
      return InvalidArgument("--host: '" + host +
                             "', expected names or addresses of servers, with commas between them");
    }
  }
  TW_RETURN_IF_ERROR(CheckPort("--port", host, port));
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return Unavailable(folder + ": " + failed.message());
  fs::permissions(folder, fs::perms::owner_all, failed);
  FleetFolder made(fs::absolute(folder, failed).string(), host, port);
  TW_RETURN_IF_ERROR(MakeCertificates(made.path_, host));
  TW_RETURN_IF_ERROR(made.Add({"admin", "admin", "", ""}, made.path_));
  return made;
}

Result<FleetFolder> FleetFolder::Open(const std::string& folder) {
  const std::string file = folder + "/fleet.json";
  constexpr std::int64_t kMaxBytes = 16 << 20;
  TW_ASSIGN_OR_RETURN(auto text, ReadFile(file, kMaxBytes));
  auto json = ParseJson(text);
  if (!json.ok()) return json.status().WithContext(file);
  const auto bad = [&file](const std::string& what) { return Corrupt(file + ": " + what); };
  if (!json->is_object() || !json->contains("host") || !(*json)["host"].is_string() ||
      !json->contains("port") || !(*json)["port"].is_number_integer() || !json->contains("users") ||
      !(*json)["users"].is_array()) {
    return bad("expected an object with host, port and users");
  }
  TW_RETURN_IF_ERROR(CheckPort(file + ": port", (*json)["host"].get<std::string>(),
                               (*json)["port"].get<std::int64_t>()));
  std::error_code failed;
  FleetFolder fleet(fs::absolute(folder, failed).string(), (*json)["host"].get<std::string>(),
                    (*json)["port"].get<int>());
  constexpr std::int64_t kMaxNameBytes = 1024;
  const auto server = ReadFile(folder + "/" + kServerFile, kMaxNameBytes);
  if (server.ok()) fleet.server_ = Trim(*server);
  const auto hosts = fleet.hosts();
  if (std::ranges::find(hosts, fleet.server_) == hosts.end()) fleet.server_.clear();
  for (const Json& entry : (*json)["users"]) {
    FleetUser user;
    for (const auto& [key, member] :
         {std::pair("name", &user.name), std::pair("role", &user.role),
          std::pair("class", &user.device_class), std::pair("public_key", &user.public_key)}) {
      if (!entry.is_object() || !entry.contains(key) || !entry[key].is_string()) {
        return bad(std::string("a user without ") + key);
      }
      *member = entry[key].get<std::string>();
    }
    const bool class_ok = user.device_class.empty() || fleet::IsName(user.device_class);
    if (!fleet::IsName(user.name) || !IsRole(user.role) || !class_ok ||
        !fleet::IsName(user.public_key)) {
      return bad("user '" + user.name + "' is none");
    }
    fleet.users_.push_back(std::move(user));
  }
  if (!json->contains("classes")) return fleet;  // no class was opened yet
  for (const Json& entry : (*json)["classes"]) {
    if (!entry.is_string() || !fleet::IsName(entry.get<std::string>())) {
      return bad("classes: expected an array of names");
    }
    fleet.classes_.push_back(entry.get<std::string>());
  }
  return fleet;
}

Result<std::string> FleetFolder::Add(FleetUser user, const std::string& into) {
  TW_RETURN_IF_ERROR(fleet::CheckName("the user", user.name));
  if (!IsRole(user.role)) return InvalidArgument("--role: " + user.role + ", expected " + kRoles);
  if (!user.device_class.empty())
    TW_RETURN_IF_ERROR(fleet::CheckName("--class", user.device_class));
  const bool taken = std::ranges::find(users_, user.name, &FleetUser::name) != users_.end();
  if (taken || user.name == fleet::kBuilders) {
    return InvalidArgument("the user: '" + user.name + "' is taken, expected another name");
  }
  TW_ASSIGN_OR_RETURN(auto key, fleet::MakeUserKey());
  user.public_key = key.public_key;
  std::error_code failed;
  fs::create_directories(into, failed);
  const std::string base = into + "/" + user.name;
  TW_RETURN_IF_ERROR(WriteSecret(base + ".seed", key.seed + "\n"));
  TW_ASSIGN_OR_RETURN(const auto authority, ReadFile(path_ + "/ca.pem"));
  if (fs::absolute(into, failed).lexically_normal() != fs::path(path_).lexically_normal()) {
    TW_RETURN_IF_ERROR(WriteFile(into + "/ca.pem", authority));
  }
  Json profile = {{"url", url()},
                  {"user", user.name},
                  {"role", user.role},
                  {"seed_file", user.name + ".seed"},
                  {"ca_file", "ca.pem"}};
  if (!user.device_class.empty()) profile["class"] = user.device_class;
  TW_RETURN_IF_ERROR(WriteSecret(base + ".fleet", DumpJson(profile, 2) + "\n"));
  users_.push_back(std::move(user));
  TW_RETURN_IF_ERROR(Write());
  return base + ".fleet";
}

Status FleetFolder::Remove(const std::string& name) {
  if (std::erase_if(users_, [&name](const FleetUser& user) { return user.name == name; }) == 0) {
    return NotFound("no user '" + name + "' in " + path_ + "/fleet.json");
  }
  return Write();
}

Status FleetFolder::OpenClass(const std::string& device_class) {
  TW_RETURN_IF_ERROR(fleet::CheckName("the class", device_class));
  if (std::ranges::find(classes_, device_class) == classes_.end()) {
    classes_.push_back(device_class);
  }
  return Write();
}

std::vector<std::string> FleetFolder::hosts() const { return Split(host_, ','); }

Status FleetFolder::SetServer(const std::string& name) {
  const auto all = hosts();
  if (std::ranges::find(all, name) == all.end()) {
    return InvalidArgument("--server: '" + name + "', expected one of the fleet's: " + host_);
  }
  server_ = name;
  return WriteFile(path_ + "/" + kServerFile, name + "\n");
}

std::string FleetFolder::url() const {
  std::string text;
  for (const std::string& host : hosts()) {
    text += (text.empty() ? "" : ",") + ("tls://" + InUrl(host) + ":" + std::to_string(port_));
  }
  return text;
}

std::string FleetFolder::ClusterConfiguration() const {
  if (hosts().size() < 2) return {};
  // Without a certificate of the fleet's authority, a process cannot join the cluster as a server.
  const std::string port = std::to_string(port_ + kClusterPorts);
  std::vector<std::string> routes;
  for (const std::string& host : hosts()) routes.push_back("tls://" + InUrl(host) + ":" + port);
  // A server that reloads its configuration must find its current name.
  const std::string name = server_.empty() ? "" : "server_name: \"" + server_ + "\"\n";
  return name + "cluster {\n  name: \"tilewright\"\n  listen: \"0.0.0.0:" + port +
         "\"\n  tls {\n    cert_file: \"" + path_ + "/server.pem\"\n    key_file: \"" + path_ +
         "/server.key\"\n    ca_file: \"" + path_ +
         "/ca.pem\"\n    verify: true\n  }\n  no_advertise: true\n  routes: " + List(routes) +
         "\n}\n";
}

std::string FleetFolder::Configuration() const {
  // Servers that are named by loopback addresses alone are not reachable from other machines.
  const auto all = hosts();
  const bool here = std::ranges::all_of(all, [](const auto& host) { return IsLoopbackUrl(host); });
  // If a host is written as a loopback address, its server listens on that address.
  const std::string& mine = all.size() == 1 ? all.front() : server_;
  const std::string listen = here ? LoopbackAddress(mine).value_or("127.0.0.1") : "0.0.0.0";
  std::string text =
      "# Written by `tilewright fleet` from fleet.json: changes here are lost.\n"
      "listen: \"" +
      listen + ":" + std::to_string(port_) +
      "\"\n"
      "pid_file: \"" +
      process_file() +
      "\"\n"
      "max_payload: 1MB\n"
      "max_control_line: 4KB\n"
      "max_connections: 16384\n"
      "max_subscriptions: 4096\n"
      "ping_interval: \"10s\"\n"
      "tls {\n"
      "  cert_file: \"" +
      path_ +
      "/server.pem\"\n"
      "  key_file: \"" +
      path_ +
      "/server.key\"\n"
      "}\n"
      "jetstream {\n"
      "  store_dir: \"" +
      path_ +
      "/store\"\n"
      "  max_memory_store: 256MB\n"
      "  max_file_store: 8GB\n"
      "}\n" +
      ClusterConfiguration() +
      "authorization {\n"
      "  users: [\n";
  for (const FleetUser& user : users_) {
    const FleetPermissions may = PermissionsOf(user, users_, classes_);
    text += "    # " + user.name + ", " + user.role + "\n    { nkey: " + user.public_key +
            ", permissions: {\n        publish: { allow: " + List(may.publish) +
            (may.not_publish.empty() ? "" : ", deny: " + List(may.not_publish)) +
            " },\n        subscribe: { allow: " + List(may.subscribe) + " } } }\n";
  }
  return text + "  ]\n}\n";
}

Status FleetFolder::Write() const {
  Json users = Json::array();
  for (const FleetUser& user : users_) {
    users.push_back({{"name", user.name},
                     {"role", user.role},
                     {"class", user.device_class},
                     {"public_key", user.public_key}});
  }
  const Json json = {
      {"host", host_}, {"port", port_}, {"classes", classes_}, {"users", std::move(users)}};
  TW_RETURN_IF_ERROR(WriteSecret(path_ + "/fleet.json", DumpJson(json, 2) + "\n"));
  return WriteSecret(configuration(), Configuration());
}

}  // namespace tilewright::measure::fleet
