#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/base/status.h"

// Description of a struct as a JSON object. One function per struct names its members in their
// order; JsonWriter calls it to write a value, JsonReader to read and check one:
//
//   void Describe(auto& fields, DescribedAs<Reply> auto& reply) {
//     fields("ticket", reply.ticket);
//     fields("threads", reply.threads, RangeCodec<int>{1, 4096});
//     fields.Optional("fault", reply.fault != Fault(), reply.fault);
//     fields.Require(reply.threads == 1 || reply.fault == Fault(), "a fault has one thread");
//   }
//
// The third argument is the codec of the member, an object with two functions:
//   Json Write(const T& value) const;
//   void Read(JsonReader& reader, const char* name, const Json& json, T& value) const;
// Read reports errors to the reader. Included by .cc files only.

namespace tilewright {

/// A struct, or a constant one: the parameter of its Describe function.
template <typename T, typename S>
concept DescribedAs = std::same_as<std::remove_const_t<T>, S>;

class JsonReader;

/// Default codec: booleans, texts, numbers, lists of them, and structs with a Describe function.
struct PlainCodec {
  template <typename T>
  Json Write(const T& value) const;
  template <typename T>
  void Read(JsonReader& reader, const char* name, const Json& json, T& value) const;
};

/// Writes the members of one object, or without names the items of one array.
class JsonWriter {
 public:
  /// json: the object or array to which the members are added.
  explicit JsonWriter(Json json = Json::object()) : json_(std::move(json)) {}

  template <typename T, typename Codec = PlainCodec>
  void operator()(const char* name, const T& value, const Codec& codec = {}) {
    if (json_.is_array()) {
      json_.push_back(codec.Write(value));
    } else {
      json_[name] = codec.Write(value);
    }
  }
  /// Writes the member if `present`, which it returns.
  template <typename T, typename Codec = PlainCodec>
  bool Optional(const char* name, bool present, const T& value, const Codec& codec = {}) {
    if (present) (*this)(name, value, codec);
    return present;
  }
  template <typename T, typename Codec = PlainCodec>
  void Optional(const char* name, const std::optional<T>& value, const Codec& codec = {}) {
    if (value) (*this)(name, *value, codec);
  }
  void Require(bool /*holds*/, std::string_view /*problem*/) {}
  Json Take() { return std::move(json_); }

 private:
  Json json_;
};

/// Reads the members of one object, or without names the items of one array. Remembers the first
/// error, after which it reads no more. Errors: kCorrupt, "context: field NAME PROBLEM".
class JsonReader {
 public:
  /// json: lives longer than the reader. context: begins every error text.
  JsonReader(const Json& json, const char* context) : json_(json), context_(context) {}

  template <typename T, typename Codec = PlainCodec>
  void operator()(const char* name, T& value, const Codec& codec = {}) {
    if (!status_.ok()) return;
    if (const Json* member = Find(name)) {
      codec.Read(*this, name, *member, value);
    } else {
      Fail(name, "is missing");
    }
  }
  /// Reads the member if the object has it, and returns whether it does. Messages of earlier
  /// versions lack members.
  template <typename T, typename Codec = PlainCodec>
  bool Optional(const char* name, bool /*present*/, T& value, const Codec& codec = {}) {
    const bool present = json_.is_object() && json_.contains(name);
    if (present) (*this)(name, value, codec);
    return present;
  }
  template <typename T, typename Codec = PlainCodec>
  void Optional(const char* name, std::optional<T>& value, const Codec& codec = {}) {
    T read{};
    if (Optional(name, true, read, codec)) value = std::move(read);
  }
  /// A condition on members that were read before.
  void Require(bool holds, std::string_view problem) {
    if (!holds) Fail(Corrupt(Text(problem)));
  }
  void Fail(const Status& status) {
    if (status_.ok()) status_ = status;
  }
  void Fail(const char* name, std::string_view problem) {
    Fail(Corrupt(Text("field " + std::string(name) + " " + std::string(problem))));
  }
  /// False, and an error, unless the kind of a member is the expected one.
  bool Expect(const char* name, bool expected) {
    if (!expected) Fail(name, "is of the wrong type");
    return expected && ok();
  }
  /// An array whose items were not all read has too many.
  void ExpectEnd(const char* name) { Expect(name, next_ == json_.size()); }
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  const char* context() const { return context_; }

 private:
  const Json* Find(const char* name) {
    if (json_.is_array()) return next_ < json_.size() ? &json_[next_++] : nullptr;
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }
  std::string Text(std::string_view problem) const {
    return std::string(context_) + ": " + std::string(problem);
  }

  const Json& json_;
  const char* context_;
  std::size_t next_ = 0;  // of an array
  Status status_;
};

/// The value as JSON. json: an object with the members that precede those of the value.
template <typename T>
Json WriteJson(const T& value, Json json = Json::object()) {
  JsonWriter writer(std::move(json));
  Describe(writer, value);
  return writer.Take();
}

/// The value that an object describes. Errors: those of JsonReader and of the members' codecs.
template <typename T>
Result<T> ReadJson(const Json& json, const char* context) {
  T value;
  JsonReader reader(json, context);
  reader.Require(json.is_object(), "expected an object");
  Describe(reader, value);
  TW_RETURN_IF_ERROR(reader.status());
  return value;
}

/// Codec of numbers from `least` to `most`.
template <typename T>
struct RangeCodec {
  T least = std::numeric_limits<T>::lowest(), most = std::numeric_limits<T>::max();
  const char* problem = "is out of range";

