// Candidate on a GPU. One allocation of device memory contains all of its tensors, with zones of a
// known byte pattern between them. After each run the zones and the inputs are compared with their
// original contents.

#include "measure/device/grid_kernel.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "src/base/files/file.h"
#include "src/base/math.h"

namespace tilewright::measure {
namespace {

constexpr std::int64_t kZoneBytes = 512;  // also the alignment of arguments on every device
constexpr std::uint8_t kZonePattern = 0xB7;

std::span<const std::byte> GuardedBytes(const GuardedMemory& memory) {
  return {memory.data(), static_cast<std::size_t>(memory.bytes())};
}

}  // namespace

void GridKernel::Use(const OperandCache::KernelOperands& kernel_operands) {
  kernel_operands_ = &kernel_operands;
  // The operand cache may have created the inputs again, elsewhere in memory.
  for (std::size_t set = 0; set < kInputSets.size(); ++set) {
    for (std::size_t i = 0; i < inputs_[set].size(); ++i) {
      pieces_[inputs_[set][i]].from = kernel_operands.inputs[set][i];
    }
  }
}

std::optional<Failure> GridKernel::Load() {
  status_ = Prepare();
  if (status_.ok()) return std::nullopt;
  return FailureOf(status_);
}

Status GridKernel::Prepare() {
  for (std::size_t set = 0; set < kInputSets.size(); ++set) {
    const auto& wanted = kernel_operands_->inputs[set];
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      inputs_[set].push_back(PieceOf(wanted[i], static_cast<int>(i)));
    }
  }
  const int result = static_cast<int>(kernel_.signature.parameters.size()) - 1;
  output_ = AddPiece(kernel_operands_->output.bytes(), result, nullptr);
  for (const std::int64_t bytes : kernel_.workspace_bytes) {
    workspaces_.push_back(AddPiece(bytes, /*parameter=*/-1, nullptr));
  }
  GridSession& session = *device_state_.session;
  TW_ASSIGN_OR_RETURN(const auto text, ReadFile(kernel_.artifact));
  TW_ASSIGN_OR_RETURN(program_, session.Load(text, kernel_.launches));
  TW_ASSIGN_OR_RETURN(memory_, session.Allocate(total_bytes_ + kZoneBytes));
  TW_RETURN_IF_ERROR(FillZones());
  for (const Piece& piece : pieces_) {
    if (piece.from == nullptr) continue;
    TW_RETURN_IF_ERROR(session.Write(AddressOf(piece), GuardedBytes(*piece.from)));
  }
  return session.Wait(limit_seconds_);
}

std::size_t GridKernel::PieceOf(const GuardedMemory* input, int parameter) {
  const auto found = std::ranges::find(pieces_, input, &Piece::from);
  if (found != pieces_.end()) return static_cast<std::size_t>(found - pieces_.begin());
  return AddPiece(input->bytes(), parameter, input);
}

std::size_t GridKernel::AddPiece(std::int64_t bytes, int parameter, const GuardedMemory* from) {
  pieces_.push_back({total_bytes_ + kZoneBytes, bytes, parameter, from});
  total_bytes_ = pieces_.back().offset + RoundUp(bytes, kZoneBytes);
  return pieces_.size() - 1;
}

std::uint64_t GridKernel::AddressOf(const Piece& piece) const {
  return memory_.address() + static_cast<std::uint64_t>(piece.offset);
}

/// The zones extend from the last byte of a piece to the first one of the next.
Status GridKernel::FillZones() {
  std::int64_t end = 0;
  const auto fill = [&](std::int64_t begin) {
    const std::uint64_t address = memory_.address() + static_cast<std::uint64_t>(end);
    return device_state_.session->Fill(address, kZonePattern, begin - end);
  };
  for (const Piece& piece : pieces_) {
    TW_RETURN_IF_ERROR(fill(piece.offset));
    end = piece.offset + piece.bytes;
  }
  return fill(memory_.bytes());
}

Status GridKernel::CheckZones() {
  std::int64_t end = 0;
  const auto check = [&](std::int64_t begin, const Piece& before, const Piece& after) -> Status {
    zones_.resize(static_cast<std::size_t>(begin - end));
    const std::uint64_t address = memory_.address() + static_cast<std::uint64_t>(end);
    TW_RETURN_IF_ERROR(device_state_.session->Read(address, zones_));
    const auto intact = [](std::byte b) { return b == static_cast<std::byte>(kZonePattern); };
    const auto bad = std::ranges::find_if_not(zones_, intact);
    if (bad == zones_.end()) return {};
    const auto past = bad - zones_.begin();
    const auto ahead = zones_.end() - bad;
    const bool is_past = end > 0 && (past < ahead || &before == &after);
    const Piece& piece = is_past ? before : after;
    const std::string what =
        piece.parameter < 0 ? "the workspace" : "parameter " + std::to_string(piece.parameter);
    return Corrupt("wrote out of bounds of " + what + ": " +
                   std::to_string(is_past ? past : ahead) +
                   (is_past ? " bytes past its end" : " bytes before its start"));
  };
  const Piece* before = &pieces_.front();
  for (const Piece& piece : pieces_) {
    TW_RETURN_IF_ERROR(check(piece.offset, *before, piece));
    end = piece.offset + piece.bytes;
    before = &piece;
  }
  return check(memory_.bytes(), *before, *before);
}

