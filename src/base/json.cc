#include "src/base/json.h"

#include <algorithm>
#include <string>

namespace tilewright {
namespace {

// Printing and copying a value recurse: a deeper one would overflow the stack.
constexpr int kMaxDepth = 100;

// Builder of a value by the library's SAX interface, which reports the error position without
// throwing.
class Builder : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  explicit Builder(Json& value) : json_sax_dom_parser(value, false) {}
  bool start_object(std::size_t size) { return Enter() && json_sax_dom_parser::start_object(size); }
  bool start_array(std::size_t size) { return Enter() && json_sax_dom_parser::start_array(size); }
  bool end_object() { return Leave() && json_sax_dom_parser::end_object(); }
  bool end_array() { return Leave() && json_sax_dom_parser::end_array(); }
  template <typename E>
  bool parse_error(std::size_t position, const std::string& token, const E& error) {
    position_ = position;
    message_ = error.what();
    return json_sax_dom_parser::parse_error(position, token, error);
  }
  bool too_deep() const { return depth_ > kMaxDepth; }
  std::size_t position_ = 0;
  std::string message_;

 private:
  bool Enter() { return ++depth_ <= kMaxDepth; }
  bool Leave() {
    --depth_;
    return true;
  }
  int depth_ = 0;
};

}  // namespace

Result<Json> ParseJson(std::string_view text) {
  Json value;
  Builder builder(value);
  if (Json::sax_parse(text.begin(), text.end(), &builder)) return value;
  if (builder.too_deep()) {
    return InvalidArgument("JSON whose lists and objects are more than " +
                           std::to_string(kMaxDepth) + " deep");
  }
  const std::size_t position = std::min(builder.position_, text.size());
  const auto before = text.substr(0, position);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = position - (start == std::string_view::npos ? 0 : start + 1);
  std::string reason = builder.message_;
  if (const auto at = reason.rfind(": "); at != std::string::npos) reason = reason.substr(at + 2);
  constexpr std::size_t kMaxShown = 200;  // it contains the token, which may be the whole file
  if (reason.size() > kMaxShown) reason = reason.substr(0, kMaxShown) + "…";
  return InvalidArgument("line " + std::to_string(line) + ", column " + std::to_string(column) +
                         ": not valid JSON: " + reason);
}

std::string DumpJson(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tilewright