  Json Write(T value) const { return PlainCodec().Write(value); }
  void Read(JsonReader& reader, const char* name, const Json& json, T& value) const {
    PlainCodec().Read(reader, name, json, value);
    if (!(value >= least && value <= most)) reader.Fail(name, problem);
  }
};

/// Codec of a list of at most `max_items` items.
template <typename Item = PlainCodec>
struct ListCodec {
  Item item = {};
  std::size_t max_items = std::numeric_limits<std::size_t>::max();

  template <typename List>
  Json Write(const List& list) const {
    Json json = Json::array();
    for (const auto& value : list) json.push_back(item.Write(value));
    return json;
  }
  template <typename T>
  void Read(JsonReader& reader, const char* name, const Json& json, std::vector<T>& list) const {
    list.clear();
    if (!reader.Expect(name, json.is_array())) return;
    if (json.size() > max_items) return reader.Fail(Corrupt(TooMany(reader, name)));
    list.reserve(json.size());
    for (std::size_t i = 0; reader.ok() && i < json.size(); ++i) {
      item.Read(reader, name, json[i], list.emplace_back());
    }
  }
  template <typename T, std::size_t N>
  void Read(JsonReader& reader, const char* name, const Json& json, std::array<T, N>& list) const {
    if (!reader.Expect(name, json.is_array() && json.size() == N)) return;
    for (std::size_t i = 0; i < N; ++i) item.Read(reader, name, json[i], list[i]);
  }

 private:
  static std::string TooMany(const JsonReader& reader, const char* name) {
    return std::string(reader.context()) + ": too many " + name;
  }
};
template <typename Item>
ListCodec(Item, std::size_t) -> ListCodec<Item>;
template <typename Item>
ListCodec(Item) -> ListCodec<Item>;

/// Codec of a struct as an array of its members, without their names.
struct TupleCodec {
  template <typename T>
  Json Write(const T& value) const {
    return WriteJson(value, Json::array());
  }
  template <typename T>
  void Read(JsonReader& reader, const char* name, const Json& json, T& value) const {
    if (!reader.Expect(name, json.is_array())) return;
    JsonReader items(json, reader.context());
    Describe(items, value);
    items.ExpectEnd(name);
    reader.Fail(items.status());
  }
};

/// Codec of a value as a text: kPrint of the value, and kParse, which returns a Result, of the
/// text. max_bytes: of the text that is read.
template <auto kPrint, auto kParse>
struct TextCodec {
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max();

  template <typename T>
  Json Write(const T& value) const {
    return std::string(std::invoke(kPrint, value));
  }
  template <typename T>
  void Read(JsonReader& reader, const char* name, const Json& json, T& value) const {
    if (!reader.Expect(name, json.is_string())) return;
    const auto& text = json.template get_ref<const std::string&>();
    if (text.size() > max_bytes) return reader.Fail(name, "is too long");
    auto parsed = kParse(text);
    reader.Fail(parsed.status());
    if (parsed.ok()) value = *std::move(parsed);
  }
};

/// Codec of an enumerator as its name. names: by its number.
struct EnumCodec {
  std::span<const char* const> names;

  template <typename T>
  Json Write(T value) const {
    return names[static_cast<std::size_t>(value)];
  }
  template <typename T>
  void Read(JsonReader& reader, const char* name, const Json& json, T& value) const {
    if (!reader.Expect(name, json.is_string())) return;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (json.get_ref<const std::string&>() != names[i]) continue;
      value = static_cast<T>(i);
      return;
    }
    reader.Fail(name, "is not known");
  }
};

/// Describer of a struct with a Describe function.
struct ByDescribe {
  void operator()(auto& fields, auto& value) const { Describe(fields, value); }
};

/// Codec of a struct as an object. Describer: a function object in place of Describe, for a struct
/// of another module.
template <typename Describer = ByDescribe>
struct ObjectCodec {
  template <typename T>
  Json Write(const T& value) const {
    JsonWriter writer;
    Describer()(writer, value);
    return writer.Take();
  }
  template <typename T>
  void Read(JsonReader& reader, const char* name, const Json& json, T& value) const {
    if (!reader.Expect(name, json.is_object())) return;
    JsonReader members(json, reader.context());
    Describer()(members, value);
    reader.Fail(members.status());
  }
};

/// Codec of an optional value: null if there is none.
template <typename Item = PlainCodec>
struct NullableCodec {
  Item item = {};

  template <typename T>
  Json Write(const std::optional<T>& value) const {
    return value ? item.Write(*value) : Json();
  }
  template <typename T>
  void Read(JsonReader& reader, const char* name, const Json& json, std::optional<T>& value) const {
    value.reset();
    if (!json.is_null()) item.Read(reader, name, json, value.emplace());
  }
};

template <typename T>
Json PlainCodec::Write(const T& value) const {
  if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T> ||
                std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (requires { value.begin(); }) {
    return ListCodec<>().Write(value);
  } else {
    return ObjectCodec<>().Write(value);
  }
}

template <typename T>
void PlainCodec::Read(JsonReader& reader, const char* name, const Json& json, T& value) const {
  if constexpr (std::is_same_v<T, bool>) {
    if (reader.Expect(name, json.is_boolean())) value = json.get<bool>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (reader.Expect(name, json.is_string())) value = json.get_ref<const std::string&>();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (reader.Expect(name, json.is_number())) value = json.get<T>();
  } else if constexpr (std::is_integral_v<T>) {
    if (!reader.Expect(name, json.is_number_integer())) return;
    const auto number = json.get<std::int64_t>();
    value = static_cast<T>(number);
    // 64 bits without a sign are written with one.
    if (static_cast<std::int64_t>(value) != number) reader.Fail(name, "is out of range");
  } else if constexpr (requires { value.begin(); }) {
    ListCodec<>().Read(reader, name, json, value);
  } else {
    ObjectCodec<>().Read(reader, name, json, value);
  }
}

}  // namespace tilewright
