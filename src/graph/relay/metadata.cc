// Contents of constants after a module, in TVM's format: JSON nodes that refer to arrays in base64.

#include "src/graph/relay/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "src/base/base64.h"
#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/graph/ir/graph.h"
#include "src/graph/ir/quantization_map.h"
#include "src/graph/relay/syntax.h"

namespace tilewright::relay {
namespace {

constexpr std::string_view kHead = "#[metadata]";
constexpr std::uint64_t kArrayMagic = 0xDD5E40F096B4A13F;
constexpr std::int32_t kCpuDevice = 1;
// Limit of the growth relative to the text: constants may share an array, and each gets a copy.
constexpr std::size_t kMaxGrowth = 16;

// Attributes of the whole section (strings, next to TVM's version): names of values, and the number
// of constants with synthetic contents.
constexpr const char* kValues = "tilewright.values";
constexpr const char* kSyntheticConstantsKey = "tilewright.made_up_constants";

// Type codes of DLPack.
constexpr std::array<TypeCode, 3> kTypeCodes = {TypeCode::kInt, TypeCode::kUInt, TypeCode::kFloat};

template <typename T>
void Append(std::vector<std::byte>& bytes, T value) {
  std::array<std::byte, sizeof(T)> raw;
  std::memcpy(raw.data(), &value, sizeof(T));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

/// magic, reserved, device, number of dimensions, type, sizes, bytes, elements; little endian.
std::vector<std::byte> ArrayBytes(const Tensor& tensor) {
  std::vector<std::byte> bytes;
  Append(bytes, kArrayMagic);
  Append(bytes, std::uint64_t{0});
  Append(bytes, kCpuDevice);
  Append(bytes, std::int32_t{0});
  Append(bytes, static_cast<std::int32_t>(tensor.shape().size()));
  const auto code = std::ranges::find(kTypeCodes, tensor.dtype().code) - kTypeCodes.begin();
  Append(bytes, static_cast<std::uint8_t>(code));
  Append(bytes, static_cast<std::uint8_t>(tensor.dtype().bits));
  Append(bytes, std::uint16_t{1});
  for (std::int64_t extent : tensor.shape()) Append(bytes, extent);
  Append(bytes, tensor.bytes());
  bytes.insert(bytes.end(), tensor.data(), tensor.data() + tensor.bytes());
  return bytes;
}

/// Reader of numbers from the front of the remaining bytes; returns false if they are too few.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}
  template <typename T>
  bool Read(T& value) {
    if (rest_.size() < sizeof(T)) return false;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return true;
  }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> rest_;
};

Result<TensorType> ReadArrayType(ByteReader& reader) {
  std::uint64_t magic = 0, reserved = 0;
  std::int32_t device = 0, device_id = 0, rank = 0;
  std::uint8_t code = 0, bits = 0;
  std::uint16_t lanes = 0;
  const bool whole = reader.Read(magic) && reader.Read(reserved) && reader.Read(device) &&
                     reader.Read(device_id) && reader.Read(rank) && reader.Read(code) &&
                     reader.Read(bits) && reader.Read(lanes);
  if (!whole || magic != kArrayMagic) return InvalidArgument("not a TVM array");
  if (code >= kTypeCodes.size() || lanes != 1 || rank < 0 ||
      rank > static_cast<std::int64_t>(kMaxRank)) {
    return InvalidArgument(
        fmt::format("type code {}, {} lanes, {} dimensions; expected integers or floats, 1, and 0 "
                    "to {}",
                    code, lanes, rank, kMaxRank));
  }
  constexpr std::array<std::string_view, 3> kNames = {"int", "uint", "float"};
  TW_ASSIGN_OR_RETURN(auto dtype, ParseDataType(fmt::format("{}{}", kNames[code], bits)));
  TensorType type{{}, dtype};
  for (std::int32_t i = 0; i < rank; ++i) {
    std::int64_t extent = 0;
    if (!reader.Read(extent)) return InvalidArgument("a truncated array");
    type.shape.push_back(extent);
  }
  TW_RETURN_IF_ERROR(CheckTensorType(type));
  return type;
}

Result<Tensor> ReadArray(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  TW_ASSIGN_OR_RETURN(auto type, ReadArrayType(reader));
  std::int64_t data_bytes = 0;
  if (!reader.Read(data_bytes) || data_bytes != type.bytes() ||
      std::ssize(reader.rest()) != data_bytes) {
    return InvalidArgument(fmt::format("{} with {} bytes, expected {}", type.ToString(),
                                       reader.rest().size(), type.bytes()));
  }
  Tensor tensor(std::move(type));
  std::ranges::copy(reader.rest(), tensor.data());
  return tensor;
}

/// Returns the item of `list` at `position`, a number or its text; null if there is no such item.
const Json* Item(const Json* list, const Json* position) {
  if (list == nullptr || !list->is_array() || position == nullptr) return nullptr;
  std::int64_t index = -1;
  if (position->is_number_integer()) index = position->get<std::int64_t>();
  if (position->is_string()) {
    if (auto parsed = ParseInt64(position->get<std::string>()); parsed.ok()) index = *parsed;
  }
  if (index < 0 || index >= std::ssize(*list)) return nullptr;
  return &(*list)[static_cast<std::size_t>(index)];
}

const Json* Field(const Json* object, const char* name) {
  if (object == nullptr || !object->is_object() || !object->contains(name)) return nullptr;
  return &(*object)[name];
}

/// Returns the list of constants: the root is a map from type keys to lists of nodes.
const Json* ConstantList(const Json* root, const Json* nodes) {
  const Json* map = Item(nodes, Field(root, "root"));
  const Json* keys = Field(map, "keys");
  const Json* data = Field(map, "data");
  if (keys == nullptr || data == nullptr || !keys->is_array() || !data->is_array()) return nullptr;
  for (std::size_t i = 0; i < std::min(keys->size(), data->size()); ++i) {
    if ((*keys)[i] == "relay.Constant") return Field(Item(nodes, &(*data)[i]), "data");
  }
  return nullptr;
}

/// Reads the attributes of this project. Returns kInvalidArgument if they have another format than
/// WriteMetadata writes.
Status ReadOwn(const Json& root, Metadata& metadata) {
  const Json* attributes = Field(&root, "attrs");
  for (const char* name : {kValues, kSyntheticConstantsKey}) {
    const Json* text = Field(attributes, name);
    if (text != nullptr && !text->is_string())
      return InvalidArgument("expected a string").WithContext(name);
  }
  if (const Json* text = Field(attributes, kValues); text != nullptr) {
    auto values = ParseQuantizationMap(text->get_ref<const std::string&>());
    if (!values.ok()) return values.status().WithContext(kValues);
    metadata.values = *std::move(values);
  }
  if (const Json* text = Field(attributes, kSyntheticConstantsKey); text != nullptr) {
    auto count = ParseInt64(text->get_ref<const std::string&>());
    if (!count.ok() || *count < 0)
      return InvalidArgument("expected a count").WithContext(kSyntheticConstantsKey);
    metadata.synthetic_constants = *count;
  }
  return Status();
}

}  // namespace

std::string WriteMetadata(const std::vector<const Tensor*>& constants,
                          const QuantizationMap& values, std::int64_t synthetic_constants) {
  std::string list, nodes, arrays;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const char* comma = i == 0 ? "" : ",";
    list += fmt::format("{}{}", comma, i + 3);
    nodes += fmt::format(
        ",\n  {{\"type_key\": \"relay.Constant\", \"attrs\": {{\"_checked_type_\": \"0\", "
        "\"data\": \"{}\", \"span\": \"0\"}}}}",
        i);
    arrays += fmt::format("{}\n  \"{}\"", comma, EncodeBase64(ArrayBytes(*constants[i])));
  }
  Json own = Json::object();
  if (!values.empty()) own[kValues] = QuantizationMapToJson(values);
  if (synthetic_constants > 0) own[kSyntheticConstantsKey] = std::to_string(synthetic_constants);
  const std::string attributes = own.empty() ? "" : ",\n\"attrs\": " + DumpJson(own);
  return fmt::format(
      "{}\n{{\"root\": 1, \"nodes\": [\n  {{\"type_key\": \"\"}},\n"
      "  {{\"type_key\": \"Map\", \"keys\": [\"relay.Constant\"], \"data\": [2]}},\n"
      "  {{\"type_key\": \"Array\", \"data\": [{}]}}{}],\n\"b64ndarrays\": [{}]{}}}\n",
      kHead, list, nodes, arrays, attributes);
}

