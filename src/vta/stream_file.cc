#include "src/vta/stream_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/vta/encoding.h"

namespace tilewright::vta {
namespace {

constexpr std::string_view kFirstLine = "tilewright-vta-stream 1\n";
constexpr std::int64_t kWordBytes = 4;
// 2^24 instructions are 256 MiB, eight times the queue limit of the original runtime.
constexpr std::int64_t kMaxCount = 1 << 24;

void AppendWord(std::uint32_t word, std::string& text) {
  for (int shift = 0; shift < 32; shift += 8) {
    text.push_back(static_cast<char>(static_cast<unsigned char>((word >> shift) & 0xff)));
  }
}

std::uint32_t WordAt(std::string_view bytes, std::int64_t index) {
  std::uint32_t word = 0;
  for (int i = 3; i >= 0; --i) {
    word = word << 8 |
           static_cast<unsigned char>(bytes[static_cast<std::size_t>(index * kWordBytes + i)]);
  }
  return word;
}

Result<std::int64_t> CountMember(const Json& header, const char* key) {
  const auto at = header.find(key);
  if (at == header.end() || !at->is_number_integer() || *at < 0 || *at > kMaxCount) {
    return InvalidArgument(
        fmt::format("stream file: {}: expected a number from 0 to {}", key, kMaxCount));
  }
  return at->get<std::int64_t>();
}

/// Reads the buffers. body_bytes: size of the file's body, which limits the memory for constants.
Status ReadBuffers(const Json& header, std::size_t body_bytes, Stream& stream) {
  const auto buffers = header.find("buffers");
  if (buffers == header.end() || !buffers->is_array() || buffers->empty()) {
    return InvalidArgument("stream file: buffers: expected a list");
  }
  for (const Json& buffer : *buffers) {
    if (!buffer.is_object() || !buffer.contains("name") || !buffer["name"].is_string() ||
        !buffer.contains("writable") || !buffer["writable"].is_boolean()) {
      return InvalidArgument("stream file: buffers: expected objects with name and writable");
    }
    stream.buffers.push_back({buffer["name"], buffer["writable"]});
    if (!buffer.contains("bytes")) continue;
    TW_ASSIGN_OR_RETURN(const auto bytes, CountMember(buffer, "bytes"));
    if (static_cast<std::size_t>(bytes) > body_bytes) {
      return Corrupt(fmt::format("stream file: a constant of {} bytes, expected at most {}", bytes,
                                 body_bytes));
    }
    body_bytes -= static_cast<std::size_t>(bytes);
    stream.buffers.back().contents.resize(static_cast<std::size_t>(bytes));
  }
  return Status();
}

/// Checks that every transfer has a valid buffer and that other instructions have none.
Status CheckBuffers(const Stream& stream) {
  const auto count = static_cast<std::int32_t>(stream.buffers.size());
  for (std::size_t i = 0; i < stream.instructions.size(); ++i) {
    const Instruction& instruction = stream.instructions[i];
    const auto* transfer = std::get_if<Transfer>(&instruction.operation);
    const bool moves = transfer != nullptr && transfer->x_size > 0;
    const std::int32_t buffer = stream.buffer_of[i];
    if (buffer < Stream::kNoBuffer || buffer >= count || moves != (buffer != Stream::kNoBuffer)) {
      return InvalidArgument(fmt::format("stream file: instruction {} ({}): buffer {}, expected {}",
                                         i, ToString(instruction), buffer,
                                         moves ? "one of the list" : "none"));
    }
    if (!moves) continue;
    const bool micro_ops = buffer == Stream::kUopBuffer;
    if ((transfer->memory == Memory::kUop) != micro_ops) {
      return InvalidArgument(
          fmt::format("stream file: instruction {} ({}): micro-ops come from the first buffer, and "
                      "nothing else does",
                      i, ToString(instruction)));
    }
    if (transfer->is_store && !stream.buffers[static_cast<std::size_t>(buffer)].writable) {
      return InvalidArgument(fmt::format(
          "stream file: instruction {} ({}): stores to {}, which is only read", i,
          ToString(instruction), stream.buffers[static_cast<std::size_t>(buffer)].name));
    }
  }
  return Status();
}

}  // namespace

Result<std::string> WriteStreamFile(const StreamFile& file) {
  const Stream& stream = file.stream;
  const auto code = Encoding(file.design).EncodeStream(stream.instructions);
  if (!code.ok()) return code.status();
  std::string body(reinterpret_cast<const char*>(code->data()), code->size());
  for (const std::int32_t buffer : stream.buffer_of) {
    AppendWord(static_cast<std::uint32_t>(buffer), body);
  }
  for (const std::uint32_t word : stream.uops) AppendWord(word, body);
  const auto design = ParseJson(file.design.ToJson());
  if (!design.ok()) return design.status();
  Json header;
  header["design"] = *design;
  header["buffers"] = Json::array();
  for (const Stream::Buffer& buffer : stream.buffers) {
    header["buffers"].push_back({{"name", buffer.name}, {"writable", buffer.writable}});
    if (buffer.contents.empty()) continue;
    header["buffers"].back()["bytes"] = buffer.contents.size();
    body.append(reinterpret_cast<const char*>(buffer.contents.data()), buffer.contents.size());
  }
  header["instructions"] = stream.instructions.size();
  header["uops"] = stream.uops.size();
  header["crc32"] = Crc32(std::as_bytes(std::span(body)));
  return std::string(kFirstLine) + DumpJson(header) + "\n" + body;
}

Result<StreamFile> ReadStreamFile(std::string_view bytes) {
  if (!bytes.starts_with(kFirstLine)) {
    return InvalidArgument("not a stream file: it does not begin with \"tilewright-vta-stream 1\"");
  }
  bytes.remove_prefix(kFirstLine.size());
  const auto end = bytes.find('\n');
  if (end == std::string_view::npos) return Corrupt("stream file: truncated in its header");
  const auto header = ParseJson(bytes.substr(0, end));
  if (!header.ok()) return header.status().WithContext("stream file: header");
  if (!header->is_object() || !header->contains("design")) {
    return InvalidArgument("stream file: design is missing");
  }
  const std::string_view body = bytes.substr(end + 1);
  TW_ASSIGN_OR_RETURN(auto design,
                      Design::Parse((*header)["design"].dump(), "stream file: design"));
  TW_ASSIGN_OR_RETURN(const auto instructions, CountMember(*header, "instructions"));
  TW_ASSIGN_OR_RETURN(const auto uops, CountMember(*header, "uops"));
  const std::int64_t code_bytes = instructions * kInstructionBytes;
  StreamFile file{std::move(design), {}};
  TW_RETURN_IF_ERROR(ReadBuffers(*header, body.size(), file.stream));
  const std::int64_t word_bytes = (instructions + uops) * kWordBytes;
  std::int64_t expected = code_bytes + word_bytes;
  for (const auto& buffer : file.stream.buffers) {
    expected += static_cast<std::int64_t>(buffer.contents.size());
  }
  if (static_cast<std::int64_t>(body.size()) != expected) {
    return Corrupt(
        fmt::format("stream file: {} bytes after the header, expected {}", body.size(), expected));
  }
  const auto checksum = header->find("crc32");
  if (checksum == header->end() || *checksum != Crc32(std::as_bytes(std::span(body)))) {
    return Corrupt("stream file: its checksum does not match its contents");
  }
  const auto code = std::as_bytes(std::span(body)).first(static_cast<std::size_t>(code_bytes));
  auto decoded = Encoding(file.design).DecodeStream(code);
  if (!decoded.ok()) return decoded.status().WithContext("stream file");
  file.stream.instructions = *std::move(decoded);
  const std::string_view words = body.substr(static_cast<std::size_t>(code_bytes));
  for (std::int64_t i = 0; i < instructions; ++i) {
    file.stream.buffer_of.push_back(static_cast<std::int32_t>(WordAt(words, i)));
  }
  for (std::int64_t i = 0; i < uops; ++i) {
    file.stream.uops.push_back(WordAt(words, instructions + i));
  }
  auto rest =
      std::as_bytes(std::span(body)).subspan(static_cast<std::size_t>(code_bytes + word_bytes));
  for (Stream::Buffer& buffer : file.stream.buffers) {
    std::ranges::copy(rest.first(buffer.contents.size()), buffer.contents.begin());
    rest = rest.subspan(buffer.contents.size());
  }
  TW_RETURN_IF_ERROR(CheckBuffers(file.stream));
  return file;
}

}  // namespace tilewright::vta