Status GridKernel::CheckInputs() {
  for (const Piece& piece : pieces_) {
    if (piece.from == nullptr) continue;
    std::vector<std::byte> now(static_cast<std::size_t>(piece.bytes));
    TW_RETURN_IF_ERROR(device_state_.session->Read(AddressOf(piece), now));
    if (std::ranges::equal(now, GuardedBytes(*piece.from))) continue;
    return Corrupt("wrote to parameter " + std::to_string(piece.parameter) + ", which is an input");
  }
  return {};
}

std::optional<Failure> GridKernel::SelectInputs(InputSet set) {
  std::vector<std::uint64_t> addresses;
  for (const std::size_t piece : inputs_[static_cast<std::size_t>(set)]) {
    addresses.push_back(AddressOf(pieces_[piece]));
  }
  addresses.push_back(AddressOf(pieces_[output_]));
  for (const std::size_t piece : workspaces_) addresses.push_back(AddressOf(pieces_[piece]));
  program_.SetArguments(std::move(addresses));
  return std::nullopt;
}

std::optional<Failure> GridKernel::Poison(InputSet set) {
  poison_ = PoisonFor(kernel_.signature.result().type.dtype, set);
  const auto fill = [&](const Piece& piece, std::uint8_t value) {
    if (status_.ok()) status_ = device_state_.session->Fill(AddressOf(piece), value, piece.bytes);
  };
  fill(pieces_[output_], poison_);
  for (const std::size_t piece : workspaces_) fill(pieces_[piece], 0xFF);
  if (status_.ok()) return std::nullopt;
  return FailureOf(status_);
}

bool GridKernel::Run(std::int64_t calls) {
  if (!status_.ok()) return false;
  const auto seconds = device_state_.session->Time(program_, calls, limit_seconds_);
  if (!seconds.ok()) {
    status_ = seconds.status();
    return false;
  }
  device_state_.clock.Advance(*seconds);
  last_call_seconds_ = *seconds / static_cast<double>(calls);
  return true;
}

void GridKernel::Flush(std::int64_t bytes) {
  if (device_state_.flush.bytes() < bytes) {
    auto memory = device_state_.session->Allocate(bytes);
    if (!memory.ok()) return;  // no memory left on the device: the caches stay unchanged
    device_state_.flush = *std::move(memory);
  }
  if (status_.ok()) status_ = device_state_.session->Fill(device_state_.flush.address(), 0, bytes);
}

double GridKernel::ProbeSeconds() {
  constexpr double kUnknown = 1e-9, kThrottled = 10;
  if (device_state_.probe) return device_state_.probe->Run();
  if (!device_state_.watch) return kUnknown;
  const auto state = device_state_.watch->ReadState();
  if (!state.ok() || state->clock_mhz <= 0) return kUnknown;
  return (state->throttled ? kThrottled : 1) * 1e-6 / state->clock_mhz;
}

std::optional<Failure> GridKernel::CheckSideEffects() {
  if (status_.ok()) status_ = CheckZones();
  if (status_.ok() && phase_ == Phase::kFinal) status_ = CheckInputs();
  if (status_.ok()) return std::nullopt;
  return FailureOf(status_);
}

std::optional<Failure> GridKernel::CheckOutput(InputSet set, RunReply& reply) {
  std::vector<std::byte> result(static_cast<std::size_t>(kernel_operands_->output.bytes()));
  status_ = device_state_.session->Read(AddressOf(pieces_[output_]), result);
  if (!status_.ok()) return FailureOf(status_);
  return CheckResult(*kernel_operands_, set, result.data(), poison_, &reply.max_abs_error);
}

Failure GridKernel::FailureOf(const Status& status) const {
  const GridSession& session = *device_state_.session;
  if (session.timed_out()) {
    char text[64];
    std::snprintf(text, sizeof(text), "one call took more than %.3g s", limit_seconds_);
    return {Outcome::kRunTimeout, text};
  }
  if (session.fault() == GridFault::kDeviceLost) {
    return {Outcome::kDeviceLost, "the device was lost: " + status.message()};
  }
  if (session.fault() == GridFault::kKernelFault) {
    return {Outcome::kRunFailed, "crashed: " + status.message()};
  }
  if (status.code() == StatusCode::kInvalidArgument) {
    return {Outcome::kBuildFailed, "the driver refuses the code: " + status.message()};
  }
  return {Outcome::kRunFailed, status.message()};
}

}  // namespace tilewright::measure
