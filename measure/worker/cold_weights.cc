#include "measure/worker/cold_weights.h"

#include <algorithm>
#include <cstring>

#include "measure/evaluate/inputs.h"
#include "src/base/math.h"
#include "src/target/device.h"

namespace tilewright::measure {
namespace {

constexpr std::int64_t kWindowAlignment = 64;

ColdWeights::Bits BitsOf(DataType dtype) {
  if (dtype.is_bool()) return {0x0101010101010101, 0};
  if (!dtype.is_float()) return {};
  if (dtype.bits == 16) return {0x83FF83FF83FF83FF, 0x3800380038003800};
  if (dtype.bits == 32) return {0x807FFFFF807FFFFF, 0x3F0000003F000000};
  return {0x800FFFFFFFFFFFFF, 0x3FE0000000000000};
}

bool IsWeight(const Workload& workload, const KernelParameter& parameter) {
  if (parameter.role == ParameterRole::kInput) {
    const auto& inputs = workload.expression.inputs;
    const auto input = static_cast<std::size_t>(parameter.operand);
    // Wide integers may be indices into another tensor, and their values affect the time.
    const DataType dtype = parameter.type.dtype;
    return input < inputs.size() && inputs[input].constant && input != FreshInputOf(workload) &&
           (dtype.is_float() || dtype.bytes() == 1);
  }
  // The network computes both operands of these.
  const OpKind op = workload.op;
  const bool computed = op == OpKind::kBatchMatmul || op == OpKind::kAdd || op == OpKind::kMul;
  return parameter.role == ParameterRole::kWeight && !computed;
}

}  // namespace

std::optional<std::size_t> WeightOf(const KernelSpec& kernel) {
  if (!DeviceTraitsOf(kernel.target).machine_code) return std::nullopt;
  const auto inputs = kernel.signature.inputs();
  std::optional<std::size_t> weight;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!IsWeight(kernel.workload, inputs[i])) continue;
    if (!weight || inputs[i].type.bytes() > inputs[*weight].type.bytes()) weight = i;
  }
  return weight;
}

std::int64_t ColdWeights::BytesFor(std::int64_t last_cache_bytes) {
  constexpr std::int64_t kMin = std::int64_t{16} << 20, kMax = std::int64_t{128} << 20;
  return last_cache_bytes <= 0 ? kMax : std::clamp(2 * last_cache_bytes, kMin, kMax);
}

Result<ColdWeights> ColdWeights::Create(std::int64_t bytes) {
  ColdWeights weights;
  TW_ASSIGN_OR_RETURN(weights.memory_, GuardedMemory::Create(RoundUp(bytes, kWindowAlignment)));
  weights.memory_.PreferLargePages();
  return weights;
}

void ColdWeights::Fill(DataType dtype) {
  const Bits bits = BitsOf(dtype);
  const bool any = bits == Bits();  // all integer values are ordinary
  if (filled_.has_value() && (any || filled_ == bits)) return;
  memory_.SetReadOnly(false);
  constexpr std::int64_t kBlock = 1 << 16;  // the rest repeats it
  const std::int64_t first = std::min(kBlock, memory_.bytes());
  std::uint64_t state = 1;
  for (std::int64_t at = 0; at < first; at += 8) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    // The upper bits of a linear congruential generator are the random ones.
    const std::uint64_t word = ((state ^ state >> 32) & bits.keep) | bits.set;
    std::memcpy(memory_.data() + at, &word, sizeof(word));
  }
  for (std::int64_t at = first; at < memory_.bytes(); at += kBlock) {
    std::memcpy(memory_.data() + at, memory_.data(),
                static_cast<std::size_t>(std::min(kBlock, memory_.bytes() - at)));
  }
  memory_.SetReadOnly(true);
  filled_ = bits;
}

std::int64_t ColdWeights::Place(const GuardedMemory& weight, std::uint64_t random) {
  const Windows windows = WindowsFor(weight.bytes());
  if (windows.count < 2) return -1;
  const std::int64_t count = std::min(windows.count, kMaxPreparedWindows);
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; ++i) {
    const auto window = static_cast<std::int64_t>((random + static_cast<std::uint64_t>(i)) %
                                                  static_cast<std::uint64_t>(count));
    const std::int64_t first = window * windows.stride, end = first + weight.bytes();
    const auto bytes = static_cast<std::size_t>(weight.bytes());
    const bool equal = std::memcmp(memory_.data() + first, weight.data(), bytes) == 0;
    // Candidates of a race share a weight.
    if (equal && std::ranges::find(placed_, std::pair(first, end)) != placed_.end()) return window;
    const bool taken = std::ranges::any_of(
        placed_, [&](const auto& other) { return first < other.second && other.first < end; });
    if (taken) continue;
    placed_.emplace_back(first, end);
    if (equal) return window;  // usually of the previous candidate
    memory_.SetReadOnly(false);
    std::memcpy(memory_.data() + first, weight.data(), bytes);
    memory_.SetReadOnly(true);
    return window;
  }
  return -1;
}

ColdWeights::Windows ColdWeights::WindowsFor(std::int64_t weight_bytes) const {
  Windows windows;
  windows.first = memory_.data();
  if (weight_bytes <= 0 || weight_bytes >= memory_.bytes()) return windows;
  const std::int64_t aligned = RoundUp(weight_bytes, kWindowAlignment);
  windows.count = std::max<std::int64_t>(2, memory_.bytes() / aligned);
  const std::int64_t room = memory_.bytes() - weight_bytes;
  windows.stride = room / (windows.count - 1) / kWindowAlignment * kWindowAlignment;
  return windows;
}

}  // namespace tilewright::measure
