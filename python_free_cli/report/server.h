#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright::report {

/// Serves a report while its job runs: on 127.0.0.1 only, to who knows the token in the address.
/// Requests are answered one at a time, on a thread of the server's.
class WatchServer {
 public:
  /// What is served; called on the server's thread.
  struct Pages {
    std::function<Result<std::string>()> page;  ///< HTML
    std::function<Result<std::string>()> data;  ///< JSON, what the page draws anew
  };
  /// port: 0 picks a free one.
  /// Errors: kUnsupported if this program was built without cpp-httplib, with what to install;
  /// kUnavailable if the port is taken.
  static Result<WatchServer> Start(Pages pages, int port = 0);
  WatchServer(WatchServer&&) noexcept;
  WatchServer& operator=(WatchServer&&) noexcept;
  ~WatchServer();

  /// With the token: "http://127.0.0.1:40123/?token=…".
  const std::string& address() const;
  /// Waits until a reader who has asked within the last seconds has asked once more, to learn how
  /// the job ended; at most a few seconds, not at all without a reader.
  void WaitForLastLook();

 private:
  struct Impl;
  explicit WatchServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Whether two texts are equal, in a time that says nothing about where they differ.
bool SameSecret(std::string_view a, std::string_view b);

}  // namespace tilewright::report
