#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace tilewright::cli {

/// Somebody who may speak in a fleet.
struct FleetUser {
  std::string name;
  std::string
      role;  ///< "tuner", "worker", "builder" (a worker that builds for others, too), "admin"
  std::string device_class;  ///< of a worker; empty: of any
  std::string public_key;    ///< an NKey
  friend bool operator==(const FleetUser&, const FleetUser&) = default;
};

/// A fleet as files in a folder: who may do what, certificates, and the server's configuration,
/// which follows from them. Secret keys are only in the files made for their users.
class FleetFolder {
 public:
  /// A new one: certificates (by `openssl`) and the key of an administrator. host: a name or
  /// address (IPv6 with or without brackets); several with commas are the servers of a cluster.
  /// Errors: kInvalidArgument if there is one; kUnavailable if `openssl` is missing or fails.
  static Result<FleetFolder> Make(const std::string& folder, const std::string& hosts, int port);
  /// Errors: kNotFound if there is none; kCorrupt naming what is wrong in its file.
  static Result<FleetFolder> Open(const std::string& folder);

  const std::string& path() const { return path_; }
  const std::vector<FleetUser>& users() const { return users_; }
  /// Classes of devices whose jobs may have queues.
  const std::vector<std::string>& classes() const { return classes_; }
  std::string admin_file() const { return path_ + "/admin.fleet"; }
  /// Of all its servers, with commas.
  std::string url() const;
  std::vector<std::string> hosts() const;
  /// Which of a cluster's servers this folder is for; empty: nobody has said so.
  const std::string& server() const { return server_; }
  /// Says so, for good. Errors: kInvalidArgument for none of hosts().
  Status SetServer(const std::string& name);
  std::string configuration() const { return path_ + "/nats-server.conf"; }
  std::string process_file() const { return path_ + "/nats-server.pid"; }

  /// Adds a user with a new key, and writes the file that `--fleet` takes: NAME.fleet, with
  /// NAME.seed and ca.pem beside it in `into`. returns the file's path.
  /// Errors: kInvalidArgument for a name that is taken, or is none.
  Result<std::string> Add(FleetUser user, const std::string& into);
  /// Errors: kNotFound.
  Status Remove(const std::string& name);
  /// Jobs may have queues for these devices from now on. Errors: kInvalidArgument for no name.
  Status OpenClass(const std::string& device_class);

  /// The servers' configuration: the same for all of a cluster, each is told its name.
  std::string Configuration() const;
  /// Writes it and what it follows from: after the folder was moved, say.
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

/// What a user of a role may publish and subscribe to, as subjects; and what of `publish` it may
/// not.
struct FleetPermissions {
  std::vector<std::string> publish, subscribe, not_publish;
};
/// users: all of the fleet; classes: those that were opened.
FleetPermissions PermissionsOf(const FleetUser& user, const std::vector<FleetUser>& users,
                               const std::vector<std::string>& classes);
/// Whether a user's jobs have queues.
bool MayTune(const FleetUser& user);

}  // namespace tilewright::cli
