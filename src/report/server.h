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
    std::function<Result<std::string>()> data;  ///< JSON that an open page redraws itself from
  };
  /// Limits of one server. Every connection answers one request and is closed.
  struct Limits {
    std::size_t connections = 32;  ///< at once; a further one replaces the oldest incomplete one
    double head_seconds = 2;       ///< from the connection to the end of the request's head
    double answer_seconds = 10;    ///< for sending the answer
    double long_poll_seconds = 2;  ///< a request with wait=1 is answered this late, or at the end
    double drain_seconds = 0.25;   ///< most time that ending spends on sending last answers
  };
  /// port: 0 picks a free one.
  /// Errors: kUnavailable if the port is taken or the system has no socket or thread left.
  static Result<WatchServer> Start(Pages pages, int port, const Limits& limits);
  static Result<WatchServer> Start(Pages pages, int port = 0) {
    return Start(std::move(pages), port, Limits());
  }
  WatchServer(WatchServer&&) noexcept;
  WatchServer& operator=(WatchServer&&) noexcept;
  /// Answers the requests that wait, for at most drain_seconds, and closes all connections.
  ~WatchServer();

  /// With the token: "http://127.0.0.1:40123/?token=…".
  const std::string& address() const;
  /// Answers all requests that wait (wait=1) now, since the job has ended. If a reader asked in the
  /// last seconds and none waits, blocks for its next request, at most drain_seconds.
  void Finish();

 private:
  struct Impl;
  explicit WatchServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Whether two texts are equal, in a time that says nothing about where they differ.
bool EqualConstantTime(std::string_view a, std::string_view b);

}  // namespace tilewright::report
