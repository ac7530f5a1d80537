#include "measure/message_fields.h"

#include <algorithm>
#include <cmath>

#include "src/base/printable.h"

namespace tilewright::measure {
namespace {

bool Matches(const Json& value, Json::value_t type) {
  if (type == Json::value_t::number_float) return value.is_number();
  if (type == Json::value_t::number_integer) return value.is_number_integer();
  return value.type() == type;
}

}  // namespace

Fields::Fields(const Json& json) : json_(json) {
  if (!json.is_object()) status_ = Corrupt("message: expected an object");
}

const Json& Fields::Get(const char* name, Json::value_t type) {
  static const Json kNull;
  if (!status_.ok()) return kNull;
  const auto found = json_.find(name);
  const bool there = found != json_.end();
  if (!there || !Matches(*found, type)) {
    status_ = Corrupt(std::string("message: field ") + name +
                      (there ? " is of the wrong type" : " is missing"));
    return kNull;
  }
  return *found;
}

std::string Fields::Text(const char* name) {
  const Json& value = Get(name, Json::value_t::string);
  return value.is_string() ? value.get<std::string>() : std::string();
}

double Fields::Number(const char* name) {
  const Json& value = Get(name, Json::value_t::number_float);
  return value.is_number() ? value.get<double>() : 0;
}

std::optional<double> Fields::NumberOrNull(const char* name) {
  const auto found = json_.find(name);
  if (found != json_.end() && found->is_null()) return std::nullopt;
  return Number(name);
}

std::int64_t Fields::Integer(const char* name) {
  const Json& value = Get(name, Json::value_t::number_integer);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

bool Fields::Flag(const char* name) {
  const Json& value = Get(name, Json::value_t::boolean);
  return value.is_boolean() && value.get<bool>();
}

std::vector<double> Fields::Numbers(const char* name) {
  std::vector<double> numbers;
  for (const Json& value : Get(name, Json::value_t::array)) {
    numbers.push_back(value.is_number() ? value.get<double>() : 0);
  }
  return numbers;
}

std::vector<std::int64_t> Fields::Integers(const char* name) {
  std::vector<std::int64_t> integers;
  for (const Json& value : Get(name, Json::value_t::array)) {
    integers.push_back(value.is_number_integer() ? value.get<std::int64_t>() : 0);
  }
  return integers;
}

std::map<std::string, double> Fields::Positives(const char* name) {
  constexpr std::size_t kMaxNumbers = 16, kMaxName = 64;
  std::map<std::string, double> numbers;
  if (!Has(name)) return numbers;
  for (const auto& item : Get(name, Json::value_t::object).items()) {
    const double value = item.value().is_number() ? item.value().get<double>() : 0;
    const bool fine = std::isfinite(value) && value > 0 && item.key().size() <= kMaxName;
    if (!fine || numbers.size() == kMaxNumbers) {
      Fail(Corrupt("message: " + std::string(name) + " has what is no positive number"));
      break;
    }
    numbers[Printable(item.key())] = value;
  }
  return numbers;
}

int Fields::Threads() {
  constexpr std::int64_t kMaxThreads = 4096;
  const std::int64_t threads = Integer("threads");
  if (threads >= 1 && threads <= kMaxThreads) return static_cast<int>(threads);
  Fail(Corrupt("message: " + std::to_string(threads) + " threads, expected 1 to " +
               std::to_string(kMaxThreads)));
  return 1;
}

double Finite(double value) {
  if (std::isnan(value)) return 1e300;
  return std::clamp(value, -1e300, 1e300);
}

}  // namespace tilewright::measure
