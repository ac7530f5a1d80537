#include "src/vta/simulator/cycle_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "src/base/json.h"

namespace tilewright::vta {
namespace {

struct Field {
  const char* key;
  double CycleModel::*value;
  bool is_rate;  // divisor: not zero
};

constexpr Field kFields[] = {
    {"launch_cycles", &CycleModel::launch_cycles, false},
    {"dma_cycles", &CycleModel::dma_cycles, false},
    {"row_cycles", &CycleModel::row_cycles, false},
    {"weight_row_cycles", &CycleModel::weight_row_cycles, false},
    {"bytes_per_cycle", &CycleModel::bytes_per_cycle, true},
    {"weight_bytes_per_cycle", &CycleModel::weight_bytes_per_cycle, true},
    {"store_bytes_per_cycle", &CycleModel::store_bytes_per_cycle, true},
    {"side_padding_cycles", &CycleModel::side_padding_cycles, false},
    {"padding_element_cycles", &CycleModel::padding_element_cycles, false},
    {"compute_cycles", &CycleModel::compute_cycles, false},
    {"alu_immediate_cycles", &CycleModel::alu_immediate_cycles, false},
    {"alu_two_operand_cycles", &CycleModel::alu_two_operand_cycles, false},
    {"gemm_loop_cycles", &CycleModel::gemm_loop_cycles, false},
    {"idle_instruction_cycles", &CycleModel::idle_instruction_cycles, false},
    {"bus_bytes_per_cycle", &CycleModel::bus_bytes_per_cycle, false},
};

CycleModel::Cost TransferCost(const CycleModel& model, const Design& design,
                              const Transfer& transfer) {
  const bool weights = transfer.memory == Memory::kWgt;
  const double rate = weights                           ? model.weight_bytes_per_cycle
                      : transfer.memory == Memory::kOut ? model.store_bytes_per_cycle
                                                        : model.bytes_per_cycle;
  const auto rows = static_cast<double>(transfer.y_size);
  const int padded_sides = (transfer.x_pad_0 != 0 ? 1 : 0) + (transfer.x_pad_1 != 0 ? 1 : 0);
  const std::int64_t padding = transfer.SramElements() - transfer.DramElements();
  const std::int64_t bytes = transfer.DramElements() * design.ElementBytes(transfer.memory);
  return {.before_data = model.dma_cycles +
                         rows * (weights ? model.weight_row_cycles : model.row_cycles) +
                         padded_sides * rows * model.side_padding_cycles +
                         static_cast<double>(padding) * model.padding_element_cycles,
          .data = static_cast<double>(bytes) / rate,
          .bytes_per_cycle = rate};
}

}  // namespace

CycleModel CycleModel::Pynq() {
  return {.name = "pynq",
          .launch_cycles = 2500,
          .dma_cycles = 570,
          .row_cycles = 6,
          .weight_row_cycles = 16,
          .bytes_per_cycle = 8,
          .weight_bytes_per_cycle = 4.4,
          .store_bytes_per_cycle = 7.4,
          .side_padding_cycles = 80,
          .padding_element_cycles = 1,
          .compute_cycles = 48,
          .alu_immediate_cycles = 1.02,
          .alu_two_operand_cycles = 2,
          .gemm_loop_cycles = 3.3,
          .idle_instruction_cycles = 10};
}

CycleModel CycleModel::Rtl() {
  return {.name = "rtl",
          .launch_cycles = 100,
          .dma_cycles = 30,
          .row_cycles = 2,
          .weight_row_cycles = 2,
          .bytes_per_cycle = 8,
          .weight_bytes_per_cycle = 8,
          .store_bytes_per_cycle = 5.33,
          .side_padding_cycles = 0,
          .padding_element_cycles = 0,
          .compute_cycles = 12,
          .alu_immediate_cycles = 1,
          .alu_two_operand_cycles = 2,
          .gemm_loop_cycles = 0,
          .idle_instruction_cycles = 3};
}

CycleModel CycleModel::PynqSharedBus() {
  CycleModel model = Pynq();
  model.name = "pynq_shared_bus";
  model.bus_bytes_per_cycle = 8;
  return model;
}

Result<CycleModel> CycleModel::Preset(std::string_view name) {
  for (CycleModel model : {Pynq(), Rtl(), PynqSharedBus()}) {
    if (model.name == name) return model;
  }
  return InvalidArgument(
      fmt::format("cycle model '{}': unknown, expected pynq, rtl or pynq_shared_bus", name));
}

Result<CycleModel> CycleModel::Parse(std::string_view text, std::string_view file) {
  const auto json = ParseJson(text);
  if (!json.ok()) return json.status().WithContext(file);
  if (!json->is_object()) {
    return InvalidArgument(fmt::format("{}: a cycle model is a JSON object", file));
  }
  for (const auto& item : json->items()) {
    const std::string& key = item.key();
    const bool known =
        key == "name" || std::ranges::any_of(kFields, [&](const Field& f) { return key == f.key; });
    if (!known) return InvalidArgument(fmt::format("{}: unknown field {}", file, key));
  }
  CycleModel model;
  const auto name = json->find("name");
  if (name == json->end() || !name->is_string()) {
    return InvalidArgument(fmt::format("{}: name: expected a string", file));
  }
  model.name = name->get<std::string>();
  for (const Field& field : kFields) {
    const auto at = json->find(field.key);
    if (at == json->end()) {
      return InvalidArgument(fmt::format("{}: {} is missing", file, field.key));
    }
    // 1e9: above any real machine; sums over a stream remain exact enough
    const double value = at->is_number() ? at->get<double>() : -1;
    if (!(value >= (field.is_rate ? 1e-6 : 0) && value <= 1e9)) {
      return InvalidArgument(fmt::format("{}: {}: {}, expected a number from {} to 1e9", file,
                                         field.key, at->dump(), field.is_rate ? "1e-6" : "0"));
    }
    model.*field.value = value;
  }
  return model;
}

std::string CycleModel::ToJson() const {
  Json json;
  json["name"] = name;
  for (const Field& field : kFields) json[field.key] = this->*field.value;
  return json.dump(2) + "\n";
}

CycleModel::Cost CycleModel::CostOf(const Design& design, const Instruction& instruction) const {
  if (const auto* transfer = std::get_if<Transfer>(&instruction.operation)) {
    if (transfer->x_size > 0) return TransferCost(*this, design, *transfer);
  } else if (const auto* gemm = std::get_if<Gemm>(&instruction.operation)) {
    const double iterations =
        static_cast<double>(gemm->loop.iter_out) * static_cast<double>(gemm->loop.iter_in);
    return {.before_data = compute_cycles + static_cast<double>(gemm->loop.Count()) +
                           gemm_loop_cycles * iterations};
  } else if (const auto* alu = std::get_if<Alu>(&instruction.operation)) {
    return {.before_data = compute_cycles + static_cast<double>(alu->loop.Count()) *
                                                (alu->use_immediate ? alu_immediate_cycles
                                                                    : alu_two_operand_cycles)};
  }
  return {.before_data = idle_instruction_cycles};
}

}  // namespace tilewright::vta
