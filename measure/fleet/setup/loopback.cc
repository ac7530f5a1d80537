#include "measure/fleet/setup/loopback.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "src/base/strings.h"

namespace tilewright::measure::fleet {
namespace {

/// Returns the host of one URL, without brackets; "" for an invalid URL.
std::string HostOf(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  // User information before the host may contain text that looks like a host.
  const std::size_t at = url.rfind('@');
  if (at != std::string_view::npos) url.remove_prefix(at + 1);
  if (url.starts_with('[')) {
    const std::size_t end = url.find(']');
    return std::string(end == std::string_view::npos ? "" : url.substr(1, end - 1));
  }
  const std::size_t colon = url.rfind(':');
  if (colon != std::string_view::npos && url.find(':') != colon) {
    // Several colons without brackets: an IPv6 address without a port, or an invalid text. With a
    // scheme the last group may be a port: "nats://::1" stays ambiguous.
    in6_addr six{};
    const std::string bare(url);
    const bool address =
        scheme == std::string_view::npos && ::inet_pton(AF_INET6, bare.c_str(), &six) == 1;
    return address ? bare : std::string();
  }
  return std::string(url.substr(0, colon));
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) {
    constexpr std::uint32_t kLoopback = 127;
    return ntohl(four.s_addr) >> 24 == kLoopback;
  }
  return ::inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

}  // namespace

std::optional<std::string> LoopbackAddress(const std::string& host) {
  std::string bare = HostOf(host);
  if (bare == "localhost" || !IsLoopback(bare)) return std::nullopt;
  return bare.find(':') == std::string::npos ? bare : "[" + bare + "]";
}

bool IsLoopbackUrl(const std::string& url) {
  const auto all = Split(url, ',');
  return std::ranges::all_of(all,
                             [](const std::string& one) { return IsLoopback(HostOf(Trim(one))); });
}

}  // namespace tilewright::measure::fleet
