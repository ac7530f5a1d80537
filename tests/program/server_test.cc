#include "python_free_cli/report/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tilewright::report {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// What 127.0.0.1 answers to one request; empty if nobody listens.
std::string Ask(int port, const std::string& path) {
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(client, reinterpret_cast<sockaddr*>(&place), sizeof place) == 0) {
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(::send(client, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    char bytes[4096];
    for (ssize_t got = 0; (got = ::recv(client, bytes, sizeof bytes, 0)) > 0;) {
      answer.append(bytes, static_cast<std::size_t>(got));
    }
  }
  ::close(client);
  return answer;
}

TEST(WatchServerTest, AnswersOnlyWhoKnowsTheToken) {
  auto server = WatchServer::Start({[] { return Result<std::string>("the page"); },
                                    [] { return Result<std::string>("{\"live\":true}"); }});
  if (server.status().code() == StatusCode::kUnsupported) GTEST_SKIP() << server.status().message();
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
  if (server.status().code() == StatusCode::kUnsupported) GTEST_SKIP() << server.status().message();
  ASSERT_TRUE(server.ok()) << server.status().message();
  const std::string address = server->address();
  EXPECT_THAT(Ask(std::stoi(address.substr(17)), "/" + address.substr(address.find('?'))),
              testing::AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("locked")));
}

}  // namespace
}  // namespace tilewright::report
