#include "src/vta/isa.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tilewright::vta {
namespace {

template <typename Enum, std::size_t kSize>
std::string_view NameOf(const std::string_view (&names)[kSize], Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < kSize ? names[index] : "?";
}

std::string LowerName(Memory memory) {
  std::string name(MemoryName(memory));
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return name;
}

std::string LoopText(const UopLoop& loop) {
  return fmt::format("uops={}..{} loops={}x{}", loop.uop_begin, loop.uop_end, loop.iter_out,
                     loop.iter_in);
}

std::string FactorText(std::string_view name, const Factor& factor) {
  return fmt::format(" {}=+{},+{}", name, factor.out, factor.in);
}

struct OperationText {
  std::string operator()(const Transfer& t) const {
    std::string text = fmt::format("{}.{}", t.is_store ? "store" : "load", LowerName(t.memory));
    if (t.x_size == 0) return text + " nothing";
    text += fmt::format(" sram={} dram={} rows={}x{} stride={}", t.sram_base, t.dram_base, t.y_size,
                        t.x_size, t.x_stride);
    if (t.SramElements() != t.DramElements()) {
      text += fmt::format(" pad={},{},{},{}", t.y_pad_0, t.y_pad_1, t.x_pad_0, t.x_pad_1);
    }
    return text;
  }
  std::string operator()(const Gemm& g) const {
    const std::string text = (g.reset ? "gemm.reset " : "gemm ") + LoopText(g.loop);
    if (g.reset) return text + FactorText("dst", g.dst);
    return text + FactorText("dst", g.dst) + FactorText("src", g.src) + FactorText("wgt", g.wgt);
  }
  std::string operator()(const Alu& a) const {
    const std::string text =
        fmt::format("alu.{} {}", AluOpName(a.op), LoopText(a.loop)) + FactorText("dst", a.dst);
    return a.use_immediate ? text + fmt::format(" imm={}", a.immediate)
                           : text + FactorText("src", a.src);
  }
  std::string operator()(const Finish&) const { return "finish"; }
};

}  // namespace

std::string_view EngineName(Engine engine) {
  static constexpr std::string_view kNames[] = {"load", "compute", "store"};
  return NameOf(kNames, engine);
}

std::string_view QueueName(Queue queue) {
  static constexpr std::string_view kNames[] = {"load>compute", "compute>load", "compute>store",
                                                "store>compute"};
  return NameOf(kNames, queue);
}

std::string_view AluOpName(AluOp op) {
  static constexpr std::string_view kNames[] = {"min", "max", "add", "shr", "mul"};
  return NameOf(kNames, op);
}

std::int32_t AluResult(AluOp op, std::int32_t a, std::int32_t b) {
  const auto ua = static_cast<std::uint32_t>(a);
  const auto ub = static_cast<std::uint32_t>(b);
  switch (op) {
    case AluOp::kMin:
      return std::min(a, b);
    case AluOp::kMax:
      return std::max(a, b);
    case AluOp::kAdd:
      return static_cast<std::int32_t>(ua + ub);
    case AluOp::kMul:
      return static_cast<std::int32_t>(ua * ub);
    case AluOp::kShr:
      if (b >= 0) return a >> std::min(b, 31);
      return b <= -32 ? 0 : static_cast<std::int32_t>(ua << -b);
  }
  return 0;
}

Engine Instruction::engine() const {
  const auto* transfer = std::get_if<Transfer>(&operation);
  if (transfer == nullptr) return Engine::kCompute;
  if (transfer->is_store) return Engine::kStore;
  return transfer->memory == Memory::kInp || transfer->memory == Memory::kWgt ? Engine::kLoad
                                                                              : Engine::kCompute;
}

bool Instruction::IsIdle() const {
  const auto* transfer = std::get_if<Transfer>(&operation);
  return transfer != nullptr && transfer->x_size == 0;
}

std::string ToString(const Instruction& instruction) {
  std::string text = std::visit(OperationText(), instruction.operation);
  if (instruction.tokens.pop_prev) text += " pop_prev";
  if (instruction.tokens.pop_next) text += " pop_next";
  if (instruction.tokens.push_prev) text += " push_prev";
  if (instruction.tokens.push_next) text += " push_next";
  return text;
}

}  // namespace tilewright::vta
