#include "src/tensor/open_workload.h"

#include <algorithm>

namespace tilewright {
namespace {

constexpr std::string_view kPrefix = "open(";
constexpr std::size_t kHashDigits = 40;

bool IsHash(std::string_view text) {
  return text.size() == kHashDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

bool IsOpenName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxOpenName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

Workload OpenWorkload(std::string_view name, std::string_view hash) {
  Workload workload;
  workload.op = OpKind::kExpression;
  workload.open = std::string(kPrefix) + std::string(name) + "," + std::string(hash) + ")";
  return workload;
}

bool IsOpenKey(std::string_view key) { return key.starts_with(kPrefix); }

Result<Workload> ParseOpenWorkload(std::string_view key) {
  const std::size_t comma = key.find(',');
  const bool fine = IsOpenKey(key) && key.ends_with(')') && comma != std::string_view::npos &&
                    IsOpenName(key.substr(kPrefix.size(), comma - kPrefix.size())) &&
                    IsHash(key.substr(comma + 1, key.size() - comma - 2));
  if (!fine) {
    return InvalidArgument("workload '" + std::string(key.substr(0, 100)) +
                           "': expected open(NAME,HASH) with 40 hexadecimal digits");
  }
  return OpenWorkload(key.substr(kPrefix.size(), comma - kPrefix.size()),
                      key.substr(comma + 1, kHashDigits));
}

bool IsOpen(const Workload& workload) { return !workload.open.empty(); }

std::string OpenNameOf(const Workload& workload) {
  const std::string& key = workload.open;
  return key.substr(kPrefix.size(), key.find(',') - kPrefix.size());
}

}  // namespace tilewright
