#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace tilewright::measure::fleet {

/// User that may send and receive messages in a fleet.
struct FleetUser {
  std::string name;
  std::string
      role;  ///< "tuner", "worker", "builder" (a worker that builds for others, too), "admin"
  std::string device_class;  ///< class that a worker may serve; empty: any
  std::string public_key;    ///< an NKey
  friend bool operator==(const FleetUser&, const FleetUser&) = default;
};

/// Fleet as files in a folder: users and their roles, certificates, and the server's configuration,
/// which is derived from them. Secret keys are only in the files made for their users.
class FleetFolder {
 public:
  /// Creates a fleet: certificates (by `openssl`) and the key of an administrator. host: a name or
  /// address (IPv6 with or without brackets); several with commas are the servers of a cluster.
  /// Errors: kInvalidArgument if the folder contains a fleet; kUnavailable if `openssl` is missing
  /// or fails.
  static Result<FleetFolder> Make(const std::string& folder, const std::string& hosts, int port);
  /// Opens a fleet. Errors: kNotFound if there is no fleet; kCorrupt naming the invalid member of
  /// its file.
  static Result<FleetFolder> Open(const std::string& folder);

  const std::string& path() const { return path_; }
  const std::vector<FleetUser>& users() const { return users_; }
  /// Classes of devices whose jobs may have queues.
  const std::vector<std::string>& classes() const { return classes_; }
  std::string admin_file() const { return path_ + "/admin.fleet"; }
  /// Returns the URL of all servers, separated by commas.
  std::string url() const;
  std::vector<std::string> hosts() const;
  /// Server of a cluster that this folder is for; empty: not set.
  const std::string& server() const { return server_; }
  /// Sets the server permanently. Errors: kInvalidArgument for a name that is not among hosts().
  Status SetServer(const std::string& name);
  std::string configuration() const { return path_ + "/nats-server.conf"; }
  std::string process_file() const { return path_ + "/nats-server.pid"; }

  /// Adds a user with a new key, and writes the file for `--fleet`: NAME.fleet, with NAME.seed and
  /// ca.pem next to it in `into`. Returns the file's path.
  /// Errors: kInvalidArgument for an invalid name or one that is in use.
  Result<std::string> Add(FleetUser user, const std::string& into);
  /// Removes a user. Errors: kNotFound.
  Status Remove(const std::string& name);
  /// Allows jobs to have queues for these devices. Errors: kInvalidArgument for an invalid name.
  Status OpenClass(const std::string& device_class);

  /// Returns the servers' configuration. All servers of a cluster have the same one, except for the
  /// name.
  std::string Configuration() const;
  /// Writes the fleet and its configuration, for example after the folder was moved.
  Status Write() const;

 private:
  FleetFolder(std::string path, std::string host, int port)
      : path_(std::move(path)), host_(std::move(host)), port_(port) {}
  std::string ClusterConfiguration() const;

  std::string path_, host_, server_;
  int port_;
  std::vector<FleetUser> users_;
  std::vector<std::string> classes_;
};

/// Subjects that a user of a role may publish and subscribe to, and exceptions from `publish`.
struct FleetPermissions {
  std::vector<std::string> publish, subscribe, not_publish;
};
/// Returns the permissions of a user. users: all of the fleet; classes: opened ones.
FleetPermissions PermissionsOf(const FleetUser& user, const std::vector<FleetUser>& users,
                               const std::vector<std::string>& classes);
/// Returns true if the user's jobs have queues.
bool MayTune(const FleetUser& user);

}  // namespace tilewright::measure::fleet
