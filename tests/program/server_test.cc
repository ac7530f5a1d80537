#include "src/report/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <memory>
#include <vector>

#include "src/report/http_request.h"

namespace tilewright::report {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// A connection to a port of 127.0.0.1.
class Client {
 public:
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(port));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&place), sizeof place) == 0;
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { ::close(socket_); }

  /// False once the server has closed the connection.
  bool Send(const std::string& bytes) {
    return connected_ && ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                             static_cast<ssize_t>(bytes.size());
  }
  /// Receives until the server closes the connection.
  std::string Receive() {
    std::string answer;
    char bytes[4096];
    for (ssize_t got = 0; connected_ && (got = ::recv(socket_, bytes, sizeof bytes, 0)) > 0;) {
      answer.append(bytes, static_cast<std::size_t>(got));
    }
    return answer;
  }

 private:
  int socket_;
  bool connected_ = false;
};

std::string GetRequest(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
}

/// Returns the answer to one request; empty if no server listens.
std::string Ask(int port, const std::string& path) {
  Client client(port);
  EXPECT_TRUE(client.Send(GetRequest(path)));
  return client.Receive();
}

WatchServer::Pages Constant(const std::string& text) {
  return {[text] { return Result<std::string>(text); },
          [text] { return Result<std::string>(text); }};
}

int PortOf(const WatchServer& server) { return std::stoi(server.address().substr(17)); }
std::string QueryOf(const WatchServer& server) {
  return server.address().substr(server.address().find('?'));
}

/// Time limits that no test reaches.
WatchServer::Limits Endless() {
  WatchServer::Limits limits;
  limits.head_seconds = limits.answer_seconds = limits.long_poll_seconds = 1e6;
  return limits;
}

TEST(WatchServerTest, AnswersOnlyWhoKnowsTheToken) {
  auto server = WatchServer::Start({[] { return Result<std::string>("the page"); },
                                    [] { return Result<std::string>("{\"live\":true}"); }});
  ASSERT_TRUE(server.ok()) << server.status().message();
  const std::string address = server->address();
  ASSERT_THAT(address, StartsWith("http://127.0.0.1:"));
  const int port = std::stoi(address.substr(17));
  const std::string query = address.substr(address.find('?'));
  EXPECT_EQ(query.size(), std::string("?token=").size() + 32);
  EXPECT_THAT(Ask(port, "/" + query), HasSubstr("the page"));
  EXPECT_THAT(Ask(port, "/data.json" + query), HasSubstr("{\"live\":true}"));
  EXPECT_THAT(Ask(port, "/data.json" + query), HasSubstr("Cache-Control: no-store"));
  for (const std::string& wrong :
       {std::string(), std::string("?token="), query + "x", query.substr(0, query.size() - 1)}) {
    EXPECT_THAT(Ask(port, "/" + wrong), StartsWith("HTTP/1.1 403")) << wrong;
    EXPECT_THAT(Ask(port, "/data.json" + wrong), StartsWith("HTTP/1.1 403")) << wrong;
  }
  EXPECT_THAT(Ask(port, "/etc/passwd" + query), StartsWith("HTTP/1.1 404"));
}

TEST(WatchServerTest, ALookThatFailsSaysWhy) {
  auto server = WatchServer::Start({[] { return Result<std::string>(Unavailable("locked")); },
                                    [] { return Result<std::string>(Unavailable("locked")); }});
  ASSERT_TRUE(server.ok()) << server.status().message();
  const std::string address = server->address();
  EXPECT_THAT(Ask(std::stoi(address.substr(17)), "/" + address.substr(address.find('?'))),
              testing::AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("locked")));
}

TEST(WatchServerTest, SlowConnectionsDoNotDelayThePage) {
  auto server = WatchServer::Start(Constant("the page"), 0, Endless());
  ASSERT_TRUE(server.ok()) << server.status().message();
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 80; ++i) {  // more than the maximum number of open connections
    slow.push_back(std::make_unique<Client>(PortOf(*server)));
    (void)slow.back()->Send("GET / HTTP/1.1\r\nX-A: ");
    if (i % 16 == 0) {
      EXPECT_THAT(Ask(PortOf(*server), "/" + QueryOf(*server)), HasSubstr("the page")) << i;
    }
  }
  EXPECT_THAT(Ask(PortOf(*server), "/" + QueryOf(*server)), HasSubstr("the page"));
}

TEST(WatchServerTest, AHeadThatDoesNotEndIsGivenUp) {
  WatchServer::Limits limits = Endless();
  limits.head_seconds = 0.05;
  auto server = WatchServer::Start(Constant("the page"), 0, limits);
  ASSERT_TRUE(server.ok()) << server.status().message();
  Client client(PortOf(*server));
  EXPECT_TRUE(client.Send("GET / HTTP/1.1\r\nX-A: "));
  EXPECT_EQ(client.Receive(), "");  // returns because the server closes
}

double ProcessCpuSeconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

