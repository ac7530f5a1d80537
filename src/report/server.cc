// HTTP server of the page of a running job.
//
// One thread, one poll loop, sockets that never block. A connection is in one of four states: its
// head arrives, its request waits (wait=1: an open page sends its next request after each answer,
// and the server sets the pace), its answer is sent, or the rest of its input is discarded. Each
// state has a deadline, a head has a maximum size, and the number of connections is limited. At the
// limit, a new connection replaces the oldest answered one, else the oldest one whose head is
// incomplete, else the oldest. Therefore connections that send or read slowly, or never, cost the
// job nothing and block no other reader.

#include "src/report/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/clock.h"
#include "src/base/files/descriptor.h"
#include "src/base/files/file.h"
#include "src/base/thread.h"
#include "src/report/http_request.h"

namespace tilewright::report {
namespace {

constexpr double kReaderSeconds = 8;  // an open page sends its next request within this time
constexpr double kLongestPollSeconds = 1;
constexpr double kDrainSeconds = 1;  // for a reader to close its end after the answer
constexpr std::size_t kMaxDrainedBytes = std::size_t{4} << 20;
constexpr int kBacklog = 32;
constexpr int kAcceptsPerTurn = 16;
// Pause of accepting if the system has no descriptor or memory for a connection. The listening
// socket stays readable, so poll would return at once.
constexpr double kAcceptPauseSeconds = 1;
constexpr std::string_view kPlain = "text/plain; charset=utf-8";

std::string MakeToken() {
  std::array<unsigned char, 24> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), kVariant);
  text.pop_back();  // the terminating zero
  return text;
}

/// Opens a listening socket on 127.0.0.1, which the caller closes. Errors: kUnavailable.
Result<int> ListenOn(int port, int& chosen) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return Unavailable("--watch: no socket: " + ErrnoReason());
  const int yes = 1;
  (void)::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const address = reinterpret_cast<sockaddr*>(&place);
  socklen_t size = sizeof place;
  if (::bind(socket, address, size) != 0 || ::listen(socket, kBacklog) != 0 ||
      ::getsockname(socket, address, &size) != 0) {
    const std::string reason = ErrnoReason();
    ::close(socket);
    return Unavailable("--watch: port " + std::to_string(port) + " of 127.0.0.1: " + reason);
  }
  chosen = ntohs(place.sin_port);
  return socket;
}

}  // namespace

bool EqualConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

struct WatchServer::Impl {
  struct Connection {
    enum class State { kHead, kHeld, kAnswer, kDrain };
    Descriptor socket;
    State state = State::kHead;
    double deadline = 0;  // of the state
    std::string received;
    std::string answer;
    std::size_t sent = 0;
    std::size_t drained = 0;
    bool last = false;  // the answer says how the job ended
    bool done = false;  // to be closed
  };

  Pages pages;
  Limits limits;
  std::string token, address;
  Descriptor listener, wake;
  SystemClock clock;
  std::list<Connection> connections;  // of the server's thread, oldest first
  double accept_from = -1e9;          // of the server's thread; see kAcceptPauseSeconds
  std::mutex mutex;                   // guards the following members
  std::condition_variable told;
  bool finished = false, stop = false;
  bool sent_final_answer = false;  // an answer made after Finish was sent
  double last_request = -1e9;
  std::thread thread;

  void Wake() {
    const std::uint64_t one = 1;
    (void)!::write(wake.get(), &one, sizeof one);
  }

  void Reply(Connection& connection, std::string text) {
    connection.state = Connection::State::kAnswer;
    connection.deadline = clock.MonotonicSeconds() + limits.answer_seconds;
    connection.answer = std::move(text);
    Send(connection);
  }

  void ReplyWith(Connection& connection, const Result<std::string>& made, std::string_view type) {
    Reply(connection, made.ok() ? HttpResponse("200 OK", type, *made)
                                : HttpResponse("503 Service Unavailable", kPlain,
                                               made.status().message() + "\n"));
  }

  void ReplyData(Connection& connection) {
    {
      const std::lock_guard lock(mutex);
      connection.last = finished;
    }
    ReplyWith(connection, pages.data(), "application/json");
  }

