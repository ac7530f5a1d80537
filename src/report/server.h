#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright::report {

/// HTTP server of the report of a running job: on 127.0.0.1 only, for readers that send the token
/// of the address. One thread serves all connections with non-blocking sockets, so a slow
/// connection delays no other one. Requests are answered one at a time.
class WatchServer {
 public:
  /// Contents to serve. The functions run on the server's thread.
  struct Pages {
    std::function<Result<std::string>()> page;  ///< HTML
    std::function<Result<std::string>()> data;  ///< JSON from which an open page redraws itself
  };
  /// Limits of one server. Every connection answers one request and is closed.
  struct Limits {
    std::size_t connections = 32;  ///< at once; another replaces an answered or incomplete one
    double head_seconds = 2;       ///< from the connection to the end of the request's head
    double answer_seconds = 10;    ///< for sending the answer
    double long_poll_seconds = 2;  ///< a request with wait=1 is answered after this time
    double drain_seconds = 0.25;   ///< maximum time for sending last answers at the end
  };
  /// Starts a server. port: 0 selects a free one.
  /// Errors: kUnavailable if the port is taken or the system has no socket or thread left.
  static Result<WatchServer> Start(Pages pages, int port, const Limits& limits);
  static Result<WatchServer> Start(Pages pages, int port = 0) {
    return Start(std::move(pages), port, Limits());
  }
  WatchServer(WatchServer&&) noexcept;
  WatchServer& operator=(WatchServer&&) noexcept;
  /// Answers the waiting requests within drain_seconds, and closes all connections.
  ~WatchServer();

  /// Returns the address with the token: "http://127.0.0.1:40123/?token=…".
  const std::string& address() const;
  /// Answers all waiting requests (wait=1) now, because the job has ended. If a reader sent a
  /// request in the last seconds and none waits, blocks for its next request, at most
  /// drain_seconds.
  void Finish();

 private:
  struct Impl;
  explicit WatchServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Compares two texts in a time that does not depend on the position of a difference.
bool EqualConstantTime(std::string_view a, std::string_view b);

}  // namespace tilewright::report
