#include "src/report/http_request.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::report {

std::string_view HttpRequest::Parameter(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::size_t equals = one.find('=');
    if (equals != std::string_view::npos && one.substr(0, equals) == name) {
      return one.substr(equals + 1);
    }
  }
  return {};
}

HeadState ParseHead(std::string_view received, HttpRequest& request) {
  const std::size_t end = received.find("\r\n\r\n");
  const std::string_view head = received.substr(0, end);
  const auto fields = static_cast<std::size_t>(std::ranges::count(head, '\n'));
  if (head.size() > kMaxHeadBytes || fields > kMaxHeaderFields) return HeadState::kTooLarge;
  if (end == std::string_view::npos) return HeadState::kIncomplete;
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last == first) return HeadState::kMalformed;
  if (!line.substr(last + 1).starts_with("HTTP/1.")) return HeadState::kMalformed;
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (target.empty() || target.front() != '/') return HeadState::kMalformed;
  const std::size_t mark = std::min(target.find('?'), target.size());
  request.method = line.substr(0, first);
  request.path = target.substr(0, mark);
  request.query = target.substr(std::min(mark + 1, target.size()));
  return HeadState::kComplete;
}

std::string HttpResponse(std::string_view status, std::string_view type, std::string_view body) {
  std::string text = fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n"
      "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
      "X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n\r\n",
      status, type, body.size());
  text += body;
  return text;
}

}  // namespace tilewright::report