  void Answer(Connection& connection, const HttpRequest& request) {
    if (!EqualConstantTime(request.Parameter("token"), token)) {
      return Reply(connection,
                   HttpResponse("403 Forbidden", kPlain, "the address lacks its token\n"));
    }
    if (request.method != "GET") {
      return Reply(connection,
                   HttpResponse("405 Method Not Allowed", kPlain, "expected a GET request\n"));
    }
    const bool data = request.path == "/data.json";
    if (!data && request.path != "/") {
      return Reply(connection, HttpResponse("404 Not Found", kPlain, "no such page\n"));
    }
    bool over = false;
    {
      const std::lock_guard lock(mutex);
      last_request = clock.MonotonicSeconds();
      over = finished || stop;
    }
    if (!data) return ReplyWith(connection, pages.page(), "text/html; charset=utf-8");
    if (request.Parameter("wait") != "1" || over) return ReplyData(connection);
    connection.state = Connection::State::kHeld;
    connection.deadline = clock.MonotonicSeconds() + limits.long_poll_seconds;
  }

  void Receive(Connection& connection) {
    char bytes[4096];
    const ssize_t got = ::recv(connection.socket.get(), bytes, sizeof bytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    // The reader has closed the connection; bytes after a complete head are ignored.
    if (got <= 0) connection.done = true;
    if (got > 0 && connection.state == Connection::State::kDrain) {
      connection.drained += static_cast<std::size_t>(got);
      if (connection.drained > kMaxDrainedBytes) connection.done = true;
    }
    if (got <= 0 || connection.state != Connection::State::kHead) return;
    connection.received.append(bytes, static_cast<std::size_t>(got));
    HttpRequest request;
    switch (ParseHead(connection.received, request)) {
      case HeadState::kIncomplete:
        return;
      case HeadState::kTooLarge:
        return Reply(connection, HttpResponse("431 Request Header Fields Too Large", kPlain,
                                              "the head of the request is too large\n"));
      case HeadState::kMalformed:
        return Reply(connection, HttpResponse("400 Bad Request", kPlain, "expected HTTP/1.1\n"));
      case HeadState::kComplete:
        return Answer(connection, request);
    }
  }

  void Send(Connection& connection) {
    while (connection.sent < connection.answer.size()) {
      const ssize_t sent =
          ::send(connection.socket.get(), connection.answer.data() + connection.sent,
                 connection.answer.size() - connection.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (sent < 0) connection.done = true;
      if (sent < 0) return;
      connection.sent += static_cast<std::size_t>(sent);
    }
    // To close with unread input would reset the connection, and the answer might be lost.
    (void)::shutdown(connection.socket.get(), SHUT_WR);
    connection.state = Connection::State::kDrain;
    connection.deadline = clock.MonotonicSeconds() + kDrainSeconds;
    if (!connection.last) return;
    const std::lock_guard lock(mutex);
    sent_final_answer = true;
    told.notify_all();
  }

  std::list<Connection>::iterator LeastNeeded() {
    for (const auto state : {Connection::State::kDrain, Connection::State::kHead}) {
      const auto oldest = std::ranges::find(connections, state, &Connection::state);
      if (oldest != connections.end()) return oldest;
    }
    return connections.begin();
  }

  void Accept() {
    for (int i = 0; i < kAcceptsPerTurn; ++i) {
      Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket.get() < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
          accept_from = clock.MonotonicSeconds() + kAcceptPauseSeconds;
        }
        return;
      }
      if (connections.size() >= limits.connections) {
        connections.erase(LeastNeeded());
      }
      Connection connection;
      connection.socket = std::move(socket);
      connection.deadline = clock.MonotonicSeconds() + limits.head_seconds;
      connections.push_back(std::move(connection));
      // A request that has arrived already does not depend on the connections after it.
      Receive(connections.back());
    }
  }

