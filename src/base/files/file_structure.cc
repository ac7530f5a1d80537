// Contents that are recognized by their structure instead of a signature: names in zip archives,
// Protobuf messages, pickles.

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "src/base/files/file_signatures.h"

namespace tilewright {
namespace {

using namespace std::string_view_literals;  // NOLINT: patterns contain zero bytes

std::uint32_t LittleEndian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = count; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

/// Headers of a zip archive: their signature, and where length and text of the name are.
struct ZipHeader {
  std::string_view signature;
  std::size_t length, name;
};
constexpr ZipHeader kLocal = {"PK\x03\x04", 26, 30};
constexpr ZipHeader kCentral = {"PK\x01\x02", 28, 46};

/// Appends the names of all headers of one kind, at most `most`.
void AppendNames(std::string_view bytes, const ZipHeader& header, int most, std::string& names) {
  for (std::size_t at = bytes.find(header.signature); at != std::string_view::npos && most-- > 0;
       at = bytes.find(header.signature, at + 4)) {
    if (bytes.size() - at < header.name) return;
    const std::size_t length = LittleEndian(bytes, at + header.length, 2);
    names += bytes.substr(at + header.name, std::min<std::size_t>(length, 512));
    names += '\n';
  }
}

constexpr int kWireVarint = 0, kWireFixed64 = 1, kWireBytes = 2,
              kWireFixed32 = 5;  // wire types of Protobuf

/// Reads the fields of a Protobuf message. Of a large message only the beginning may be there: its
/// last field may be cut off.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : bytes_(bytes), cut_(bytes.size() >= kLarge) {}

  /// Moves to the next field. Returns false at the end and for bytes that are not a message.
  bool Next() {
    std::uint64_t key = 0, length = 0;
    contents_ = {};
    if (bytes_.empty() || !Varint(key)) return false;
    number_ = key >> 3;
    type_ = static_cast<int>(key & 7);
    if (number_ == 0) return false;
    switch (type_) {
      case kWireVarint:
        return Varint(value_);
      case kWireFixed64:
        return Take(8);
      case kWireFixed32:
        return Take(4);
      case kWireBytes:
        return Varint(length) && Take(length);
      default:
        return false;
    }
  }
  std::uint64_t number() const { return number_; }
  int type() const { return type_; }
  std::uint64_t value() const { return value_; }  ///< of a varint
  std::string_view contents() const { return contents_; }

 private:
  static constexpr std::size_t kLarge = 4 << 20;

  bool Varint(std::uint64_t& value) {
    value = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes_.size(), 10); ++i) {
      const auto byte = static_cast<unsigned char>(bytes_[i]);
      value |= std::uint64_t{byte & 0x7fU} << (7 * i);
      if (byte >= 0x80) continue;
      bytes_.remove_prefix(i + 1);
      return true;
    }
    return false;
  }
  bool Take(std::uint64_t length) {
    if (length > bytes_.size() && !cut_) return false;
    contents_ = bytes_.substr(0, length);
    bytes_.remove_prefix(contents_.size());
    return true;
  }

  std::string_view bytes_, contents_;
  std::uint64_t number_ = 0, value_ = 0;
  int type_ = 0;
  bool cut_;
};

using Field = std::pair<std::uint64_t, int>;  ///< number and wire type

/// Returns the number and type of each field of a message, as far as it can be read.
std::set<Field> FieldsOf(std::string_view bytes) {
  std::set<Field> fields;
  for (FieldReader reader(bytes); reader.Next();) fields.emplace(reader.number(), reader.type());
  return fields;
}

/// Returns true if the message is a TensorProto. Its element type is a small number in field 2,
/// which is a text in a ModelProto.
bool IsOnnxTensor(std::string_view bytes) {
  constexpr std::uint64_t kMaxTypes = 64, kMaxFields = 16;
  bool type = false, elements = false;
  for (FieldReader reader(bytes); reader.Next();) {
    if (reader.number() > kMaxFields) return false;
    if (reader.number() == 2) {
      type = reader.type() == kWireVarint && reader.value() < kMaxTypes;
      if (!type) return false;
    }
    // float_data, int32_data, string_data, int64_data, raw_data, double_data, uint64_data,
    // external_data.
    constexpr std::array<std::uint64_t, 8> kElements = {4, 5, 6, 7, 9, 10, 11, 13};
    elements = elements || (reader.type() == kWireBytes &&
                            std::ranges::find(kElements, reader.number()) != kElements.end());
  }
  return type && elements;
}

/// Returns true if the message begins with these fields.
bool BeginsWith(std::string_view bytes, std::initializer_list<Field> fields) {
  FieldReader reader(bytes);
  return std::ranges::all_of(fields, [&](const Field& field) {
    return reader.Next() && Field(reader.number(), reader.type()) == field;
  });
}

}  // namespace

std::string ZipEntryNames(std::string_view bytes) {
  constexpr std::size_t kTail = 4 << 20;
  constexpr int kMaxNames = 100'000;
  std::string names = "\n";
  if (!bytes.starts_with(kLocal.signature)) return {};
  AppendNames(bytes, kLocal, 1, names);
  const std::size_t first = names.size();
  AppendNames(bytes.substr(bytes.size() - std::min(bytes.size(), kTail)), kCentral, kMaxNames,
              names);
  if (names.size() == first) AppendNames(bytes.substr(4), kLocal, kMaxNames, names);
  return names;
}

std::string_view ProtobufKind(std::string_view bytes) {
  FieldReader reader(bytes);
  if (!reader.Next()) return {};
  const std::set<Field> fields = FieldsOf(bytes);
  const auto has = [&](std::uint64_t number, int type) { return fields.contains({number, type}); };
  const std::string_view first = reader.contents();
  if (reader.number() == 1 && reader.type() == kWireVarint) {
    reader.Next();
    // CoreML: version, description, and one of the model types from 200 on.
    if (fields.rbegin()->first >= 200 && has(2, kWireBytes) && !has(7, kWireBytes)) return "coreml";
    const bool graph =
        reader.type() == kWireBytes && BeginsWith(reader.contents(), {{1, kWireBytes}});
    if (reader.number() == 2 && graph && fields.size() == 2) return "saved-model-pb";
  }
  if (has(7, kWireBytes) && !has(2, kWireVarint) && (has(1, kWireVarint) || has(8, kWireBytes)))
    return "onnx";
  if (IsOnnxTensor(bytes)) return "onnx-tensor";
  if (has(100, kWireBytes) && has(1, kWireBytes)) return "caffemodel";
  if (!BeginsWith(bytes, {{1, kWireBytes}})) return {};
  if (has(11, kWireBytes) || has(12, kWireBytes)) return "onnx-graph";
  if (BeginsWith(first, {{1, kWireBytes}, {2, kWireBytes}}) && !has(3, kWireBytes))
    return "frozen-graph";
  if (BeginsWith(first, {{1, kWireVarint}, {2, kWireVarint}})) return "paddle";
  if (has(2, kWireBytes) && has(3, kWireBytes)) return "tf-meta";
  return {};
}

bool IsPickle(std::string_view bytes) {
  // FRAME; then containers, texts, numbers, classes and memo entries as the first object.
  constexpr std::string_view kFirst = "\x95}](cX\x8c\x8aKJMGq\x8f)N\x88\x89";
  return bytes.size() >= 4 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5 &&
         kFirst.find(bytes[2]) != std::string_view::npos;
}

}  // namespace tilewright