// A connection that cannot be accepted keeps the listening socket readable.
TEST(WatchServerTest, WithoutDescriptorsItWaits) {
  auto server = WatchServer::Start(Constant("the page"), 0, Endless());
  ASSERT_TRUE(server.ok()) << server.status().message();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<int> taken = {::dup(STDERR_FILENO)};
  rlimit low = before;
  low.rlim_cur = static_cast<rlim_t>(taken[0]) + 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  for (int one = 0; (one = ::dup(STDERR_FILENO)) >= 0;) taken.push_back(one);
  ::close(taken.back());  // for the client's socket
  taken.pop_back();
  Client client(PortOf(*server));
  EXPECT_TRUE(client.Send(GetRequest("/" + QueryOf(*server))));
  const double used = ProcessCpuSeconds();
  constexpr unsigned kMicroseconds = 400'000;
  ::usleep(kMicroseconds);
  EXPECT_LT(ProcessCpuSeconds() - used, 0.2);
  for (const int one : taken) ::close(one);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(client.Receive(), HasSubstr("the page"));
}

TEST(WatchServerTest, HeadersWithoutEndAreRefused) {
  auto server = WatchServer::Start(Constant("the page"), 0, Endless());
  ASSERT_TRUE(server.ok()) << server.status().message();
  for (const std::string& piece : {std::string(4096, 'a'), std::string("X-A: b\r\n")}) {
    Client client(PortOf(*server));
    EXPECT_TRUE(client.Send("GET / HTTP/1.1\r\n"));
    constexpr int kMax = 100'000'000;
    int sent = 0;
    while (sent < kMax && client.Send(piece)) sent += static_cast<int>(piece.size());
    EXPECT_LT(sent, kMax);
  }
}

// The answer is larger than the buffers of the sockets, and more input follows the head.
TEST(WatchServerTest, UnreadInputDoesNotCutTheAnswer) {
  const std::string page(std::size_t{8} << 20, 'a');
  auto server = WatchServer::Start(Constant(page), 0, Endless());
  ASSERT_TRUE(server.ok()) << server.status().message();
  Client client(PortOf(*server));
  EXPECT_TRUE(client.Send(GetRequest("/" + QueryOf(*server)) + std::string(100'000, 'b')));
  EXPECT_TRUE(client.Receive().ends_with(page));
}

TEST(WatchServerTest, EndingWaitsForNoReader) {
  WatchServer::Limits limits = Endless();
  limits.drain_seconds = 0.05;
  auto server = WatchServer::Start(Constant(std::string(std::size_t{64} << 20, 'a')), 0, limits);
  ASSERT_TRUE(server.ok()) << server.status().message();
  Client incomplete(PortOf(*server)), deaf(PortOf(*server));
  EXPECT_TRUE(incomplete.Send("GET "));
  EXPECT_TRUE(deaf.Send(GetRequest("/" + QueryOf(*server))));
  server->Finish();
  { const WatchServer ended = *std::move(server); }  // returns
}

TEST(WatchServerTest, ARequestThatWaitsIsAnsweredWhenTheJobEnds) {
  std::atomic<bool> live = true;
  const auto state = [&live] { return Result<std::string>(live ? "live" : "over"); };
  auto server = WatchServer::Start({state, state}, 0, Endless());
  ASSERT_TRUE(server.ok()) << server.status().message();
  Client client(PortOf(*server));
  EXPECT_TRUE(client.Send(GetRequest("/data.json" + QueryOf(*server) + "&wait=1")));
  live = false;
  server->Finish();
  EXPECT_THAT(client.Receive(), testing::EndsWith("over"));
}

TEST(HttpRequestTest, HeadsAreParsedWithinTheirLimits) {
  HttpRequest request;
  EXPECT_EQ(ParseHead("GET /data.json?token=ab&wait=1 HTTP/1.1\r\nHost: x\r\n\r\nrest", request),
            HeadState::kComplete);
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/data.json");
  EXPECT_EQ(request.Parameter("token"), "ab");
  EXPECT_EQ(request.Parameter("wait"), "1");
  EXPECT_EQ(request.Parameter("oken"), "");
  EXPECT_EQ(ParseHead("GET / HTTP/1.1\r\nHost: x\r\n", request), HeadState::kIncomplete);
  EXPECT_EQ(ParseHead(std::string(kMaxHeadBytes + 1, 'a'), request), HeadState::kTooLarge);
  std::string fields = "GET / HTTP/1.1\r\n";
  for (std::size_t i = 0; i < kMaxHeaderFields; ++i) fields += "A: b\r\n";
  EXPECT_EQ(ParseHead(fields, request), HeadState::kTooLarge);
  for (const char* bad : {"\r\n\r\n", "GET /\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
                          "GET http://x/ HTTP/1.1\r\n\r\n", "GET / SPDY/3\r\n\r\n"}) {
    EXPECT_EQ(ParseHead(bad, request), HeadState::kMalformed) << bad;
  }
}

}  // namespace
}  // namespace tilewright::report