  /// Answers requests that have waited long enough, or with `all` every waiting one; closes
  /// finished connections.
  void Settle(bool all) {
    const double now = clock.MonotonicSeconds();
    for (Connection& connection : connections) {
      if (connection.done) continue;
      if (connection.state == Connection::State::kHeld && (all || now >= connection.deadline)) {
        ReplyData(connection);
      } else if (now >= connection.deadline) {
        connection.done = true;
      }
    }
    std::erase_if(connections, [](const Connection& one) { return one.done; });
  }

  /// Waits for sockets until `deadline`, and serves those that are ready. accepting: also accepts
  /// new ones.
  void Turn(double deadline, bool accepting) {
    std::vector<pollfd> waiting = {{wake.get(), POLLIN, 0}};
    if (accepting && clock.MonotonicSeconds() < accept_from) {
      accepting = false;
      deadline = std::min(deadline, accept_from);
    }
    if (accepting) waiting.push_back({listener.get(), POLLIN, 0});
    const std::size_t first = waiting.size();
    for (const Connection& connection : connections) {
      const bool answering = connection.state == Connection::State::kAnswer;
      waiting.push_back(
          {connection.socket.get(), static_cast<short>(answering ? POLLOUT : POLLIN), 0});
      deadline = std::min(deadline, connection.deadline);
    }
    const double seconds = std::clamp(deadline - clock.MonotonicSeconds(), 0.0, 10.0);
    constexpr double kThousand = 1000;
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(std::ceil(kThousand * seconds))) <=
        0) {
      return;
    }
    if (waiting[0].revents != 0) {
      std::uint64_t count = 0;
      (void)!::read(wake.get(), &count, sizeof count);
    }
    std::size_t i = first;
    for (Connection& connection : connections) {
      if (waiting[i++].revents == 0) continue;
      connection.state == Connection::State::kAnswer ? Send(connection) : Receive(connection);
    }
    if (accepting && waiting[1].revents != 0) Accept();
  }

  void Loop() {
    while (true) {
      bool over = false, ending = false;
      {
        const std::lock_guard lock(mutex);
        over = finished || stop;
        ending = stop;
      }
      Settle(over);
      if (ending) break;
      Turn(clock.MonotonicSeconds() + kLongestPollSeconds, true);
    }
    // Only connections that are receiving an answer remain.
    std::erase_if(connections, [](const Connection& connection) {
      return connection.state != Connection::State::kAnswer;
    });
    const double end = clock.MonotonicSeconds() + limits.drain_seconds;
    while (!connections.empty() && clock.MonotonicSeconds() < end) {
      Turn(end, false);
      Settle(true);
    }
    connections.clear();
  }
};

Result<WatchServer> WatchServer::Start(Pages pages, int port, const Limits& limits) {
  if (sodium_init() < 0) return Internal("libsodium does not start");
  auto impl = std::make_unique<Impl>();
  impl->pages = std::move(pages);
  impl->limits = limits;
  impl->token = MakeToken();
  TW_ASSIGN_OR_RETURN(auto listener, ListenOn(port, port));
  impl->listener = Descriptor(listener);
  impl->wake = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (impl->wake.get() < 0) return Unavailable("--watch: no event descriptor: " + ErrnoReason());
  impl->address = "http://127.0.0.1:" + std::to_string(port) + "/?token=" + impl->token;
  TW_ASSIGN_OR_RETURN(impl->thread, StartThread([self = impl.get()] { self->Loop(); }));
  return WatchServer(std::move(impl));
}

void WatchServer::Finish() {
  Impl& impl = *impl_;
  std::unique_lock lock(impl.mutex);
  impl.finished = true;
  impl.Wake();
  if (impl.clock.MonotonicSeconds() - impl.last_request > kReaderSeconds) return;
  impl.told.wait_for(lock, std::chrono::duration<double>(impl.limits.drain_seconds),
                     [&impl] { return impl.sent_final_answer; });
}

WatchServer::~WatchServer() {
  if (impl_ == nullptr) return;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->Wake();
  if (impl_->thread.joinable()) impl_->thread.join();
}
const std::string& WatchServer::address() const { return impl_->address; }

WatchServer::WatchServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WatchServer::WatchServer(WatchServer&&) noexcept = default;
WatchServer& WatchServer::operator=(WatchServer&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

}  // namespace tilewright::report