Result<Metadata> ReadMetadata(std::string_view section) {
  Metadata metadata;
  section = Trim(section);
  if (section.empty()) return metadata;
  if (!section.starts_with(kHead)) return InvalidArgument("metadata: expected #[metadata]");
  auto root = ParseJson(section.substr(kHead.size()));
  if (!root.ok()) return root.status().WithContext("metadata");
  if (Status own = ReadOwn(*root, metadata); !own.ok()) return own.WithContext("metadata");
  const Json* nodes = Field(&*root, "nodes");
  const Json* data = ConstantList(&*root, nodes);
  if (data == nullptr || !data->is_array()) return metadata;  // a section may have no constants
  const Json* arrays = Field(&*root, "b64ndarrays");
  std::size_t characters = 0;
  for (std::size_t i = 0; i < data->size(); ++i) {
    const std::string what = fmt::format("metadata: relay.Constant {}", i);
    const Json* attributes = Field(Item(nodes, &(*data)[i]), "attrs");
    const Json* text = Item(arrays, Field(attributes, "data"));
    if (text == nullptr || !text->is_string()) return InvalidArgument(what + ": has no array");
    characters += text->get_ref<const std::string&>().size();
    if (characters > kMaxGrowth * section.size()) {
      return InvalidArgument(fmt::format(
          "{}: constants share arrays of more than {} times the text", what, kMaxGrowth));
    }
    auto bytes = DecodeBase64(text->get_ref<const std::string&>());
    if (!bytes.ok()) return bytes.status().WithContext(what);
    auto tensor = ReadArray(*bytes);
    if (!tensor.ok()) return tensor.status().WithContext(what);
    metadata.constants.emplace(static_cast<std::int64_t>(i), *std::move(tensor));
  }
  return metadata;
}

}  // namespace tilewright::relay
