#include "measure/fleet/admin/address.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "measure/fleet/setup/loopback.h"
#include "measure/fleet/subjects.h"
#include "src/base/files/file.h"
#include "src/base/json.h"
#include "src/base/strings.h"

namespace tilewright::measure::fleet {
namespace {

/// Returns the user's name; "user" if the system has no name.
std::string OwnName() {
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found);
  return found != nullptr && IsName(found->pw_name) ? found->pw_name : "user";
}

}  // namespace

Result<Address> ReadAddress(const std::string& text) {
  Address address;
  if (text.find("://") != std::string::npos) {
    address.url = text;
    address.user = OwnName();
    return address;
  }
  constexpr std::int64_t kMaxBytes = 1 << 16;
  auto contents = ReadFile(text, kMaxBytes);
  if (!contents.ok()) {
    return InvalidArgument("--fleet: " + text +
                           ": neither an address (nats://host:4222) nor a readable file: " +
                           contents.status().message());
  }
  auto json = ParseJson(*contents);
  if (!json.ok() || !json->is_object()) {
    return InvalidArgument(text + ":1: expected an object with \"url\" and \"user\"");
  }
  const std::map<std::string, std::string*> keys = {{"url", &address.url},
                                                    {"user", &address.user},
                                                    {"seed_file", &address.seed_file},
                                                    {"ca_file", &address.ca_file}};
  for (const auto& item : json->items()) {
    if (item.key() == "role" || item.key() == "class") continue;
    const auto found = keys.find(item.key());
    if (found == keys.end() || !item.value().is_string()) {
      return InvalidArgument(text + ": " + item.key() +
                             ": unknown key or no text, expected url, user, seed_file, ca_file");
    }
    *found->second = item.value().get<std::string>();
  }
  const auto folder = std::filesystem::path(text).parent_path();
  for (std::string* file : {&address.seed_file, &address.ca_file}) {
    if (!file->empty() && file->front() != '/') *file = (folder / *file).string();
  }
  if (address.url.empty()) {
    return InvalidArgument(text + ": url: missing, expected nats://host:4222");
  }
  TW_RETURN_IF_ERROR(CheckName(text + ": user", address.user));
  return address;
}

std::string MissingProtection(const Address& address) {
  const auto all = Split(address.url, ',');
  const bool tls = !address.ca_file.empty() || std::ranges::all_of(all, [](const auto& one) {
    return Trim(one).starts_with("tls://");
  });
  const bool keys = !address.seed_file.empty();
  if (IsLoopbackUrl(address.url) || (tls && keys)) return {};
  return tls ? "no key" : keys ? "no TLS" : "neither TLS nor keys";
}

}  // namespace tilewright::measure::fleet
