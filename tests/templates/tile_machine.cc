// Calls of LLVM's tile intrinsics are replaced by calls of the functions below, which check the
// rules of the architecture and work on registers in memory.

#include "tests/templates/tile_machine.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

#include "src/codegen/assemble.h"
#include "src/codegen/codegen.h"

namespace tilewright {
namespace {

constexpr int kTileCount = 8, kTileRows = 16, kTileRowBytes = 64;

std::mutex tile_events_lock;
TileEvents tile_events;

void Fault(const std::string& reason) {
  const std::lock_guard<std::mutex> lock(tile_events_lock);
  if (tile_events.fault.empty()) tile_events.fault = reason;
}

void Count(int TileEvents::*counter) {
  const std::lock_guard<std::mutex> lock(tile_events_lock);
  ++(tile_events.*counter);
}

struct Tile {
  int rows = 0, row_bytes = 0;
  std::array<std::array<std::uint8_t, kTileRowBytes>, kTileRows> bytes{};

  template <typename T>
  T Get(int row, int element) const {
    T value;
    std::memcpy(
        &value,
        &bytes[static_cast<std::size_t>(row)][static_cast<std::size_t>(element) * sizeof(T)],
        sizeof(T));
    return value;
  }
  template <typename T>
  void Set(int row, int element, T value) {
    std::memcpy(
        &bytes[static_cast<std::size_t>(row)][static_cast<std::size_t>(element) * sizeof(T)],
        &value, sizeof(T));
  }
};

struct State {
  bool configured = false;
  std::array<Tile, kTileCount> tiles;
};
thread_local State tile_state;

/// Returns the tile; a fault, and tile 0, if it may not be used.
Tile& TileAt(std::uint8_t number, const char* what) {
  if (!tile_state.configured) Fault(fmt::format("{}: no configuration (#UD)", what));
  if (number >= kTileCount) {
    Fault(fmt::format("{}: tile {} (#UD)", what, number));
    return tile_state.tiles[0];
  }
  Tile& tile = tile_state.tiles[number];
  if (tile_state.configured && tile.rows == 0) {
    Fault(fmt::format("{}: tile {} is not configured (#UD)", what, number));
  }
  return tile;
}

void Configure(const std::uint8_t* bytes) {
  Count(&TileEvents::configurations);
  tile_state = State();
  if (bytes[0] == 0) return;
  if (bytes[0] != 1) return Fault("ldtilecfg: palette (#GP)");
  const auto zeros = [&](int first, int end) {
    for (int i = first; i < end; ++i) {
      if (bytes[i] != 0) Fault(fmt::format("ldtilecfg: reserved byte {} (#GP)", i));
    }
  };
  zeros(1, 16);  // and the start row, which is of interrupted instructions
  zeros(32, 48);
  zeros(56, 64);
  for (int i = 0; i < kTileCount; ++i) {
    Tile& tile = tile_state.tiles[static_cast<std::size_t>(i)];
    tile.row_bytes = bytes[16 + 2 * i] + 256 * bytes[17 + 2 * i];
    tile.rows = bytes[48 + i];
    if (tile.row_bytes > kTileRowBytes || tile.rows > kTileRows ||
        (tile.row_bytes == 0) != (tile.rows == 0)) {
      Fault(fmt::format("ldtilecfg: tile {} of {} rows of {} bytes (#GP)", i, tile.rows,
                        tile.row_bytes));
      tile.rows = tile.row_bytes = 0;
    }
  }
  tile_state.configured = true;
}

void Release() {
  Count(&TileEvents::releases);
  tile_state = State();
}

void Zero(std::uint8_t number) {
  Tile& tile = TileAt(number, "tilezero");
  tile.bytes = {};
}

void Load(std::uint8_t number, const std::uint8_t* base, std::int64_t stride) {
  Tile& tile = TileAt(number, "tileloadd");
  tile.bytes = {};
  for (int row = 0; row < tile.rows; ++row) {
    std::memcpy(tile.bytes[static_cast<std::size_t>(row)].data(), base + row * stride,
                static_cast<std::size_t>(tile.row_bytes));
  }
}

void Store(std::uint8_t number, std::uint8_t* base, std::int64_t stride) {
  const Tile& tile = TileAt(number, "tilestored");
  for (int row = 0; row < tile.rows; ++row) {
    std::memcpy(base + row * stride, tile.bytes[static_cast<std::size_t>(row)].data(),
                static_cast<std::size_t>(tile.row_bytes));
  }
}

/// TileOperands of a product, after the checks of the manual.
struct TileOperands {
  Tile& sums;
  const Tile& a;
  const Tile& b;
  bool valid;
  int words() const { return a.row_bytes / 4; }
  int columns() const { return sums.row_bytes / 4; }
};

TileOperands Check(std::uint8_t sum, std::uint8_t left, std::uint8_t right, const char* what) {
  Count(&TileEvents::products);
  Tile& sums = TileAt(sum, what);
  const Tile &a = TileAt(left, what), &b = TileAt(right, what);
  const bool distinct = sum != left && sum != right && left != right;
  const bool whole = sums.row_bytes % 4 == 0 && a.row_bytes % 4 == 0 && b.row_bytes % 4 == 0;
  const bool fit =
      sums.rows == a.rows && a.row_bytes / 4 == b.rows && sums.row_bytes == b.row_bytes;
  if (!distinct || !whole || !fit) {
    Fault(fmt::format("{} {}x{}, {}x{}, {}x{} (#UD)", what, sums.rows, sums.row_bytes, a.rows,
                      a.row_bytes, b.rows, b.row_bytes));
  }
  return {sums, a, b, distinct && whole && fit};
}

template <typename A>
void MultiplyBytes(std::uint8_t sum, std::uint8_t left, std::uint8_t right, const char* what) {
  const TileOperands o = Check(sum, left, right, what);
  if (!o.valid) return;
  for (int m = 0; m < o.sums.rows; ++m) {
    for (int k = 0; k < o.words(); ++k) {
      for (int n = 0; n < o.columns(); ++n) {
        std::uint32_t total = o.sums.Get<std::uint32_t>(m, n);  // wraps
        for (int t = 0; t < 4; ++t) {
          total += static_cast<std::uint32_t>(o.a.Get<A>(m, 4 * k + t) *
                                              o.b.Get<std::int8_t>(k, 4 * n + t));
        }
        o.sums.Set(m, n, total);
      }
    }
  }
}

void MultiplySigned(std::uint8_t sum, std::uint8_t left, std::uint8_t right) {
  MultiplyBytes<std::int8_t>(sum, left, right, "tdpbssd");
}
void MultiplyUnsigned(std::uint8_t sum, std::uint8_t left, std::uint8_t right) {
  MultiplyBytes<std::uint8_t>(sum, left, right, "tdpbusd");
}

/// Denormal numbers are zeros, as operands and as results.
float Flushed(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0F, value) : value;
}

float FloatOf(std::uint16_t bits) {
  return Flushed(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

/// Even and odd products have a sum each, rounded after each of them; the two are added at the end.
void MultiplyBFloat16(std::uint8_t sum, std::uint8_t left, std::uint8_t right) {
  const TileOperands o = Check(sum, left, right, "tdpbf16ps");
  if (!o.valid) return;
  for (int m = 0; m < o.sums.rows; ++m) {
    for (int n = 0; n < o.columns(); ++n) {
      std::array<float, 2> parts{};
      for (int k = 0; k < o.words(); ++k) {
        for (int t = 0; t < 2; ++t) {
          float& part = parts[static_cast<std::size_t>(t)];
          part = Flushed(std::fma(FloatOf(o.a.Get<std::uint16_t>(m, 2 * k + t)),
                                  FloatOf(o.b.Get<std::uint16_t>(k, 2 * n + t)), part));
        }
      }
      const float both = Flushed(parts[0] + parts[1]);
      o.sums.Set(m, n, Flushed(Flushed(o.sums.Get<float>(m, n)) + both));
    }
  }
}

const char* NoProblem(std::int32_t) { return nullptr; }

struct Function {
  const char* name;
  std::uint64_t address;
};

template <typename F>
Function Named(const char* name, F* function) {
  return {name, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(function))};
}

/// Replaces each call of a function by one of an address; removes its declaration, and the flags
/// that AssembleIr sets, too.
std::string WithCallsOf(const std::string& ir, const Function& function) {
  const std::string called = fmt::format("@{}(", function.name);
  const std::string address = fmt::format("inttoptr (i64 {} to ptr)(", function.address);
  std::string changed;
  std::size_t begin = 0;
  while (begin < ir.size()) {
    const std::size_t end = std::min(ir.find('\n', begin), ir.size() - 1);
    std::string line = ir.substr(begin, end + 1 - begin);
    begin = end + 1;
    if (line.starts_with("!llvm.module.flags")) continue;
    const std::size_t at = line.find(called);
    if (at != std::string::npos) {
      if (line.starts_with("declare")) continue;
      line.replace(at, called.size(), address);
    }
    changed += line;
  }
  return changed;
}

}  // namespace

Result<std::string> ObjectWithTileMachine(const Program& program, const Target& target) {
  const Function functions[] = {Named("llvm.x86.ldtilecfg", &Configure),
                                Named("llvm.x86.tilerelease", &Release),
                                Named("llvm.x86.tilezero", &Zero),
                                Named("llvm.x86.tileloadd64", &Load),
                                Named("llvm.x86.tilestored64", &Store),
                                Named("llvm.x86.tdpbssd", &MultiplySigned),
                                Named("llvm.x86.tdpbusd", &MultiplyUnsigned),
                                Named("llvm.x86.tdpbf16ps", &MultiplyBFloat16),
                                Named("TwTilesProblem", &NoProblem)};
  TW_ASSIGN_OR_RETURN(auto ir, Generate({program}, target, Emit::kLlvmIr));
  for (const Function& function : functions) ir = WithCallsOf(ir, function);
  for (const char* left : {"@llvm.x86.tile", "@llvm.x86.tdp", "@llvm.x86.ldtile"}) {
    if (ir.find(left) != std::string::npos) return Internal(std::string("no function for ") + left);
  }
  TW_ASSIGN_OR_RETURN(const auto host, Target::Parse("native"));
  return AssembleIr(ir, host);
}

TileEvents TakeTileEvents() {
  const std::lock_guard<std::mutex> lock(tile_events_lock);
  return std::exchange(tile_events, TileEvents());
}

}  // namespace tilewright
