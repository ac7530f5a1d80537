#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilewright::report {

/// Maximum length of the head of a request in bytes: the request line and all header fields.
inline constexpr std::size_t kMaxHeadBytes = 8192;
/// Maximum number of header fields of a request.
inline constexpr std::size_t kMaxHeaderFields = 64;

/// Parts of a request that the server of `tune --watch` uses. Header fields are counted and
/// ignored.
struct HttpRequest {
  std::string method;  ///< "GET"
  std::string path;    ///< without the query: "/data.json"
  std::string query;   ///< after the question mark: "token=…&wait=1"

  /// Returns the value of a query parameter as sent; empty if it is missing.
  std::string_view Parameter(std::string_view name) const;
};

/// State of a head that arrives piece by piece.
enum class HeadState { kIncomplete, kComplete, kTooLarge, kMalformed };

/// Parses the bytes received so far. request: filled if the head is complete. Bytes after the head
/// are ignored.
HeadState ParseHead(std::string_view received, HttpRequest& request);

/// Returns a response with status line, header fields that forbid caching and cross-origin use, and
/// the body.
/// status: "200 OK".
std::string HttpResponse(std::string_view status, std::string_view type, std::string_view body);

}  // namespace tilewright::report
