#include "src/graph/onnx/import_diagnostics.h"

#include <algorithm>

namespace tilewright {
namespace {

constexpr std::size_t kMaxKept = 24;        // the user fixes these and imports the file again
constexpr std::size_t kMaxPlacesNamed = 4;  // for each reason
constexpr std::size_t kMaxOperatorsNamed = 64;
constexpr std::size_t kMaxOpenNamed = 4;     // inputs with open sizes; a cache has two per layer
constexpr std::size_t kMaxOptionsNamed = 8;  // options that would bind them

// Returns for example "a, b and 3 more".
std::string JoinLimited(const std::vector<std::string>& texts, std::size_t most,
                        std::string_view link, std::string_view what) {
  std::string list;
  for (std::size_t i = 0; i < std::min(most, texts.size()); ++i) {
    list += (i == 0 ? std::string() : std::string(link)) + texts[i];
  }
  if (texts.size() > most) {
    list += std::string(link) + "and " + std::to_string(texts.size() - most) + std::string(what);
  }
  return list;
}

}  // namespace

void ImportDiagnostics::AddOperator(const std::string& op, std::string_view hint) {
  Operator& known = operators_[op];
  ++known.nodes;
  known.hint = hint;
}

void ImportDiagnostics::AddOpen(const std::string& dimensions,
                                const std::vector<std::string>& options) {
  open_.push_back(dimensions);
  for (const std::string& option : options) {
    if (std::ranges::find(options_, option) == options_.end()) options_.push_back(option);
  }
}

void ImportDiagnostics::Add(const std::string& place, const Status& status) {
  if (status.code() != StatusCode::kUnsupported) code_ = status.code();
  const auto same = std::ranges::find(others_, status.message(), &Other::reason);
  if (same != others_.end() && !place.empty()) {
    if (same->places.size() < kMaxPlacesNamed) {
      same->places.push_back(place);
    } else {
      ++same->more;
    }
  } else if (others_.size() < kMaxKept) {
    others_.push_back({status.message(), {place}});
  } else {
    ++not_kept_;
  }
}

std::string ImportDiagnostics::TextOf(const Other& other) {
  std::string text;
  for (std::size_t i = 0; i < other.places.size(); ++i) {
    if (!other.places[i].empty()) text += (i == 0 ? "" : ", ") + other.places[i];
  }
  if (other.more > 0) text += " and " + std::to_string(other.more) + " more";
  return text.empty() ? other.reason : text + ": " + other.reason;
}

std::size_t ImportDiagnostics::size() const {
  return (operators_.empty() ? 0 : 1) + (open_.empty() ? 0 : 1) + others_.size() + not_kept_;
}

std::string ImportDiagnostics::OperatorText() const {
  std::string text = std::to_string(operators_.size()) +
                     (operators_.size() == 1 ? " operator is" : " operators are") +
                     " not supported: ";
  std::string hints;
  std::vector<std::string> counted;
  for (const auto& [op, known] : operators_) {
    if (hints.find(known.hint) == std::string::npos) hints += known.hint;
    counted.push_back(op + " (" + std::to_string(known.nodes) +
                      (known.nodes == 1 ? " node)" : " nodes)"));
  }
  return text + JoinLimited(counted, kMaxOperatorsNamed, ", ", " more") + hints;
}

std::string ImportDiagnostics::OpenText() const {
  return JoinLimited(open_, kMaxOpenNamed, "; ", " more inputs") +
         ": no fixed size; give the sizes that the network is to run with: " +
         JoinLimited(options_, kMaxOptionsNamed, " ", " more");
}

Status ImportDiagnostics::ToStatus() const {
  if (empty()) return Status();
  std::vector<std::string> texts;
  if (!operators_.empty()) texts.push_back(OperatorText());
  if (!open_.empty()) texts.push_back(OpenText());
  for (const Other& other : others_) texts.push_back(TextOf(other));
  if (size() == 1) return Status(code_, texts[0]);
  std::string all = std::to_string(size()) + " refusals: ";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    all += (i == 0 ? "(" : "; (") + std::to_string(i + 1) + ") " + texts[i];
  }
  if (not_kept_ > 0) all += "; and " + std::to_string(not_kept_) + " more";
  return Status(code_, all);
}

}  // namespace tilewright
