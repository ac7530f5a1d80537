// Matrix products in tile registers (AMX). A function configures the registers where it begins if
// all its products have one shape, so no loop contains that; else before the first product of
// another shape. It releases them at its end. Registers of a product: the sums, then the tiles of
// the factor that is held during a step, then those of the other one, as many as are left.

#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <array>

#include "src/codegen/llvm/function_emitter.h"
#include "src/codegen/llvm/loops.h"

namespace tilewright::emit {
namespace {

constexpr std::int64_t kWordBytes = 4;
constexpr std::int64_t kTileRows = TileIntrinsic::kRows, kTileColumns = TileIntrinsic::kColumns;

/// Returns the elements of tile `tile` of `extent` elements in tiles of at most `most`.
std::int64_t PartOf(std::int64_t extent, std::int64_t tile, std::int64_t most) {
  return std::min(most, extent - tile * most);
}

/// Numbers of the registers of a product.
struct TileNumbers {
  explicit TileNumbers(const TileRegisterShape& shape)
      : rows(shape.row_tiles()), columns(shape.column_tiles()), holds_rows(rows <= columns) {
    const std::int64_t held = std::min(rows, columns), other = std::max(rows, columns);
    const std::int64_t left = TileIntrinsic::kRegisters - rows * columns - held;
    streamed = std::min(other, left);
  }
  std::int64_t Sum(std::int64_t row, std::int64_t column) const { return row * columns + column; }
  std::int64_t Held(std::int64_t tile) const { return rows * columns + tile; }
  /// The last tile, which may be smaller, shares no register unless there is only one.
  std::int64_t Streamed(std::int64_t tile) const {
    const std::int64_t all = std::max(rows, columns);
    std::int64_t number = streamed - 1;
    if (tile + 1 < all) number = tile % (streamed == all ? all : std::max<std::int64_t>(1, number));
    return rows * columns + std::min(rows, columns) + number;
  }
  std::int64_t A(std::int64_t row) const { return holds_rows ? Held(row) : Streamed(row); }
  std::int64_t B(std::int64_t column) const { return holds_rows ? Streamed(column) : Held(column); }

