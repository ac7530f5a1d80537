// VTA designs from JSON and from names such as sim_1x16_i8w8a32_15_15_18_17, with the limits of
// instructions, micro-ops and memories.

#include "src/vta/design.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <iterator>
#include <utility>
#include <vector>

#include "src/base/json.h"
#include "src/base/strings.h"
#include "src/vta/encoding.h"

namespace tilewright::vta {
namespace {

constexpr std::string_view kTargets[] = {"sim",    "tsim",     "pynq",     "ultra96",
                                         "zcu104", "de10nano", "intelfocl"};

// An element never crosses a page of the simulated DRAM.
constexpr std::int64_t kLogPageBytes = 12;
// Maximum buffer size in a design file, as a power of two of bytes.
constexpr int kMaxLogBytes = 32;
// Micro-op memory of the core described in Chisel.
constexpr std::int64_t kChiselUops = 2048;

}  // namespace

std::string_view MemoryName(Memory memory) {
  constexpr std::string_view kNames[kMemoryCount] = {"UOP", "WGT", "INP", "ACC", "OUT", "ACC8"};
  const auto index = static_cast<std::size_t>(memory);
  return index < std::size(kNames) ? kNames[index] : "?";
}

std::array<Design::Number, 9> Design::Numbers() {
  return {{
      {"LOG_INP_WIDTH", &log_inp_width_, 0, 3},
      {"LOG_WGT_WIDTH", &log_wgt_width_, 0, 3},
      {"LOG_ACC_WIDTH", &log_acc_width_, 5, 5},
      {"LOG_BATCH", &log_batch_, 0, 8},
      {"LOG_BLOCK", &log_block_, 0, 8},
      {"LOG_UOP_BUFF_SIZE", &log_uop_bytes_, 2, kMaxLogBytes},
      {"LOG_INP_BUFF_SIZE", &log_inp_bytes_, 0, kMaxLogBytes},
      {"LOG_WGT_BUFF_SIZE", &log_wgt_bytes_, 0, kMaxLogBytes},
      {"LOG_ACC_BUFF_SIZE", &log_acc_bytes_, 0, kMaxLogBytes},
  }};
}

Design Design::Default(std::string_view target) {
  Design design;
  design.target_ = target;
  TW_CHECK(std::ranges::find(kTargets, target) != std::end(kTargets), design.target_);
  if (target == "zcu104") design.hardware_version_ = "0.0.1";
  return design;
}

Result<Design> Design::Parse(std::string_view text, std::string_view file) {
  const auto json = ParseJson(text);
  if (!json.ok()) return json.status().WithContext(file);
  if (!json->is_object()) {
    return InvalidArgument(fmt::format("{}: a VTA design is a JSON object", file));
  }
  Design design;
  const std::array<Number, 9> numbers = design.Numbers();
  for (const auto& item : json->items()) {
    const std::string& key = item.key();
    const bool known = key == "TARGET" || key == "HW_VER" ||
                       std::ranges::any_of(numbers, [&](const Number& n) { return key == n.key; });
    if (!known) return InvalidArgument(fmt::format("{}: unknown field {}", file, key));
  }
  for (const auto& [key, value] :
       {std::pair{"TARGET", &design.target_}, std::pair{"HW_VER", &design.hardware_version_}}) {
    const auto at = json->find(key);
    if (at == json->end()) return InvalidArgument(fmt::format("{}: {} is missing", file, key));
    if (!at->is_string()) {
      return InvalidArgument(fmt::format("{}: {}: expected a string", file, key));
    }
    *value = at->get<std::string>();
  }
  if (std::ranges::find(kTargets, design.target_) == std::end(kTargets)) {
    return InvalidArgument(fmt::format("{}: TARGET: {}, expected one of {}", file, design.target_,
                                       fmt::join(kTargets, " ")));
  }
  for (const Number& number : numbers) {
    const auto at = json->find(number.key);
    if (at == json->end()) {
      return InvalidArgument(fmt::format("{}: {} is missing", file, number.key));
    }
    const std::int64_t value = at->is_number_integer() ? at->get<std::int64_t>() : -1;
    if (value < number.low || value > number.high) {
      return InvalidArgument(fmt::format("{}: {}: {}, expected an integer from {} to {}", file,
                                         number.key, at->dump(), number.low, number.high));
    }
    *number.value = static_cast<int>(value);
  }
  if (Status status = design.Check(); !status.ok()) return status.WithContext(file);
  return design;
}

Result<Design> Design::FromModel(std::string_view model) {
  const std::string text(model);
  const auto refused = [&text](std::string_view reason) {
    return InvalidArgument(fmt::format(
        "VTA model '{}': {}, expected a name such as sim_1x16_i8w8a32_15_15_18_17", text, reason));
  };
  const std::vector<std::string> parts = Split(model, '_');
  if (parts.size() != 7) return refused(fmt::format("{} parts between '_'", parts.size()));
  if (std::ranges::find(kTargets, parts[0]) == std::end(kTargets)) {
    return refused(fmt::format("target {}, known are {}", parts[0], fmt::join(kTargets, " ")));
  }
  unsigned batch = 0, block = 0, inp = 0, wgt = 0, acc = 0;
  if (std::sscanf(parts[1].c_str(), "%4ux%4u", &batch, &block) != 2) return refused("no tile");
  if (std::sscanf(parts[2].c_str(), "i%2uw%2ua%2u", &inp, &wgt, &acc) != 3) {
    return refused("no widths");
  }
  Design design = Default(parts[0]);
  const auto log2 = [](unsigned value) { return value == 0 ? 0 : std::bit_width(value) - 1; };
  design.log_batch_ = log2(batch);
  design.log_block_ = log2(block);
  design.log_inp_width_ = log2(inp);
  design.log_wgt_width_ = log2(wgt);
  design.log_acc_width_ = log2(acc);
  int* const buffers[] = {&design.log_uop_bytes_, &design.log_inp_bytes_, &design.log_wgt_bytes_,
                          &design.log_acc_bytes_};
  for (std::size_t i = 0; i < std::size(buffers); ++i) {
    const auto bytes = ParseInt64(parts[3 + i]);
    if (!bytes.ok()) return refused(bytes.status().message());
    *buffers[i] = static_cast<int>(std::clamp<std::int64_t>(*bytes, 0, kMaxLogBytes));
  }
  // Rejects values that are not powers of two, out of range or in another spelling.
  if (design.Model() != text) return refused(fmt::format("read as {}", design.Model()));
  const std::string place = "VTA model '" + text + "'";
  for (const Number& number : design.Numbers()) {
    if (*number.value < number.low || *number.value > number.high) {
      return InvalidArgument(fmt::format("{}: {}: {}, expected an integer from {} to {}", place,
                                         number.key, *number.value, number.low, number.high));
    }
  }
  if (Status status = design.Check(); !status.ok()) return status.WithContext(place);
  return design;
}

Status Design::Check() const {
  struct Buffer {
    Memory memory;
    int log_bytes;
    int log_element_bits;
  };
  const Buffer buffers[] = {
      {Memory::kInp, log_inp_bytes_, log_batch_ + log_block_ + log_inp_width_},
      {Memory::kWgt, log_wgt_bytes_, 2 * log_block_ + log_wgt_width_},
      {Memory::kAcc, log_acc_bytes_, log_batch_ + log_block_ + log_acc_width_},
      {Memory::kOut, log_acc_bytes_, log_batch_ + log_block_ + log_inp_width_},
  };
  for (const auto& [memory, log_bytes, log_bits] : buffers) {
    const std::string_view name = MemoryName(memory);
    if (log_bits < 3) {
      return InvalidArgument(
          fmt::format("an element of {} has {} bits, expected whole bytes", name, 1 << log_bits));
    }
    if (log_bits - 3 > kLogPageBytes) {
      return InvalidArgument(fmt::format("an element of {} has {} bytes, expected at most {}", name,
                                         1 << (log_bits - 3), 1 << kLogPageBytes));
    }
    if (log_bytes < log_bits - 3) {
      return InvalidArgument(fmt::format("{} buffer of {} bytes holds no element of {} bytes", name,
                                         std::int64_t{1} << log_bytes, 1 << (log_bits - 3)));
    }
  }
  return CheckEncodable(LogDepth(Memory::kUop), LogDepth(Memory::kInp), LogDepth(Memory::kWgt),
                        LogDepth(Memory::kAcc));
}

std::string Design::ToJson() const {
  Json json;
  json["TARGET"] = target_;
  json["HW_VER"] = hardware_version_;
  json["LOG_INP_WIDTH"] = log_inp_width_;
  json["LOG_WGT_WIDTH"] = log_wgt_width_;
  json["LOG_ACC_WIDTH"] = log_acc_width_;
  json["LOG_BATCH"] = log_batch_;
  json["LOG_BLOCK"] = log_block_;
  json["LOG_UOP_BUFF_SIZE"] = log_uop_bytes_;
  json["LOG_INP_BUFF_SIZE"] = log_inp_bytes_;
  json["LOG_WGT_BUFF_SIZE"] = log_wgt_bytes_;
  json["LOG_ACC_BUFF_SIZE"] = log_acc_bytes_;
  return json.dump(2) + "\n";
}

std::int64_t Design::ElementBytes(Memory memory) const {
  const std::int64_t lanes = std::int64_t{batch()} * block();
  switch (memory) {
    case Memory::kUop:
      return 4;
    case Memory::kWgt:
      return std::int64_t{block()} * block() * wgt_bits() / 8;
    case Memory::kInp:
    case Memory::kOut:
      return lanes * inp_bits() / 8;
    case Memory::kAcc:
      return lanes * 4;
    case Memory::kAccInt8:
      return lanes;
  }
  return 0;
}

int Design::LogDepth(Memory memory) const {
  switch (memory) {
    case Memory::kUop:
      return log_uop_bytes_ - 2;
    case Memory::kWgt:
      return log_wgt_bytes_ + 3 - 2 * log_block_ - log_wgt_width_;
    case Memory::kInp:
      return log_inp_bytes_ + 3 - log_batch_ - log_block_ - log_inp_width_;
    case Memory::kAcc:
    case Memory::kAccInt8:
    case Memory::kOut:  // one narrow element per accumulator
      return log_acc_bytes_ + 3 - log_batch_ - log_block_ - log_acc_width_;
  }
  return 0;
}

std::int64_t Design::UsableUops() const {
  const bool chisel = target_ == "tsim" || target_ == "de10nano";
  return chisel ? std::min(kChiselUops, Depth(Memory::kUop)) : Depth(Memory::kUop);
}

std::string Design::Name() const {
  return fmt::format("{}x{}_i{}w{}a{}_{}_{}_{}_{}", batch(), block(), inp_bits(), wgt_bits(),
                     1 << log_acc_width_, log_uop_bytes_, log_inp_bytes_, log_wgt_bytes_,
                     log_acc_bytes_);
}

}  // namespace tilewright::vta