  std::int64_t rows, columns;
  bool holds_rows;
  std::int64_t streamed = 0;
};

/// Returns the 64 bytes that ldtilecfg reads: palette 1, bytes of a row and rows of each register.
std::array<std::uint8_t, 64> ConfigurationOf(const TileRegisterShape& shape) {
  constexpr std::size_t kRowBytes = 16, kRowCounts = 48;  // positions
  std::array<std::uint8_t, 64> bytes{};
  bytes[0] = 1;
  const auto set = [&](std::int64_t tile, std::int64_t rows, std::int64_t row_bytes) {
    const auto i = static_cast<std::size_t>(tile);
    bytes[kRowBytes + 2 * i] = static_cast<std::uint8_t>(row_bytes);
    bytes[kRowCounts + i] = static_cast<std::uint8_t>(rows);
  };
  const TileNumbers registers(shape);
  for (std::int64_t row = 0; row < registers.rows; ++row) {
    const std::int64_t rows = PartOf(shape.rows, row, kTileRows);
    set(registers.A(row), rows, shape.groups * kWordBytes);
    for (std::int64_t column = 0; column < registers.columns; ++column) {
      const std::int64_t columns = PartOf(shape.columns, column, kTileColumns);
      set(registers.B(column), shape.groups, columns * kWordBytes);
      set(registers.Sum(row, column), rows, columns * kWordBytes);
    }
  }
  return bytes;
}

llvm::Constant* ConfigurationIn(KernelContext& kernel, std::size_t number) {
  const auto bytes = ConfigurationOf(kernel.tile_shapes[number]);
  const std::string name = kernel.program.name + ".tiles" + std::to_string(number);
  if (llvm::GlobalVariable* known = kernel.module.getGlobalVariable(name, true)) return known;
  llvm::Constant* value = llvm::ConstantDataArray::get(kernel.module.getContext(), bytes);
  auto* made = new llvm::GlobalVariable(kernel.module, value->getType(), true,
                                        llvm::GlobalValue::InternalLinkage, value, name);
  made->setAlignment(llvm::Align(64));
  return made;
}

llvm::Intrinsic::ID ProductOf(const TileIntrinsic& tiles) {
  if (tiles.a == kBFloat16) return llvm::Intrinsic::x86_tdpbf16ps;
  return tiles.a == kInt8 ? llvm::Intrinsic::x86_tdpbssd : llvm::Intrinsic::x86_tdpbusd;
}

/// Errors: kUnsupported for a target without the instructions; kInvalidArgument for a shape or
/// types that they do not have.
Status CheckTiles(const KernelContext& kernel, const StmtNode& stmt, const TileIntrinsic& tiles,
                  const TileRegisterShape& shape) {
  const CpuFeatures& features = kernel.features;
  const bool there = tiles.a == kBFloat16 ? features.amx_bf16 : features.amx_int8;
  if (kernel.machine != Machine::kX86 || !there) {
    return Unsupported(stmt.name + ": the target has no AMX (-mcpu=sapphirerapids, or " +
                       (tiles.a == kBFloat16 ? "+amx-bf16" : "+amx-int8") + " in -mattr)");
  }
  const bool sizes = shape.rows >= 1 && shape.columns >= 1 && shape.groups >= 1 &&
                     shape.groups <= kTileRows && shape.fits();
  if (!sizes || stmt.regions.size() != 3 || stmt.regions[0].buffer->dtype != tiles.acc ||
      stmt.regions[1].buffer->dtype != tiles.a || stmt.regions[2].buffer->dtype != tiles.b) {
    return InvalidArgument(stmt.name + ": regions of the wrong size or type");
  }
  return {};
}

void CollectShapes(const Stmt& stmt, std::vector<TileRegisterShape>& shapes) {
  if (stmt->kind == StmtKind::kIntrinsic && FindTileIntrinsic(stmt->name) != nullptr) {
    const TileRegisterShape shape = TileProductsOf(*stmt).shape;
    if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(shape);
  }
  for (const Stmt& inner : stmt->body) CollectShapes(inner, shapes);
}

}  // namespace

std::vector<TileRegisterShape> TileRegisterShapesOf(const Stmt& stmt) {
  std::vector<TileRegisterShape> shapes;
  CollectShapes(stmt, shapes);
  return shapes;
}

/// Loads the configuration of a shape, unless it is the current one.
void FunctionEmitter::ConfigureTiles(const TileRegisterShape& shape) {
  const auto& shapes = kernel_.tile_shapes;
  const auto number = static_cast<std::size_t>(std::ranges::find(shapes, shape) - shapes.begin());
  llvm::Constant* configuration = ConfigurationIn(kernel_, number);
  const auto load = [&](llvm::IRBuilder<>& at) {
    at.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {configuration});
  };
  if (!multiplies_tiles_) {
    llvm::IRBuilder<> entry = EntryBuilder();
    if (shapes.size() == 1) {
      load(entry);
    } else {
      tile_shape_ = entry.CreateAlloca(entry.getInt32Ty());
      entry.CreateStore(entry.getInt32(static_cast<std::uint32_t>(shapes.size())), tile_shape_);
    }
  }
  // Also where the function has no products in the end: releasing is always allowed.
  multiplies_tiles_ = true;
  if (tile_shape_ == nullptr) return;
  Value* wanted = builder_.getInt32(static_cast<std::uint32_t>(number));
  Value* current = builder_.CreateLoad(builder_.getInt32Ty(), tile_shape_);
  EmitGuarded(builder_.CreateICmpNE(current, wanted), [&] {
    load(builder_);
    builder_.CreateStore(wanted, tile_shape_);
  });
}

/// Loads or stores a register at `offset` elements behind an index; stride: elements from one of
/// its rows to the next.
void FunctionEmitter::MoveTile(llvm::Intrinsic::ID move, std::int64_t tile,
                               const BufferNode& buffer, Linear index, std::int64_t offset,
                               std::int64_t stride) {
  index.constant += offset;
  builder_.CreateIntrinsic(
      move, {},
      {builder_.getInt8(static_cast<std::uint8_t>(tile)), AddressOf(buffer, index),
       builder_.getInt64(static_cast<std::uint64_t>(stride * buffer.dtype.bytes()))});
}

/// Multiplies the tiles of one step.
void FunctionEmitter::MultiplyStep(const StmtNode& stmt, const TileIntrinsic& tiles,
                                   const TileProducts& products, const Linear& a, const Linear& b) {
  const TileNumbers registers(products.shape);
  const auto load_a = [&](std::int64_t row) {
    MoveTile(llvm::Intrinsic::x86_tileloadd64, registers.A(row), *stmt.regions[1].buffer, a,
             row * kTileRows * products.a_row, products.a_row);
  };
  const auto load_b = [&](std::int64_t column) {
    MoveTile(llvm::Intrinsic::x86_tileloadd64, registers.B(column), *stmt.regions[2].buffer, b,
             column * kTileColumns * tiles.depth, products.b_group);
  };
  const auto number = [&](std::int64_t tile) {
    return builder_.getInt8(static_cast<std::uint8_t>(tile));
  };
  const auto multiply = [&](std::int64_t row, std::int64_t column) {
    builder_.CreateIntrinsic(ProductOf(tiles), {},
                             {number(registers.Sum(row, column)), number(registers.A(row)),
                              number(registers.B(column))});
  };
  if (registers.holds_rows) {
    for (std::int64_t row = 0; row < registers.rows; ++row) load_a(row);
    for (std::int64_t column = 0; column < registers.columns; ++column) {
      load_b(column);
      for (std::int64_t row = 0; row < registers.rows; ++row) multiply(row, column);
    }
    return;
  }
  for (std::int64_t column = 0; column < registers.columns; ++column) load_b(column);
  for (std::int64_t row = 0; row < registers.rows; ++row) {
    load_a(row);
    for (std::int64_t column = 0; column < registers.columns; ++column) multiply(row, column);
  }
}

/// Emits the loops over steps from reduction `reduction` on. a, b: first elements of the factors.
void FunctionEmitter::MultiplyTileSteps(const StmtNode& stmt, const TileIntrinsic& tiles,
                                        const TileProducts& products, Linear a, Linear b,
                                        std::size_t reduction) {
  if (reduction == products.steps.size()) return MultiplyStep(stmt, tiles, products, a, b);
  const TileProducts::Steps& steps = products.steps[reduction];
  if (steps.count == 1) return MultiplyTileSteps(stmt, tiles, products, a, b, reduction + 1);
  LoopBetween(indexer_.Constant(0), indexer_.Constant(steps.count), {0, steps.count - 1}, "step",
              [&](int atom) {
                const Linear step = Linear::Atom(atom);
                MultiplyTileSteps(stmt, tiles, products, AddScaled(a, step, steps.a),
                                  AddScaled(b, step, steps.b), reduction + 1);
              });
}

void FunctionEmitter::EmitTiles(const StmtNode& stmt, const TileIntrinsic& tiles) {
  if (lanes_ > 0) return kernel_.Fail(Unsupported("intrinsic inside of a vector loop"));
  const TileProducts products = TileProductsOf(stmt);
  if (Status fits = CheckTiles(kernel_, stmt, tiles, products.shape); !fits.ok()) {
    return kernel_.Fail(fits);
  }
  const auto index_of = [&](std::size_t i) {
    return Flatten(*stmt.regions[i].buffer, stmt.regions[i].min);
  };
  const auto sum = index_of(0), a = index_of(1), b = index_of(2);
  if (!sum || !a || !b) return kernel_.Fail(Internal(stmt.name + ": an index is not a scalar"));
  ConfigureTiles(products.shape);
  const TileNumbers registers(products.shape);
  for (std::int64_t tile = 0; tile < registers.rows * registers.columns; ++tile) {
    builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {},
                             {builder_.getInt8(static_cast<std::uint8_t>(tile))});
  }
  MultiplyTileSteps(stmt, tiles, products, *a, *b, 0);
  const std::int64_t acc_row = products.acc_row;
  for (std::int64_t row = 0; row < registers.rows; ++row) {
    for (std::int64_t column = 0; column < registers.columns; ++column) {
      MoveTile(llvm::Intrinsic::x86_tilestored64, registers.Sum(row, column),
               *stmt.regions[0].buffer, *sum, row * kTileRows * acc_row + column * kTileColumns,
               acc_row);
    }
  }
}

}  // namespace tilewright::emit
